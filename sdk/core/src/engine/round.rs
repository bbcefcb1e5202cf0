//! A round: the requests of one model response, until all are complete. Requests are calls of
//! tools, approval requests of hosted MCP servers (here called questions), and handoffs. A turn is
//! the model call and its round.

use serde_json::{Value, json};

use super::{
    merge_patch,
    step::{CallResult, DueCall, ToolOutcome},
};
use crate::{
    agent::ToolResult,
    wire::{
        Item, ItemView, NewItem, NewItemKind, RunState, ToolOutput,
        run_state::{
            CallProgress, Decision, FinalOutput, FinalSource, GuardrailResults, Interruption, InterruptionKind,
            McpAnswerer, McpApproval, Phase, PlannedCall, ToolRound, ToolUse,
        },
    },
};

/// Returns the calls that can be made now: they have no output and do not wait, or the nested run
/// for which they wait can be resumed.
pub(super) fn due_calls(state: &RunState, round: &ToolRound) -> Vec<DueCall> {
    let due = |(index, call): (usize, &crate::wire::run_state::RoundCall)| {
        let paused = match &call.progress {
            CallProgress::Due => None,
            CallProgress::Paused { run, since_earlier: false } => Some(run.clone()),
            _ => return None,
        };
        let is_known = call.is_known;
        let PlannedCall { tool, call_id, .. } = &call.call;
        let decision = state.approvals.on_round_call(&state.agent, call).cloned();
        let is_permanent = decision.is_some() && !state.approvals.is_on_call(&state.agent, tool, call_id);
        let is_for_good = state.approvals.is_for_good(&state.agent, tool, call_id);
        let answers = call.answers.clone();
        let call = call.call.clone();
        Some(DueCall { index, call, is_known, decision, is_permanent, is_for_good, paused, answers })
    };
    round.calls.iter().enumerate().filter_map(due).collect()
}

/// Returns the open approval requests of hosted MCP servers that the author's function answers
/// (`Agent::on_mcp_approval`).
pub(super) fn questions(round: &ToolRound) -> Vec<McpApproval> {
    let is_asked = |question: &&McpApproval| !question.answered && question.by == McpAnswerer::Function;
    round.mcp_approvals.iter().filter(is_asked).cloned().collect()
}

/// Returns the outputs of function tools so far, in call order.
pub(super) fn results(round: &ToolRound) -> Vec<ToolResult> {
    done_calls(round).map(|(call, output)| ToolResult::new(&*call.tool, &*call.call_id, output.clone())).collect()
}

/// Returns the calls of function tools that have an output, with that output, in call order.
fn done_calls(round: &ToolRound) -> impl Iterator<Item = (&PlannedCall, &ToolOutput)> {
    round.calls.iter().filter_map(|call| match &call.progress {
        CallProgress::Done { output } if call.is_known => Some((&call.call, output)),
        _ => None,
    })
}

/// Applies the outcomes of calls: adds their outputs, and a `ToolApproval` item for each call that
/// now waits for approval, in call order; then the messages for calls of tools that do not exist.
/// Calls that wait for an output, an input or a nested run add no item.
pub(super) fn take(state: &mut RunState, mut round: ToolRound, outcomes: Vec<ToolOutcome>) -> Phase {
    let mut last = Vec::new();
    for outcome in outcomes {
        let is_known = round.calls[outcome.index].is_known;
        let item = settle(state, &mut round, outcome);
        // After a pause, the message for a tool that no longer exists keeps its place in call
        // order.
        if is_known || round.resumed { state.items.extend(item) } else { last.extend(item) }
    }
    state.items.append(&mut last);
    if round.resumed {
        ask_again(state, &round);
    }
    let mut waiting = Vec::new();
    for question in round.mcp_approvals.iter_mut().filter(|question| !question.answered) {
        if question.by == McpAnswerer::Function {
            continue;
        }
        match state.approvals.on_mcp(question).cloned() {
            Some(decision) => {
                question.answered = true;
                state.approvals.forget_mcp(question);
                let raw = answer(question, &decision);
                push(state, NewItemKind::McpApprovalResponse, raw);
            }
            None => waiting.push(question.request.clone()),
        }
    }
    for raw in waiting.into_iter().filter(|_| !round.resumed) {
        push(state, NewItemKind::ToolApproval, raw);
    }
    after_calls(state, round)
}

/// After a pause, adds the `ToolApproval` items of the approval requests that are still open once
/// more, before the answers to others, as the OpenAI Agents SDK does.
pub(super) fn ask_again(state: &mut RunState, round: &ToolRound) {
    for question in &round.mcp_approvals {
        if question.waits_for_a_person() && state.approvals.on_mcp(question).is_none() {
            push(state, NewItemKind::ToolApproval, question.request.clone());
        }
    }
}

/// Applies the outcomes of the calls that were complete when another call ended the run.
pub(super) fn apply_completed_outcomes(
    state: &mut RunState,
    mut round: Box<ToolRound>,
    outcomes: Vec<ToolOutcome>,
    mut found: GuardrailResults,
) -> Phase {
    state.guardrails.tool_input.append(&mut found.tool_input);
    state.guardrails.tool_output.append(&mut found.tool_output);
    for outcome in outcomes {
        let item = settle(state, &mut round, outcome);
        state.items.extend(item);
    }
    Phase::ToolsDue { round }
}

/// Applies the outcome of a call: its output, or the reason why it waits. Returns the item that it
/// adds, if any.
fn settle(state: &mut RunState, round: &mut ToolRound, outcome: ToolOutcome) -> Option<NewItem> {
    let ToolOutcome {
        index,
        result,
        ran,
        failed,
        refused: _,
        context_patch,
        side_data,
        mut input_guardrails,
        mut output_guardrails,
    } = outcome;
    state.guardrails.tool_input.append(&mut input_guardrails);
    state.guardrails.tool_output.append(&mut output_guardrails);
    if let Some(patch) = context_patch {
        merge_patch(&mut state.context, patch);
    }
    let call = &mut round.calls[index];
    let item = |kind, raw| Some(NewItem { kind, agent: state.agent.clone(), raw, handoff: None, side_data: None });
    match result {
        CallResult::Output(output) => {
            // Calls whose body ran, which a run that fails keeps.
            if ran {
                state.completed.push(call.call.call_id.clone());
            }
            state.approvals.forget_call(&state.agent, &call.call.tool, &call.call.call_id);
            call.progress = CallProgress::Done { output: output.clone() };
            let raw = output_item(state, &call.call, output, failed);
            let (kind, agent) = (NewItemKind::ToolCallOutput, state.agent.clone());
            Some(NewItem { kind, agent, raw, handoff: None, side_data })
        }
        CallResult::NeedsApproval | CallResult::NeedsOwnApproval => {
            call.asks_each = result == CallResult::NeedsOwnApproval;
            call.progress = CallProgress::NeedsApproval;
            let raw = state.raw_call(&call.call.call_id);
            item(NewItemKind::ToolApproval, raw)
        }
        CallResult::NeedsOutput => {
            call.progress = CallProgress::NeedsOutput;
            None
        }
        CallResult::NeedsInput(question) => {
            call.progress = CallProgress::NeedsInput { question };
            None
        }
        CallResult::Paused(run) => {
            call.progress = CallProgress::Paused { run, since_earlier: false };
            None
        }
    }
}

fn output_item(state: &RunState, call: &PlannedCall, output: ToolOutput, has_failed: bool) -> Item {
    match call.native {
        // The arguments of the plan may be those of a person.
        Some(kind) => match state.raw_call(&call.call_id).view() {
            ItemView::NativeCall { call, .. } => kind.output(call.call_id, &call.arguments, &output, has_failed),
            _ => kind.output(&call.call_id, &call.arguments, &output, has_failed),
        },
        None if has_failed => Item::failed_function_call_output(&call.call_id, output.into_value()),
        None => Item::function_call_output(&call.call_id, output.into_value()),
    }
}

/// Returns the next phase when no call of the round can be made now: a wait for decisions, the
/// answers to approval requests, a handoff, a final output, or the next turn.
pub(super) fn after_calls(state: &mut RunState, mut round: ToolRound) -> Phase {
    if waits(&round) {
        if round.resumed {
            list_nested_calls(state, &round);
        }
        return Phase::Interrupted { round: Box::new(round) };
    }
    if !questions(&round).is_empty() {
        return Phase::McpDue { round: Box::new(round) };
    }
    if !round.handoffs.is_empty() {
        return Phase::HandoffDue { handoffs: std::mem::take(&mut round.handoffs) };
    }
    let mut done = done_calls(&round);
    let stopping = match &round.tool_use {
        ToolUse::RunLlmAgain => None,
        ToolUse::StopOnFirstTool => done.next(),
        ToolUse::StopAtTools { tools } => done.find(|(call, _)| tools.contains(&call.tool)),
        ToolUse::Custom if done.next().is_none() => None,
        ToolUse::Custom => {
            drop(done);
            return Phase::ToolUseDue { round: Box::new(round) };
        }
    };
    match stopping {
        Some((_, output)) => tool_output(final_value(output)),
        None => run_again(state, round.resumed),
    }
}

/// Returns `true` if any part of a round waits for a person.
pub(super) fn waits(round: &ToolRound) -> bool {
    let call_waits = |call: &crate::wire::run_state::RoundCall| {
        matches!(
            call.progress,
            CallProgress::NeedsApproval
                | CallProgress::NeedsOutput
                | CallProgress::NeedsInput { .. }
                | CallProgress::Paused { .. }
        )
    };
    round.calls.iter().any(call_waits) || round.mcp_approvals.iter().any(McpApproval::waits_for_a_person)
}

/// Applies the answers of the author's functions to approval requests of hosted MCP servers.
pub(super) fn take_answers(state: &mut RunState, mut round: ToolRound, answers: Vec<Decision>) -> Phase {
    let is_asked = |question: &&mut McpApproval| !question.answered && question.by == McpAnswerer::Function;
    for (question, decision) in round.mcp_approvals.iter_mut().filter(is_asked).zip(answers) {
        question.answered = true;
        let raw = answer(question, &decision);
        push(state, NewItemKind::McpApprovalResponse, raw);
    }
    after_calls(state, round)
}

/// Applies the result of the agent's own function for outputs (`ToolUseBehavior::decided_by`).
pub(super) fn take_tool_use(state: &mut RunState, round: ToolRound, decided: Option<Value>) -> Phase {
    decided.map_or_else(|| run_again(state, round.resumed), tool_output)
}

fn tool_output(value: Value) -> Phase {
    Phase::FinalDue { output: FinalOutput { value, source: FinalSource::Tool } }
}

fn final_value(output: &ToolOutput) -> Value {
    match output {
        ToolOutput::Text(text) => Value::String(text.clone()),
        ToolOutput::Content(parts) => Value::String(Value::Array(parts.clone()).to_string()),
    }
}

/// Starts another turn, in which the model receives the outputs. After a pause, the results of tool
/// guardrails since the pause are dropped, as in the OpenAI Agents SDK.
fn run_again(state: &mut RunState, resumed: bool) -> Phase {
    if resumed {
        state.guardrails.tool_input.truncate(state.turn_began.tool_input);
        state.guardrails.tool_output.truncate(state.turn_began.tool_output);
    }
    Phase::TurnDue
}

/// After a pause, adds the `ToolApproval` items of calls that wait inside nested runs to the run's
/// own items, each once. Calls of nested runs that already waited before the pause come first, then
/// those of nested runs that paused after it.
pub(super) fn list_nested_calls(state: &mut RunState, round: &ToolRound) {
    let mut pending = Vec::new();
    let mut paused_anew = Vec::new();
    for call in &round.calls {
        match &call.progress {
            CallProgress::Paused { run, since_earlier: true } => pending.extend(run.interruptions()),
            CallProgress::Paused { run, since_earlier: false } => paused_anew.extend(run.interruptions()),
            _ => {}
        }
    }
    let asks = |call: &Interruption| call.kind == InterruptionKind::Approval;
    for interruption in pending.into_iter().chain(paused_anew).filter(asks) {
        let is_shown = |item: &NewItem| {
            item.kind == NewItemKind::ToolApproval && item.agent == interruption.agent && item.raw == interruption.raw
        };
        if !state.items.iter().any(is_shown) {
            state.items.push(NewItem {
                kind: NewItemKind::ToolApproval,
                agent: interruption.agent,
                raw: interruption.raw,
                handoff: None,
                side_data: None,
            });
        }
    }
}

fn answer(question: &McpApproval, decision: &Decision) -> Item {
    let mut answer = json!({
        "type": "mcp_approval_response",
        "approval_request_id": question.request_id,
        "approve": decision.approve,
    });
    if let (false, Some(reason)) = (decision.approve, &decision.message) {
        answer["reason"] = reason.as_str().into();
    }
    Item::try_from(answer).expect("the value is a JSON object")
}

fn push(state: &mut RunState, kind: NewItemKind, raw: Item) {
    state.items.push(NewItem { kind, agent: state.agent.clone(), raw, handoff: None, side_data: None });
}
