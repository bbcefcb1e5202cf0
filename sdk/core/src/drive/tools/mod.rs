//! The tool calls of one response: the phase before the bodies, the bodies, and the phase after
//! them.
//!
//! All three run in call order. Bodies run together: inline ones at once, agents in a loop of their
//! own, all others through the host. When one ends the run, the others are cancelled and awaited,
//! but their results are not used.
//!
//! # Design
//! **A tool in an activity sees the run context as it was when its call began:** with the changes
//! of inline tools of earlier calls of the same response, and without the patches of activities,
//! which apply after all calls, in call order. In the Agents SDK, calls of one turn share one
//! object, and the changes of other calls that they see depend on timing.

mod after;
mod batch;
mod before;
mod body;
mod call_guardrails;
mod gate;
mod limits;
mod one_call;
mod single;
mod sizes;
mod told;

use serde_json::Value;

pub use self::single::{SingleAnswer, SingleCall, SingleError, call_single};
use self::{
    after::{Concluded, conclude},
    body::bodies,
    call_guardrails::CallGuardrails,
};
use super::{
    env::Env,
    host::{Host, LoopEvent},
    input_guardrails::ParallelInputGuardrails,
    kept, mcp, notes,
};
use crate::{
    agent::AgentDef,
    engine::{CallResult, DueCall, Engine, Resolution, RunError, ToolOutcome},
    gate::Judgement,
    tool::{CallInfo, RunContext, ToolDef, ToolFailure},
    wire::{
        McpAnswer, McpQuestion, RunState, SideData, ToolOutput,
        event::GatedCallNote,
        kept_decision::NewDecision,
        run_state::{Decision, GuardrailResults, PlannedCall, ToolGuardrailResult},
        size::encoded_len,
    },
};

/// The result of the body of a call.
pub(super) struct Body {
    pub(super) result: CallResult,
    pub(super) context_patch: Option<Value>,
    /// Data that the model does not receive.
    pub(super) side_data: Option<Box<SideData>>,
    /// The failure, if the call failed and its output is not the tool's own.
    failure: Option<Box<ToolFailure>>,
}

impl Body {
    pub(super) fn output(output: ToolOutput) -> Self {
        Self::of(CallResult::Output(output))
    }

    fn of(result: CallResult) -> Self {
        Self { result, context_patch: None, side_data: None, failure: None }
    }

    /// Creates the result of a call that is executed elsewhere and whose output is pending.
    fn needs_output() -> Self {
        Self::of(CallResult::NeedsOutput)
    }

    /// Creates the result of a call that waits for people to answer a question.
    fn needs_input(question: McpQuestion) -> Self {
        Self::of(CallResult::NeedsInput(question))
    }

    pub(super) fn paused(run: RunState) -> Self {
        Self::of(CallResult::Paused(Box::new(run)))
    }
}

/// A call in progress.
struct Call<'c> {
    info: CallInfo,
    index: usize,
    tool: Option<&'c ToolDef>,
    arguments: String,
    decision: Option<Decision>,
    /// `true` if the decision is a permanent one on the tool.
    is_permanent: bool,
    /// `true` if the decision is one on the call, made for all later calls, too.
    is_for_good: bool,
    /// The decision, if it is to be kept beyond the run.
    keep: Option<NewDecision>,
    paused: Option<Box<RunState>>,
    /// Answers of people to the questions of the MCP server that executes the call.
    answers: Vec<McpAnswer>,
    /// The output of a call that was executed elsewhere.
    supplied: Option<ToolOutput>,
    input_guardrails: Vec<ToolGuardrailResult>,
    /// What the judge of the gate says about the call.
    judgement: Option<Judgement>,
    /// What the gate says about the call, if it does not let it pass.
    gated: Option<GatedCallNote>,
    /// The result of a call that needs no body.
    settled: Option<CallResult>,
}

/// Makes the calls.
///
/// # Errors
/// [`RunError`]: the first, in call order, of those that end the run. The engine then has the
/// results of the completed calls.
pub(super) async fn run<'g, H: Host>(
    env: &'g Env<'_, H>,
    engine: &mut Engine,
    guards: &mut ParallelInputGuardrails<'g>,
    agent: &str,
    turn: u32,
    due: Vec<DueCall>,
) -> Result<Resolution, RunError> {
    let agent = env.agent(agent)?;
    let names: Vec<&str> = due.iter().map(|call| &*call.call.tool).collect();
    let call_ids: Vec<&str> = due.iter().map(|call| &*call.call.call_id).collect();
    let (path, tools, call_ids) = (&*env.path, &*names, &*call_ids);
    env.host.observe(&LoopEvent::ToolsCalled { path, agent: &agent.name, turn, tools, call_ids });
    let bytes = decided(&due);
    if bytes > 0 {
        env.host.observe(&LoopEvent::Decided { agent: &agent.name, turn, bytes });
    }
    let listed = mcp::known_tools(env, agent);
    let response = engine.state().last_response_id.clone().unwrap_or_default();
    let scope = engine.key_scope(|| env.host.idempotency_scope()).to_owned();
    let info = |tool: String, call_id: String| {
        let key = env.idempotency_key(&scope, &agent.name, turn, &response, &call_id);
        let info = CallInfo::new(tool, call_id, &*agent.name, turn).with_idempotency_key(key);
        info.with_session_and_parent(env.session_id.clone(), env.parent_call.clone())
    };
    let mut calls: Vec<Call<'_>> = due.into_iter().map(|call| Call::new(agent, &listed, call, info)).collect();
    if let Err(error) = gate::judge(env, turn, &mut calls).await {
        let found = GuardrailResults::default();
        engine.resolve(Resolution::ToolsFailed { outcomes: Vec::new(), found })?;
        return Err(error);
    }
    let guard_scope = env.host.child(&env.scope);
    let guardrails = CallGuardrails { env, scope: &guard_scope, agent, key_scope: engine.state().key_scope.clone() };
    let begun = match before::decide_all(&guardrails, engine, &mut calls).await {
        Ok(left) if left.is_empty() => Ok(()),
        Ok(left) => {
            let context = RunContext::new(engine.state().context.clone());
            let asking = before::ask_services(&guardrails, &context, &mut calls, left);
            // If a guardrail of the input trips meanwhile, the engine has its result.
            guards.beside(env, engine, &guard_scope, asking).await?
        }
        Err(error) => Err(error),
    };
    if let Err(error) = begun.and_then(|()| before::tell_start(env, engine, agent, &calls)) {
        engine.resolve(not_begun(calls))?;
        return Err(error);
    }
    notes::gated(env, &agent.name, turn, calls.iter_mut().filter_map(|call| call.gated.take()).collect());
    let decided = calls.iter_mut().filter_map(|call| Some((call.index, call.info.clone(), call.keep.take()?)));
    if let Err(error) = kept::keep(env, turn, decided).await {
        engine.resolve(not_begun(calls))?;
        return Err(error);
    }
    let call_ids: Vec<(usize, String)> = calls.iter().map(|call| (call.index, call.info.call_id.clone())).collect();
    let ran = bodies(env, engine, guards, &mut calls).await;
    notes::calls_failed(env, &agent.name, turn);
    let ran = ran?;
    let checked = if after::needs_services(env, &calls, &ran) {
        let context = RunContext::new(engine.state().context.clone());
        let asking = after::ask_services(&guardrails, &context, &calls, &ran);
        guards.beside(env, engine, &guard_scope, asking).await?
    } else {
        calls.iter().map(|_| None).collect()
    };
    let concluded = conclude(&guardrails, engine, calls, ran, checked).await;
    let (Concluded::Completed(outcomes) | Concluded::EndsRun { outcomes, .. }) = &concluded;
    notes::side_data(env, &agent.name, turn, unshown_data(env, &call_ids, outcomes));
    match concluded {
        Concluded::Completed(outcomes) => Ok(Resolution::ToolsRan(outcomes)),
        Concluded::EndsRun { error, outcomes, found } => {
            engine.resolve(Resolution::ToolsFailed { outcomes, found })?;
            Err(error)
        }
    }
}

/// Returns the end of calls whose bodies have not begun, with the results of their guardrails.
fn not_begun(calls: Vec<Call<'_>>) -> Resolution {
    let tool_input = calls.into_iter().flat_map(|call| call.input_guardrails).collect();
    let found = GuardrailResults { tool_input, ..GuardrailResults::default() };
    Resolution::ToolsFailed { outcomes: Vec::new(), found }
}

/// Returns the data for other readers than the model that no recorded effect shows, by the id of
/// the call.
fn unshown_data<H: Host>(
    env: &Env<'_, H>,
    call_ids: &[(usize, String)],
    outcomes: &[ToolOutcome],
) -> Vec<(String, SideData)> {
    let shown = env.shown.borrow();
    let data_of = |outcome: &ToolOutcome| {
        let data = outcome.side_data.as_deref()?;
        let (_, call_id) = call_ids.iter().find(|(index, _)| *index == outcome.index)?;
        (!shown.contains(call_id)).then(|| (call_id.clone(), data.clone()))
    };
    outcomes.iter().filter_map(data_of).collect()
}

/// Returns the size of the messages and answers of people to these calls, in bytes of JSON. Of the
/// answers to a call, only the latest one is counted.
fn decided(due: &[DueCall]) -> usize {
    let said = |call: &DueCall| {
        let message = call.decision.as_ref().and_then(|decision| decision.message.as_deref());
        let message = message.map_or(0, |message| encoded_len(message).unwrap_or_default());
        message + call.answers.last().map_or(0, |answer| encoded_len(answer).unwrap_or_default())
    };
    due.iter().map(said).sum()
}

impl<'c> Call<'c> {
    fn new(
        agent: &'c AgentDef,
        listed: &'c [ToolDef],
        due: DueCall,
        info: impl Fn(String, String) -> CallInfo,
    ) -> Self {
        let DueCall { index, call, is_known, decision, is_permanent, is_for_good, paused, answers } = due;
        let PlannedCall { tool: name, variant, call_id, arguments, native: _ } = call;
        let info = info(name, call_id);
        let tool = if is_known { mcp::named(agent, listed, &info.tool, variant) } else { None };
        Self {
            info,
            index,
            tool,
            arguments,
            decision,
            is_permanent,
            is_for_good,
            keep: None,
            paused,
            answers,
            supplied: None,
            input_guardrails: Vec::new(),
            judgement: None,
            gated: None,
            settled: None,
        }
    }
}

/// Converts the failure of a hook around a tool to a failure of the tool.
fn in_tool(info: &CallInfo, error: RunError) -> RunError {
    match error {
        RunError::Function { source, .. } => {
            RunError::ToolFailed { agent: info.agent.clone(), turn: info.turn, tool: info.tool.clone(), source }
        }
        other => other,
    }
}
