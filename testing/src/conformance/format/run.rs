//! Settings that apply to a whole run.

use serde::Deserialize;
use serde_json::Value;
use temporal_agents::wire::{Item, ModelSettings};

use super::{HandoffFilter, InputGuardrail, OutputGuardrail};

/// Options of server-side state.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the members of the scenario format")]
pub(crate) struct RunOptions {
    pub(crate) previous_response_id: Option<String>,
    pub(crate) auto_previous_response_id: Option<bool>,
    pub(crate) conversation_id: Option<String>,
}

/// Settings of a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunConfig {
    pub(crate) model_settings: Option<ModelSettings>,
    pub(crate) nest_handoff_history: Option<bool>,
    pub(crate) handoff_history_mapper: Option<HistoryMapper>,
    pub(crate) handoff_input_filter: Option<HandoffFilter>,
    pub(crate) input_guardrails: Option<Vec<InputGuardrail>>,
    pub(crate) output_guardrails: Option<Vec<OutputGuardrail>>,
    pub(crate) call_model_input_filter: Option<CallInputFilter>,
    pub(crate) tool_error_formatter: Option<ErrorTemplate>,
    pub(crate) reasoning_item_id_policy: Option<ReasoningIds>,
    pub(crate) tool_not_found_behavior: Option<NotFound>,
    pub(crate) tool_name_collision_policy: Option<Collisions>,
    pub(crate) output_guardrail_blocked_message: Option<String>,
    pub(crate) max_function_tool_concurrency: Option<usize>,
    pub(crate) pre_approval_tool_input_guardrails: Option<bool>,
    pub(crate) session_input_callback: Option<SessionInputCallback>,
}

/// Restricts a nested history to its last items.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HistoryMapper {
    pub(crate) keep_last: usize,
}

/// Restricts the stored items to the last ones, before the new ones.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionInputCallback {
    pub(crate) keep_last_history: usize,
}

/// The last change to a request; its members apply in this order.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallInputFilter {
    pub(crate) raises: Option<String>,
    pub(crate) keep_last: Option<usize>,
    pub(crate) prepend: Option<Vec<Item>>,
    pub(crate) append: Option<Vec<Item>>,
    pub(crate) instructions_suffix: Option<String>,
    pub(crate) instructions: Option<String>,
}

/// A template of the message that models receive instead of a tool's output.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorTemplate {
    pub(crate) template: String,
    pub(crate) only_kind: Option<String>,
}

/// The policy for the ids of reasoning items.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReasoningIds {
    Preserve,
    Omit,
}

/// The policy for calls of tools that do not exist.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NotFound {
    RaiseError,
    ReturnErrorToModel,
}

/// The policy for tools that share a name.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Collisions {
    Warn,
    Error,
}

/// Handlers of errors, by the kind of error.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorHandlers {
    pub(crate) max_turns: Option<ErrorHandler>,
    pub(crate) model_refusal: Option<ErrorHandler>,
    pub(crate) invalid_final_output: Option<ErrorHandler>,
}

/// The result that a handler produces for an error.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorHandler {
    pub(crate) final_output: Option<Value>,
    pub(crate) include_in_history: Option<bool>,
    pub(crate) declines: Option<bool>,
}
