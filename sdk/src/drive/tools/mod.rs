//! The tool calls of one response: what is decided before a body runs, the bodies, what is decided after.
//!
//! All three in call order. Bodies run together: inline ones at once, agents in a loop of their own, all others through the host. When one ends
//! the run, the others are cancelled and their outcome is awaited, but counts no more.
//!
//! # Design
//! **A tool in an activity sees the run context as it was when its call began:** with the changes
//! of inline tools of earlier calls of the same response, and without the patches of activities,
//! which apply after all calls, in call order. In the Agents SDK calls of one turn share one
//! object, and what they see of each other is a matter of timing.

mod after;
mod before;
mod body;
mod limits;
mod one_call;
#[cfg(feature = "worker")]
mod single;
mod sizes;
mod told;

use serde_json::Value;

#[cfg(feature = "worker")]
pub(crate) use self::single::{SingleAnswer, SingleCall, SingleError, call_single};
use self::{after::conclude, before::begin, body::bodies};
use super::{
    env::Env,
    host::{Host, RunEvent},
    input_guardrails::InputGuards,
    mcp,
};
use crate::{
    agent::AgentDef,
    engine::{CallResult, DueCall, Engine, Resolution, RunError},
    tool::{CallInfo, ToolDef, ToolFailureKind},
    wire::{
        McpAnswer, McpQuestion, RunState, ToolOutput,
        run_state::{Decision, GuardrailResults, PlannedCall, ToolGuardrailResult},
        size::encoded_len,
    },
};

/// What the body of a call gave.
pub(super) struct Body {
    pub(super) result: CallResult,
    pub(super) context_patch: Option<Value>,
    /// Why the output is not the tool's own, where the call has failed.
    failure: Option<(ToolFailureKind, String)>,
}

impl Body {
    pub(super) fn output(output: ToolOutput) -> Self {
        Self::of(CallResult::Output(output))
    }

    fn of(result: CallResult) -> Self {
        Self { result, context_patch: None, failure: None }
    }

    /// The call is made elsewhere.
    fn needs_output() -> Self {
        Self::of(CallResult::NeedsOutput)
    }

    /// People are to answer a question first.
    fn needs_input(question: McpQuestion) -> Self {
        Self::of(CallResult::NeedsInput(question))
    }

    pub(super) fn paused(run: RunState) -> Self {
        Self::of(CallResult::Paused(Box::new(run)))
    }
}

/// A call on its way.
struct Call<'c> {
    info: CallInfo,
    index: usize,
    tool: Option<&'c ToolDef>,
    arguments: String,
    decision: Option<Decision>,
    paused: Option<Box<RunState>>,
    /// What people have answered the MCP server that makes it.
    answers: Vec<McpAnswer>,
    /// Its output, where somebody else has made it.
    supplied: Option<ToolOutput>,
    input_guardrails: Vec<ToolGuardrailResult>,
    /// What came of it before its body, if nothing more is to be done.
    settled: Option<CallResult>,
}

/// Makes the calls.
///
/// # Errors
/// [`RunError`]: the first, in call order, of those that end the run. The engine then has what was complete.
pub(super) async fn run<'g, H: Host>(
    env: &'g Env<'_, H>,
    engine: &mut Engine,
    guards: &mut InputGuards<'g>,
    agent: &str,
    turn: u32,
    due: Vec<DueCall>,
) -> Result<Resolution, RunError> {
    let agent = env.agent(agent)?;
    let names: Vec<&str> = due.iter().map(|call| &*call.call.tool).collect();
    env.host.observe(&RunEvent::ToolsCalled { agent: &agent.name, turn, tools: &names });
    let bytes = decided(&due);
    if bytes > 0 {
        env.host.observe(&RunEvent::Decided { agent: &agent.name, turn, bytes });
    }
    let listed = mcp::known_tools(env, agent);
    let response = engine.state().last_response_id.clone().unwrap_or_default();
    let scope = engine.key_scope(|| env.host.idempotency_scope()).to_owned();
    let key = |call_id: &str| env.idempotency_key(&scope, &agent.name, turn, &response, call_id);
    let mut calls: Vec<Call<'_>> = due.into_iter().map(|call| Call::new(agent, &listed, turn, call, key)).collect();
    if let Err(error) = begin(env, engine, agent, &mut calls) {
        let tool_input = calls.into_iter().flat_map(|call| call.input_guardrails).collect();
        let found = GuardrailResults { tool_input, ..GuardrailResults::default() };
        engine.resolve(Resolution::ToolsFailed { outcomes: Vec::new(), found })?;
        return Err(error);
    }
    let ran = bodies(env, engine, guards, &mut calls).await?;
    let (outcomes, ended) = conclude(env, engine, agent, calls, ran);
    match ended {
        None => Ok(Resolution::ToolsRan(outcomes)),
        Some((error, found)) => {
            engine.resolve(Resolution::ToolsFailed { outcomes, found })?;
            Err(error)
        }
    }
}

/// How much people have said about these calls since they were asked, as JSON.
fn decided(due: &[DueCall]) -> usize {
    let said = |call: &DueCall| {
        let message = call.decision.as_ref().and_then(|decision| decision.message.as_deref());
        let message = message.map_or(0, |message| encoded_len(message).unwrap_or_default());
        message + call.answers.last().map_or(0, |answer| encoded_len(answer).unwrap_or_default())
    };
    due.iter().map(said).sum()
}

impl<'c> Call<'c> {
    fn new(agent: &'c AgentDef, listed: &'c [ToolDef], turn: u32, due: DueCall, key: impl Fn(&str) -> String) -> Self {
        let DueCall { index, call, is_known, decision, paused, answers } = due;
        let PlannedCall { tool: name, variant, call_id, arguments } = call;
        let key = key(&call_id);
        let info = CallInfo::new(name, call_id, &*agent.name, turn).with_idempotency_key(key);
        let tool = if is_known { mcp::named(agent, listed, &info.tool, variant) } else { None };
        Self {
            info,
            index,
            tool,
            arguments,
            decision,
            paused,
            answers,
            supplied: None,
            input_guardrails: Vec::new(),
            settled: None,
        }
    }
}

/// A failure of a hook around a tool is the tool's.
fn in_tool(info: &CallInfo, error: RunError) -> RunError {
    match error {
        RunError::Function { source, .. } => {
            RunError::ToolFailed { agent: info.agent.clone(), turn: info.turn, tool: info.tool.clone(), source }
        }
        other => other,
    }
}
