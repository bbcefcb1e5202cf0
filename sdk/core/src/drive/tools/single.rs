//! One call of one tool outside of a run: with the same checks, the same body, and the same
//! messages for the model.
//!
//! There are no hooks, and no approval can be requested: a call that needs a decision is made only
//! if the caller has already approved it.

use std::cell::RefCell;

use serde_json::{Map, Value};

use super::{
    Body, Call,
    after::check_output,
    batch::Batches,
    before::{check_input, decide},
    call_guardrails::{CallGuardrails, Subject},
    one_call::CallExecution,
};
use crate::{
    agent::{Agent, Graph},
    drive::{config::RunConfig, env::Env, host::Host},
    engine::{CallResult, RunError, ToolOutcome, merge_patch},
    tool::{CallInfo, RunContext, ToolDef, ToolFailure},
    wire::{SideData, ToolOutput, run_state::Decision},
};

/// A call to make.
#[derive(Debug)]
pub struct SingleCall {
    /// The call.
    pub info: CallInfo,
    /// The arguments, as the model wrote them.
    pub arguments: String,
    /// The values of the run context.
    pub context: Map<String, Value>,
    /// `true` if the call is already approved.
    pub is_approved: bool,
}

/// The result of a single call.
#[derive(Debug)]
pub struct SingleAnswer {
    /// The output for the model.
    pub output: ToolOutput,
    /// The failure, if the call failed.
    pub failure: Option<ToolFailure>,
    /// The values of the run context after the call.
    pub context: Map<String, Value>,
    /// Data that the model does not receive.
    pub side_data: Option<Box<SideData>>,
}

/// The error of a call that has no output for the model.
#[derive(Debug)]
pub enum SingleError {
    /// The call waits for a decision or an answer of people.
    Waits,
    /// The call failed with an error that would have ended a run.
    RunEnded(RunError),
}

impl From<RunError> for SingleError {
    fn from(error: RunError) -> Self {
        Self::RunEnded(error)
    }
}

/// Makes the call.
///
/// # Errors
/// [`SingleError`].
pub async fn call_single<H: Host>(host: &H, tool: &ToolDef, single: SingleCall) -> Result<SingleAnswer, SingleError> {
    let SingleCall { info, arguments, context, is_approved } = single;
    let agent = Agent::new(&*info.agent);
    let (graph, config) = (Graph::new(agent.def()), RunConfig::default());
    let env = Env::new(host, &graph, &config, &host.scope(), String::new());
    let mut call = Call {
        info,
        index: 0,
        tool: Some(tool),
        arguments,
        decision: is_approved.then(Decision::approve),
        is_permanent: false,
        is_for_good: false,
        keep: None,
        paused: None,
        answers: Vec::new(),
        supplied: None,
        input_guardrails: Vec::new(),
        judgement: None,
        gated: None,
        settled: None,
    };
    let guardrails = CallGuardrails { env: &env, scope: &env.scope, agent: agent.def(), key_scope: None };
    let run = Box::new(RunContext::new(context.clone()));
    if let Some(check) = decide(&env, &run, &mut call)? {
        check_input(&guardrails, check, &mut call, &run).await?;
    }
    match call.settled.take() {
        None => {}
        Some(CallResult::Output(output)) => {
            return Ok(SingleAnswer { output, failure: None, context, side_data: None });
        }
        Some(_) => return Err(SingleError::Waits),
    }
    let (context, usage) = (RefCell::new(context), RefCell::default());
    let batches = Batches::new(&env, &env.scope, std::slice::from_ref(&call));
    let (scope, call, context_of, usage) = (&env.scope, &call, &context, &usage);
    let body = CallExecution { env: &env, scope, tool, call, context: context_of, usage, batches: &batches };
    let Body { result, context_patch, side_data, failure } = body.run(None).await?;
    let mut context = context.into_inner();
    let mut outcome = ToolOutcome { ran: true, ..ToolOutcome::new(0, result) };
    if let CallResult::Output(output) = &outcome.result {
        let subject = Subject { info: &call.info, index: 0, arguments: &call.arguments, output: Some(output) };
        let run = RunContext::new(context.clone());
        check_output(&guardrails, tool, &subject, output, &run).await.apply(&env, &mut outcome)?;
    }
    let CallResult::Output(output) = outcome.result else { return Err(SingleError::Waits) };
    if let Some(patch) = context_patch {
        merge_patch(&mut context, patch);
    }
    Ok(SingleAnswer { output, failure: failure.map(|failure| *failure), context, side_data })
}
