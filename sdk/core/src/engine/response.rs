//! Applies a model's response to the state, and determines the next phase.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    calls,
    error::RunError,
    incomplete,
    native::{self, MadeBy},
    request, round,
    rules::{Rules, UnknownTools},
};
use crate::wire::{
    FunctionCall, Item, ItemView, ModelResponse, NewItem, NewItemKind, RunState, ToolSpec,
    incomplete::PAUSE_TURN,
    run_state::{
        CallProgress, FinalOutput, FinalSource, McpAnswerer, McpApproval, Phase, PlannedCall, PlannedHandoff,
        Recoverable, RoundCall, ToolRound, ToolUse, TurnMark, TurnSetup,
    },
};

/// The patch of runs that limit the calls of a response. Queried only for a response with more
/// calls.
pub const CALLS_LIMITED: &str = "temporal-agents/calls-per-response-limited";

/// The items of a response, by kind.
#[derive(Default)]
pub(super) struct Sorted {
    pub(super) items: Vec<NewItem>,
    pub(super) calls: Vec<RoundCall>,
    pub(super) handoffs: Vec<PlannedHandoff>,
    pub(super) mcp_approvals: Vec<McpApproval>,
    /// Ids of the approval requests on which a decision is kept.
    kept_requests: BTreeSet<String>,
    tools_used: Vec<String>,
    /// `true` if a hosted tool ran, or if a call was dropped because it ran before. Without a
    /// message, the model is then called again.
    pub(super) needs_another_turn: bool,
    pub(super) last_message: Option<Item>,
    unknown_tool: Option<String>,
}

impl Sorted {
    /// Returns `true` if the run has calls to make, handoffs to take or questions to answer.
    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty() || !self.handoffs.is_empty() || !self.mcp_approvals.is_empty()
    }

    /// Returns the id and the function of each call and handoff.
    pub(super) fn function_calls(&self) -> impl Iterator<Item = (&str, &str)> {
        let calls = self.calls.iter().map(|call| (&*call.call.call_id, &*call.call.tool));
        calls.chain(self.handoffs.iter().map(|handoff| (&*handoff.call_id, &*handoff.tool_name)))
    }
}

/// Applies a response to the state.
///
/// # Errors
/// [`RunError::TooManyCalls`], [`RunError::CallIdReused`], [`RunError::IncompleteAnswer`] and
/// [`RunError::ModelBehavior`]; usage is kept, the response's items are not.
pub(super) fn accept(
    state: &mut RunState,
    setup: &TurnSetup,
    rules: &Rules,
    response: ModelResponse,
    kept_requests: BTreeSet<String>,
) -> Result<Phase, RunError> {
    let ModelResponse { output, usage, response_id, incomplete, .. } = response;
    state.usage.add(&usage);
    state.turn_began = TurnMark::here(state);
    state.completed.clear();
    // Includes decisions that an earlier release left in the state.
    state.approvals.forget_calls();
    let tool_use = setup.tool_use.clone();
    state.holds_back_turn = setup.guards_output && tool_use != ToolUse::RunLlmAgain;
    let server = state.server.clone();
    request::was_seen(state, response_id.as_deref());
    let (calls, limit) = (calls_of(&setup.native_tools, &output), rules.max_calls_per_response);
    if calls > limit && state.patches.get(CALLS_LIMITED) != Some(&false) {
        return Err(RunError::TooManyCalls { agent: state.agent.clone(), turn: state.turn, calls, limit });
    }
    let (output, has_repeats) = calls::new_items_of(state, setup, rules.unknown_tools, output)?;
    let mut sorted = Sorted { needs_another_turn: has_repeats, kept_requests, ..Sorted::default() };
    for item in &output {
        sort(state, setup, &output, item, &mut sorted)?;
    }
    if let Some(reason) = incomplete::reason(incomplete.as_deref(), setup, &sorted) {
        return incomplete::resolve(state, setup, rules, sorted, reason, server);
    }
    if let (Some(tool), UnknownTools::Fail) = (&sorted.unknown_tool, rules.unknown_tools) {
        return Err(misbehaved(state, format!("Tool {tool} not found in agent {}", state.agent)));
    }
    state.last_response_id = response_id;
    state.incomplete.clone_from(&incomplete);
    let has_calls = sorted.has_calls();
    // The provider continues the turn when it receives its own answer.
    let is_paused = incomplete.as_deref() == Some(PAUSE_TURN) && !has_calls;
    if is_paused {
        incomplete::count_pause(state, setup, &sorted)?;
    } else {
        state.unanswered = 0;
    }
    state.items.append(&mut sorted.items);
    if !sorted.tools_used.is_empty() {
        if let Some(used) = state.tools_used.get_mut(&state.agent) {
            used.extend(sorted.tools_used);
        } else {
            state.tools_used.insert(state.agent.clone(), sorted.tools_used.into_iter().collect());
        }
    }
    if is_paused {
        return Ok(Phase::TurnDue);
    }
    if !has_calls {
        return Ok(conclude(setup, sorted.last_message.as_ref(), sorted.needs_another_turn, incomplete));
    }
    let round = ToolRound {
        calls: sorted.calls,
        mcp_approvals: sorted.mcp_approvals,
        handoffs: sorted.handoffs,
        tool_use,
        guards_output: setup.guards_output,
        resumed: false,
    };
    Ok(if round.calls.is_empty() {
        round::take(state, round, Vec::new())
    } else {
        Phase::ToolsDue { round: Box::new(round) }
    })
}

/// Returns the number of calls of tools and handoffs, and of questions of hosted MCP servers, among
/// these items.
pub(super) fn calls_of(natives: &[String], output: &[Item]) -> usize {
    let is_call = |item: &&Item| match item.view() {
        ItemView::FunctionCall(_) | ItemView::Other { kind: "mcp_approval_request" } => true,
        ItemView::NativeCall { kind, call } => {
            natives.iter().any(|native| native == call.name) && !kind.is_answered_in(output, call.call_id)
        }
        _ => false,
    };
    output.iter().filter(is_call).count()
}

/// Returns the next phase when the run has no calls to make: the response is the final answer, or
/// the model is called again.
fn conclude(
    setup: &TurnSetup,
    last_message: Option<&Item>,
    needs_another_turn: bool,
    incomplete: Option<String>,
) -> Phase {
    if last_message.is_none() && needs_another_turn {
        return Phase::TurnDue;
    }
    if let Some(refusal) = last_message.and_then(Item::refusal) {
        return Phase::ErrorDue { error: Recoverable::ModelRefusal { refusal } };
    }
    let text = last_message.and_then(Item::text).unwrap_or_default();
    match (&setup.definitions.output, text.trim().is_empty()) {
        (None, _) => {
            Phase::FinalDue { output: FinalOutput { value: Value::String(text), source: FinalSource::Message } }
        }
        (Some(_), true) if setup.handles_empty_output => Phase::ErrorDue { error: Recoverable::EmptyFinalOutput },
        (Some(_), true) => Phase::TurnDue,
        (Some(_), false) => Phase::OutputDue { text, incomplete },
    }
}

fn sort(
    state: &RunState,
    setup: &TurnSetup,
    response: &[Item],
    item: &Item,
    sorted: &mut Sorted,
) -> Result<(), RunError> {
    let kind = match item.view() {
        ItemView::Message { .. } => {
            sorted.last_message = Some(item.clone());
            NewItemKind::MessageOutput
        }
        ItemView::Reasoning => NewItemKind::Reasoning,
        ItemView::FunctionCall(call) => plan(setup, &call, sorted),
        ItemView::HostedCall { kind } => {
            sorted.needs_another_turn = true;
            sorted.tools_used.push(kind.to_owned());
            NewItemKind::ToolCall
        }
        ItemView::Other { kind: "mcp_list_tools" } => NewItemKind::McpListTools,
        ItemView::Other { kind: "mcp_approval_request" } => {
            sorted.mcp_approvals.push(question(state, setup, item, &sorted.kept_requests)?);
            NewItemKind::McpApprovalRequest
        }
        ItemView::NativeCall { kind, call } => {
            match native::plan(state, setup, response, kind, &call)? {
                MadeBy::Tool(planned) => sorted.calls.push(*planned),
                MadeBy::Provider => sorted.needs_another_turn = true,
            }
            sorted.tools_used.push(kind.tool().unwrap_or(call.name).to_owned());
            NewItemKind::ToolCall
        }
        ItemView::Other { kind: "compaction" } => NewItemKind::Compaction,
        ItemView::FunctionCallOutput { .. } | ItemView::NativeCallOutput { .. } | ItemView::Other { .. } => {
            NewItemKind::Unknown
        }
    };
    sorted.items.push(NewItem { kind, agent: state.agent.clone(), raw: item.clone(), handoff: None, side_data: None });
    Ok(())
}

/// Reads the question of a hosted MCP server. Only a server that was offered may ask one.
fn question(
    state: &RunState,
    setup: &TurnSetup,
    request: &Item,
    kept_requests: &BTreeSet<String>,
) -> Result<McpApproval, RunError> {
    let member = |name: &str| request.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let server_label = member("server_label");
    let is_offered = |spec: &ToolSpec| match spec {
        ToolSpec::Hosted { config, .. } => config.get("server_label").is_some_and(|label| *label == server_label),
        ToolSpec::Function { .. } => false,
    };
    if !setup.definitions.tools.iter().any(is_offered) {
        return Err(misbehaved(state, format!("MCP server label {server_label} not found")));
    }
    let request_id = request.id().unwrap_or_default().to_owned();
    let (tool, request, by) = (member("name"), request.clone(), McpAnswerer::Person);
    let mut asked = McpApproval { request_id, tool, server_label, request, by, answered: false };
    // A decision for all later requests of this run is newer than those kept from earlier runs.
    let is_kept = kept_requests.contains(&asked.request_id) && state.approvals.on_mcp(&asked).is_none();
    if is_kept || setup.answers_approvals.contains(&asked.server_label) {
        asked.by = McpAnswerer::Function;
    }
    Ok(asked)
}

/// Plans a function call: as a handoff if one has its name, otherwise as a tool call.
fn plan(setup: &TurnSetup, call: &FunctionCall<'_>, sorted: &mut Sorted) -> NewItemKind {
    let handoff = setup.definitions.handoffs.iter().rfind(|handoff| handoff.tool_name == call.name);
    sorted.tools_used.push(call.name.to_owned());
    if let (Some(handoff), None) = (handoff, call.namespace) {
        sorted.handoffs.push(PlannedHandoff {
            tool_name: call.name.to_owned(),
            variant: setup.variant(call.name),
            target: handoff.agent_name.clone(),
            call_id: call.call_id.to_owned(),
            arguments: call.arguments.to_string(),
        });
        return NewItemKind::HandoffCall;
    }
    let is_called = |tool: &ToolSpec| matches!(tool, ToolSpec::Function { name, .. } if name == call.name);
    // A provider marks a tool that it found by searching with a namespace that equals the tool's
    // name.
    let is_ours = call.namespace.is_none_or(|namespace| namespace == call.name);
    let is_known = is_ours && setup.definitions.tools.iter().any(is_called);
    let tool = match call.namespace {
        Some(namespace) if !is_ours => format!("{namespace}.{}", call.name),
        _ => call.name.to_owned(),
    };
    if !is_known && sorted.unknown_tool.is_none() {
        sorted.unknown_tool = Some(tool.clone());
    }
    let variant = setup.variant(&tool);
    let (call_id, arguments) = (call.call_id.to_owned(), call.arguments.to_string());
    let planned = PlannedCall { tool, variant, call_id, arguments, native: None };
    sorted.calls.push(RoundCall {
        call: planned,
        is_known,
        progress: CallProgress::Due,
        answers: Vec::new(),
        asks_each: false,
    });
    NewItemKind::ToolCall
}

pub(super) fn misbehaved(state: &RunState, message: String) -> RunError {
    RunError::ModelBehavior { agent: state.agent.clone(), turn: state.turn, message }
}
