//! Builds the settings of a run.

use std::sync::Arc;

use serde_json::{Map, Value};
use temporal_agents::{
    RunConfig,
    run::{
        CallModelInputFilter, HistoryMapper, ModelInput, NameCollisions, ReasoningItemIds, SessionInputCallback,
        ToolErrorFormatter, UnknownTools,
    },
    tool::BoxError,
    wire::Item,
};

use super::{Witness, guardrails, handlers::error_handlers, handoffs::input_filter_of, text::filled};
use crate::conformance::format::{
    self, CallInputFilter, Collisions, ErrorTemplate, MaxTurns, NotFound, ReasoningIds, Scenario,
};

/// Returns the settings of the scenario's runs, without session and server-side state.
pub(crate) fn run_config(scenario: &Scenario, context: Map<String, Value>, witness: &Witness) -> RunConfig {
    let mut config = RunConfig::default();
    config.context = context;
    config.max_turns = match scenario.max_turns {
        None => Some(10),
        Some(MaxTurns::Limit(limit)) => Some(limit),
        Some(MaxTurns::Word(_)) => None,
    };
    config.name_collisions = NameCollisions::LastWins;
    config.keep_tripped_input = true;
    if scenario.record_hooks == Some(true) {
        config.hooks = Some(Arc::new(witness.clone()));
    }
    if let Some(handlers) = &scenario.error_handlers {
        config.error_handlers = error_handlers(handlers);
    }
    if let Some(spec) = &scenario.run_config {
        apply(spec, &mut config);
    }
    config
}

fn apply(spec: &format::RunConfig, config: &mut RunConfig) {
    let format::RunConfig {
        model_settings,
        nest_handoff_history,
        handoff_history_mapper,
        handoff_input_filter,
        input_guardrails,
        output_guardrails,
        call_model_input_filter,
        tool_error_formatter,
        reasoning_item_id_policy,
        tool_not_found_behavior,
        tool_name_collision_policy,
        output_guardrail_blocked_message,
        max_function_tool_concurrency,
        pre_approval_tool_input_guardrails,
        session_input_callback,
    } = spec;
    config.settings = model_settings.clone().unwrap_or_default();
    config.nest_handoff_history = nest_handoff_history.unwrap_or(false);
    config.handoff_history_mapper = handoff_history_mapper.as_ref().map(|mapper| {
        let count = mapper.keep_last;
        HistoryMapper::new(move |transcript| last(transcript, count))
    });
    config.handoff_input_filter = handoff_input_filter.map(input_filter_of);
    config.input_guardrails = input_guardrails.iter().flatten().map(guardrails::input).collect();
    config.output_guardrails = output_guardrails.iter().flatten().map(guardrails::output).collect();
    config.call_model_input_filter = call_model_input_filter
        .clone()
        .map(|spec| CallModelInputFilter::new(move |input, _agent, _run| filtered(&spec, input)));
    config.tool_error_formatter = tool_error_formatter.clone().map(formatter);
    if let Some(ReasoningIds::Omit) = reasoning_item_id_policy {
        config.reasoning_item_ids = ReasoningItemIds::Omit;
    }
    if let Some(NotFound::ReturnErrorToModel) = tool_not_found_behavior {
        config.unknown_tools = UnknownTools::TellModel;
    }
    if let Some(Collisions::Error) = tool_name_collision_policy {
        config.name_collisions = NameCollisions::Error;
    }
    config.output_guardrail_blocked_message.clone_from(output_guardrail_blocked_message);
    config.max_tool_concurrency = *max_function_tool_concurrency;
    config.guard_tools_before_approval = pre_approval_tool_input_guardrails.unwrap_or(false);
    config.session_input_callback = session_input_callback.as_ref().map(|callback| {
        let count = callback.keep_last_history;
        SessionInputCallback::new(move |stored, new| {
            let mut merged = last(stored, count);
            merged.extend(new);
            merged
        })
    });
}

/// Returns the last `count` items.
fn last(mut items: Vec<Item>, count: usize) -> Vec<Item> {
    items.split_off(items.len().saturating_sub(count))
}

fn filtered(spec: &CallInputFilter, input: ModelInput) -> Result<ModelInput, BoxError> {
    let CallInputFilter { raises, keep_last, prepend, append, instructions_suffix, instructions } = spec;
    if let Some(text) = raises {
        return Err(text.clone().into());
    }
    let items = match keep_last {
        Some(count) => last(input.input, *count),
        None => input.input,
    };
    let items = prepend.iter().flatten().cloned().chain(items).chain(append.iter().flatten().cloned()).collect();
    let mut told = input.instructions;
    if let Some(suffix) = instructions_suffix {
        told = Some(told.unwrap_or_default() + suffix);
    }
    Ok(ModelInput::new(items, instructions.clone().or(told)))
}

fn formatter(spec: ErrorTemplate) -> ToolErrorFormatter {
    let ErrorTemplate { template, only_kind } = spec;
    ToolErrorFormatter::new(move |message| {
        let kind = message.kind.as_str();
        let is_meant = only_kind.as_deref().is_none_or(|only| only == kind);
        let values = [
            ("kind", kind),
            ("tool_type", "function"),
            ("tool_name", message.tool),
            ("call_id", message.call_id),
            ("default_message", message.default_message),
            ("error", message.error.unwrap_or_default()),
        ];
        is_meant.then(|| filled(&template, &values))
    })
}
