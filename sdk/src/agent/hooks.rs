//! Functions that hear what a run does, as it does it.
//!
//! # Design
//! **What runs at the same time is reported in call order.** Hooks, guardrail results and items of
//! one turn are in call order also where the Agents SDK reports them as they finish. A completion
//! order would differ between hosts.

use crate::{
    tool::{CallInfo, Failure, RunContext},
    wire::{Item, ModelResponse, ToolOutput, Usage},
};
use serde_json::Value;

/// What a hook knows of the run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HookContext<'a> {
    /// The run context.
    pub run: &'a RunContext,
    /// What the run has used so far.
    pub usage: &'a Usage,
    /// The turn, counted from 1; 0 before the first.
    pub turn: u32,
}

impl<'a> HookContext<'a> {
    /// What a hook knows at this turn.
    pub fn new(run: &'a RunContext, usage: &'a Usage, turn: u32) -> Self {
        Self { run, usage, turn }
    }
}

/// The call that a tool hook hears of.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HookedCall<'a> {
    /// The call: its tool, its id, its turn.
    pub info: &'a CallInfo,
    /// The arguments as the model wrote them: JSON text, not yet checked.
    pub arguments: &'a str,
}

impl<'a> HookedCall<'a> {
    /// A call with these arguments; unit tests of hooks make one, too.
    pub fn new(info: &'a CallInfo, arguments: &'a str) -> Self {
        Self { info, arguments }
    }
}

/// What a hook gives back; an error ends the run.
pub type HookResult = Result<(), Failure>;

/// Functions that hear what a run does: of all agents where the run has them, of one agent where
/// the agent has them.
///
/// Where both have them, those of the run are called first. Calls at the same moment are told in
/// call order, never in the order in which they happened to finish.
///
/// # Determinism
/// Hooks run in the workflow, again on replay. Log through `tracing`; what needs I/O is a tool or
/// an activity.
///
/// # Source
/// `RunHooks` and `AgentHooks` of the OpenAI Agents SDK.
#[expect(unused_variables, reason = "the default hooks do nothing, and the names are their documentation")]
pub trait RunHooks: Send + Sync {
    /// An agent takes over: at the start, after a handoff, after a pause.
    ///
    /// # Errors
    /// Any error ends the run.
    fn on_agent_start(&self, ctx: &HookContext<'_>, agent: &str) -> HookResult {
        Ok(())
    }

    /// An agent has a final output.
    ///
    /// # Errors
    /// Any error ends the run.
    fn on_agent_end(&self, ctx: &HookContext<'_>, agent: &str, output: &Value) -> HookResult {
        Ok(())
    }

    /// One agent hands off to another.
    ///
    /// # Errors
    /// Any error ends the run.
    fn on_handoff(&self, ctx: &HookContext<'_>, from: &str, to: &str) -> HookResult {
        Ok(())
    }

    /// A function tool is about to run.
    ///
    /// # Errors
    /// Any error ends the run.
    fn on_tool_start(&self, ctx: &HookContext<'_>, agent: &str, call: &HookedCall<'_>) -> HookResult {
        Ok(())
    }

    /// A function tool has its output, a handled failure included.
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

    /// The model is about to be called with these instructions and this input.
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

    /// The model has answered.
    ///
    /// # Errors
    /// Any error ends the run.
    fn on_llm_end(&self, ctx: &HookContext<'_>, agent: &str, response: &ModelResponse) -> HookResult {
        Ok(())
    }
}
