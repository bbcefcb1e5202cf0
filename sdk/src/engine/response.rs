//! From a model's response to what the run does next.

use serde_json::Value;

use super::{
    calls::{self, Identity},
    error::RunError,
};
use crate::wire::{
    FunctionCall, Item, ItemView, ModelResponse, NewItem, NewItemKind, RunState, ToolSpec,
    run_state::{Phase, PlannedCall, PlannedHandoff, TurnSetup},
};

/// What a response asks for, sorted.
#[derive(Default)]
struct Asked {
    calls: Vec<PlannedCall>,
    handoffs: Vec<PlannedHandoff>,
    /// A hosted tool ran, or a call was dropped because it ran before: without a message the model is asked again.
    needs_another_turn: bool,
    last_message: Option<Item>,
    incomplete: Option<String>,
}

/// Takes a response into the state.
///
/// # Errors
/// [`RunError::ModelBehavior`] and [`RunError::ModelRefusal`]; usage and the items before the offence are kept.
pub(super) fn accept(state: &mut RunState, setup: &TurnSetup, response: ModelResponse) -> Result<Phase, RunError> {
    state.usage.add(&response.usage);
    state.last_response_id.clone_from(&response.response_id);
    let mut asked = sort(state, setup, response.output)?;
    asked.incomplete = response.incomplete;
    if !asked.calls.is_empty() {
        return Ok(Phase::ToolsDue { calls: asked.calls, handoffs: asked.handoffs });
    }
    if !asked.handoffs.is_empty() {
        return Ok(Phase::HandoffDue { handoffs: asked.handoffs });
    }
    conclude(state, setup, asked)
}

/// Nothing is left to run here: the response is the final answer, or the model is asked again.
fn conclude(state: &RunState, setup: &TurnSetup, asked: Asked) -> Result<Phase, RunError> {
    if asked.last_message.is_none() && asked.needs_another_turn {
        return Ok(Phase::TurnDue);
    }
    if let Some(refusal) = asked.last_message.as_ref().and_then(Item::refusal) {
        return Err(RunError::ModelRefusal { agent: state.agent.clone(), refusal: refusal.to_owned() });
    }
    let text = asked.last_message.as_ref().and_then(Item::text).unwrap_or_default();
    Ok(match (&setup.definitions.output, text.is_empty()) {
        (None, _) => Phase::Finished { output: Value::String(text) },
        (Some(_), true) => Phase::TurnDue,
        (Some(_), false) => Phase::OutputDue { text, incomplete: asked.incomplete },
    })
}

fn sort(state: &mut RunState, setup: &TurnSetup, output: Vec<Item>) -> Result<Asked, RunError> {
    let mut asked = Asked::default();
    let mut seen: Vec<Item> = Vec::with_capacity(output.len());
    for item in output {
        let kind = match item.view() {
            ItemView::Message { .. } => {
                asked.last_message = Some(item.clone());
                NewItemKind::MessageOutput
            }
            ItemView::Reasoning => NewItemKind::Reasoning,
            ItemView::FunctionCall(call) => match calls::identify(state, &seen, &call) {
                Ok(Identity::New) => plan(state, setup, &call, &mut asked)?,
                Ok(Identity::Repeated) => {
                    asked.needs_another_turn = true;
                    continue;
                }
                Err(message) => return Err(misbehaved(state, message.to_owned())),
            },
            ItemView::HostedCall { kind } => {
                asked.needs_another_turn = true;
                used(state, kind);
                NewItemKind::ToolCall
            }
            ItemView::Other { kind: "mcp_list_tools" } => {
                asked.needs_another_turn = true;
                NewItemKind::McpListTools
            }
            ItemView::Other { kind: "mcp_approval_request" } => {
                return Err(misbehaved(state, approval_asked_for(&item)));
            }
            ItemView::Other { kind } if native_tool(kind).is_some() => {
                accept_native(state, setup, kind)?;
                asked.needs_another_turn = true;
                NewItemKind::ToolCall
            }
            ItemView::Other { kind: "compaction" } => NewItemKind::Compaction,
            ItemView::FunctionCallOutput { .. } | ItemView::Other { .. } => NewItemKind::Unknown,
        };
        seen.push(item.clone());
        state.items.push(NewItem { kind, agent: state.agent.clone(), raw: item, handoff: None });
    }
    Ok(asked)
}

/// Calls of tools that run on the caller's machine, unless the provider offers to run them: which tool each needs, and what
/// the reference says when it is not there.
fn native_tool(kind: &str) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        "shell_call" => ("shell", "Model produced shell call without a shell tool."),
        "local_shell_call" => ("local_shell", "Model produced local shell call without a local shell tool."),
        "computer_call" => ("computer_use_preview", "Model produced computer action without a computer tool."),
        "apply_patch_call" => ("apply_patch", "Model produced apply_patch call without an apply_patch tool."),
        "custom_tool_call" => ("custom", "Model produced custom tool call without a custom tool."),
        _ => return None,
    })
}

fn accept_native(state: &mut RunState, setup: &TurnSetup, kind: &str) -> Result<(), RunError> {
    let Some((tool, complaint)) = native_tool(kind) else { return Ok(()) };
    let is_offered = |spec: &ToolSpec| matches!(spec, ToolSpec::Hosted { name, .. } if name == tool);
    if !setup.definitions.tools.iter().any(is_offered) {
        return Err(misbehaved(state, complaint.to_owned()));
    }
    used(state, tool);
    Ok(())
}

fn approval_asked_for(request: &Item) -> String {
    let member = |name: &str| request.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    format!(
        "the hosted MCP server {:?} asks for approval of {:?}, which a run cannot give yet; set its require_approval to \"never\"",
        member("server_label"),
        member("name")
    )
}

/// Plans a function call: as a handoff where one has its name, else as a tool.
fn plan(
    state: &mut RunState,
    setup: &TurnSetup,
    call: &FunctionCall<'_>,
    asked: &mut Asked,
) -> Result<NewItemKind, RunError> {
    let handoff = setup.definitions.handoffs.iter().rfind(|handoff| handoff.tool_name == call.name);
    if let (Some(handoff), None) = (handoff, call.namespace) {
        used(state, call.name);
        asked.handoffs.push(PlannedHandoff {
            tool_name: call.name.to_owned(),
            target: handoff.agent_name.clone(),
            call_id: call.call_id.to_owned(),
            arguments: call.arguments.to_string(),
        });
        return Ok(NewItemKind::HandoffCall);
    }
    let is_called = |tool: &ToolSpec| matches!(tool, ToolSpec::Function { name, .. } if name == call.name);
    // A namespace of the tool's own name is how a provider marks a tool it found by searching.
    let is_ours = call.namespace.is_none_or(|namespace| namespace == call.name);
    if !is_ours || !setup.definitions.tools.iter().any(is_called) {
        return Err(misbehaved(state, format!("Tool {} not found in agent {}", call.name, state.agent)));
    }
    used(state, call.name);
    asked.calls.push(PlannedCall {
        tool: call.name.to_owned(),
        call_id: call.call_id.to_owned(),
        arguments: call.arguments.to_string(),
    });
    Ok(NewItemKind::ToolCall)
}

fn used(state: &mut RunState, tool: &str) {
    state.tools_used.entry(state.agent.clone()).or_default().insert(tool.to_owned());
}

fn misbehaved(state: &RunState, message: String) -> RunError {
    RunError::ModelBehavior { agent: state.agent.clone(), turn: state.turn, message }
}
