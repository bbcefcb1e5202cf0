//! Hooks: functions that are called for the events of a run as they happen.
//!
//! # Design
//! **Concurrent events are reported in call order.** Hooks, guardrail results and items of one turn
//! are in call order even where the OpenAI Agents SDK reports them in completion order. A
//! completion order would differ between hosts.

use crate::{
    tool::{BoxError, CallInfo, RunContext},
    wire::{Item, ModelResponse, ToolOutput, Usage},
};
use serde_json::Value;

/// The context of a hook: the state of the run at the event.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HookContext<'a> {
    /// The run context.
    pub run: &'a RunContext,
    /// The usage of the run so far.
    pub usage: &'a Usage,
    /// The turn, counted from 1; 0 before the first.
    pub turn: u32,
    /// `true` if the workflow replays its history, so that the hook was called for this event
    /// before: skip logs and metrics then. Always `false` on the other hosts.
    ///
    /// # Determinism
    /// Nothing that the run sees may depend on it.
    pub is_replaying: bool,
}

impl<'a> HookContext<'a> {
    /// Returns the context of a hook at this turn.
    pub fn new(run: &'a RunContext, usage: &'a Usage, turn: u32) -> Self {
        Self { run, usage, turn, is_replaying: false }
    }
}

/// The tool call that a tool hook reports.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HookedCall<'a> {
    /// The call: its tool, its id, its turn.
    pub info: &'a CallInfo,
    /// The arguments as the model wrote them: JSON, not yet validated.
    pub arguments: &'a str,
}

impl<'a> HookedCall<'a> {
    /// Returns a call with these arguments; unit tests of hooks may also construct one.
    pub fn new(info: &'a CallInfo, arguments: &'a str) -> Self {
        Self { info, arguments }
    }
}

/// The result of a hook; an error ends the run.
pub type HookResult = Result<(), BoxError>;

/// Functions that are called for the events of a run: of all agents if they are set on the run, of
/// one agent if they are set on the agent.
///
/// If both are set, those of the run are called first. Events of concurrent calls are reported in
/// call order, never in the order in which the calls complete.
///
/// # Determinism
/// Hooks run in the workflow, again on replay: see [`HookContext::is_replaying`]. Log through
/// `tracing`; I/O belongs in a tool or an activity.
///
/// # Source
/// `RunHooks` and `AgentHooks` of the OpenAI Agents SDK.
#[expect(unused_variables, reason = "the default hooks do nothing, and the names are their documentation")]
pub trait RunHooks: Send + Sync {
    /// Called when an agent starts: at the start of the run, after a handoff and after a pause.
    ///
    /// # Errors
    /// Any error ends the run.
    fn on_agent_start(&self, ctx: &HookContext<'_>, agent: &str) -> HookResult {
        Ok(())
    }

    /// Called when an agent has returned a final output.
    ///
    /// # Errors
    /// Any error ends the run.
    fn on_agent_end(&self, ctx: &HookContext<'_>, agent: &str, output: &Value) -> HookResult {
        Ok(())
    }

    /// Called when one agent hands off to another.
    ///
    /// # Errors
    /// Any error ends the run.
    fn on_handoff(&self, ctx: &HookContext<'_>, from: &str, to: &str) -> HookResult {
        Ok(())
    }

    /// Called before a function tool runs.
    ///
    /// # Errors
    /// Any error ends the run.
    fn on_tool_start(&self, ctx: &HookContext<'_>, agent: &str, call: &HookedCall<'_>) -> HookResult {
        Ok(())
    }

    /// Called when a function tool has returned its output, which may be that of a handled failure.
    ///
    /// # Errors
    /// Any error ends the run.
    fn on_tool_end(
        &self,
        ctx: &HookContext<'_>,
        agent: &str,
        call: &HookedCall<'_>,
        output: &ToolOutput,
    ) -> HookResult {
        Ok(())
    }

    /// Called before the model is called with these instructions and this input.
    ///
    /// # Errors
    /// Any error ends the run.
    fn on_llm_start(
        &self,
        ctx: &HookContext<'_>,
        agent: &str,
        instructions: Option<&str>,
        input: &[Item],
    ) -> HookResult {
        Ok(())
    }

    /// Called when the model has returned a response.
    ///
    /// # Errors
    /// Any error ends the run.
    fn on_llm_end(&self, ctx: &HookContext<'_>, agent: &str, response: &ModelResponse) -> HookResult {
        Ok(())
    }
}
