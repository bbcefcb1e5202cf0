//! Calls of tools that the provider defines and the run executes: planned as calls of the agent's
//! own tool, which makes them on every host.
//!
//! # Design
//! **A call that nothing makes ends the run.** The model would be called again without the output,
//! and might repeat the call until the turns are used up. Histories of earlier builds have such
//! turns: the patch [`NATIVE_CALLS_MADE`] keeps them.

use super::{calls, error::RunError, response::misbehaved};
use crate::wire::{
    FunctionCall, Item, ItemView, ModelResponse, NativeKind, RunState, ToolSpec,
    run_state::{CallProgress, PlannedCall, RoundCall, TurnSetup},
};

/// The patch of runs that end with a call that nothing makes. Queried only for such a call.
pub const NATIVE_CALLS_MADE: &str = "temporal-agents/native-calls-made";

/// Name under which agents of earlier builds offer all their custom tools.
const ANY_CUSTOM: &str = "custom";

/// The party that makes a call.
pub(super) enum MadeBy {
    /// A tool of the agent.
    Tool(Box<RoundCall>),
    /// The provider, in its own environment.
    Provider,
}

/// Plans a call of this response.
///
/// # Errors
/// [`RunError::ModelBehavior`] for a tool that was not offered; [`RunError::User`] for one that
/// nothing runs.
pub(super) fn plan(
    state: &RunState,
    setup: &TurnSetup,
    response: &[Item],
    kind: NativeKind,
    call: &FunctionCall<'_>,
) -> Result<MadeBy, RunError> {
    let is_earlier = state.patches.get(NATIVE_CALLS_MADE) == Some(&false);
    // Earlier builds knew custom tools by one name only.
    let is_known = |spec: &&ToolSpec| !is_earlier || kind.tool().is_some() || spec.name() == ANY_CUSTOM;
    let Some(spec) = offered(setup, kind, call.name).filter(is_known) else {
        return Err(misbehaved(state, not_offered(kind)));
    };
    if is_bound(setup, call.name) && !kind.is_answered_in(response, call.call_id) {
        let call = PlannedCall {
            tool: call.name.to_owned(),
            variant: setup.variant(call.name),
            call_id: call.call_id.to_owned(),
            arguments: call.arguments.to_string(),
            native: Some(kind),
        };
        let (progress, answers) = (CallProgress::Due, Vec::new());
        let planned = RoundCall { call, is_known: true, progress, answers, asks_each: false };
        return Ok(MadeBy::Tool(Box::new(planned)));
    }
    if is_made_by_provider(spec, response, kind, call.call_id) || is_earlier {
        return Ok(MadeBy::Provider);
    }
    let (agent, name) = (state.agent.clone(), if call.name.is_empty() { spec.name() } else { call.name });
    let message = format!(
        "the model called tool {name:?}, which nothing runs: give agent {agent:?} a tool that makes the calls, \
         `.tool(your_tool.native(NativeTool::..))` in place of the hosted tool"
    );
    Err(RunError::User { agent, message, has_run_data: true })
}

/// Returns `true` if the response has a call that nothing makes.
pub(super) fn has_call_that_nothing_makes(setup: &TurnSetup, response: &ModelResponse) -> bool {
    response.output.iter().any(|item| match item.view() {
        ItemView::NativeCall { kind, call } => {
            !is_bound(setup, call.name)
                && offered(setup, kind, call.name)
                    .is_some_and(|spec| !is_made_by_provider(spec, &response.output, kind, call.call_id))
        }
        _ => false,
    })
}

/// Returns `true` if a call that one of the agent's tools makes is new: it has not been made
/// earlier, nor is it among the items of the response before its place.
///
/// # Errors
/// The message of the OpenAI Agents SDK for a call without an id, or with the id of another call.
pub(super) fn is_new(
    state: &RunState,
    setup: &TurnSetup,
    response: &[Item],
    place: usize,
    kind: NativeKind,
    call: &FunctionCall<'_>,
) -> Result<bool, &'static str> {
    if !is_bound(setup, call.name) || kind.is_answered_in(response, call.call_id) {
        return Ok(true);
    }
    if call.call_id.is_empty() {
        return Err(calls::NO_ID);
    }
    let same_id = |item: &Item| match (item.call_id() == Some(call.call_id)).then(|| item.view())? {
        ItemView::NativeCall { kind: other, call: same } => Some(other == kind && same == *call),
        ItemView::FunctionCall(_) => Some(false),
        _ => None,
    };
    match (response[..place].iter().find_map(same_id), state.items.iter().find_map(|item| same_id(&item.raw))) {
        (Some(false), _) => Err(calls::REUSED_HERE),
        (_, Some(false)) => Err(calls::REUSED_LATER),
        (None, None) => Ok(true),
        _ => Ok(false),
    }
}

/// Returns `true` if one of the agent's tools makes the calls of the offered tool of this name.
pub(super) fn is_bound(setup: &TurnSetup, name: &str) -> bool {
    setup.native_tools.iter().any(|bound| bound == name)
}

/// Returns the offered tool that a call is for.
fn offered<'s>(setup: &'s TurnSetup, kind: NativeKind, called: &str) -> Option<&'s ToolSpec> {
    setup.definitions.tools.iter().find(|spec| match (spec, kind.tool()) {
        (ToolSpec::Hosted { name, .. }, Some(tool)) => name == tool,
        (ToolSpec::Hosted { name, .. }, None) => name == called || name == ANY_CUSTOM,
        (ToolSpec::Function { .. }, _) => false,
    })
}

/// Returns `true` if the provider makes the call: its output is in the response, or its tool runs
/// in a container of the provider.
fn is_made_by_provider(spec: &ToolSpec, response: &[Item], kind: NativeKind, call_id: &str) -> bool {
    let runs_there = match spec {
        ToolSpec::Hosted { config, .. } => {
            let environment = config.get("environment").and_then(|environment| environment.get("type"));
            environment.and_then(|kind| kind.as_str()).is_some_and(|kind| kind.starts_with("container"))
        }
        ToolSpec::Function { .. } => false,
    };
    runs_there || kind.is_answered_in(response, call_id)
}

fn not_offered(kind: NativeKind) -> String {
    let message = match kind {
        NativeKind::Shell => "Model produced shell call without a shell tool.",
        NativeKind::LocalShell => "Model produced local shell call without a local shell tool.",
        NativeKind::Computer => "Model produced computer action without a computer tool.",
        NativeKind::ApplyPatch => "Model produced apply_patch call without an apply_patch tool.",
        NativeKind::Custom => "Model produced custom tool call without a custom tool.",
    };
    message.to_owned()
}
