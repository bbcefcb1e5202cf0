//! The phase after the bodies of all calls.

use super::{Body, Call, body::BodyEnd, in_tool, told::told};
use crate::{
    agent::{AgentDef, HookedCall},
    drive::{env::Env, guard, host::Host, tool_failure},
    engine::{CallResult, Engine, RunError, ToolOutcome},
    tool::{CallInfo, RunContext, ToolDef, ToolGuardrailContext},
    wire::run_state::{GuardrailResults, ToolGuardrailBehavior, ToolGuardrailResult},
};

/// The conclusion of the calls of a response.
pub(super) enum Concluded {
    /// All calls have an outcome.
    Completed(Vec<ToolOutcome>),
    /// A call ends the run.
    EndsRun {
        /// The error of the call.
        error: RunError,
        /// Outcomes of the calls that ran.
        outcomes: Vec<ToolOutcome>,
        /// Results of guardrails for calls without an outcome.
        found: GuardrailResults,
    },
}

/// Concludes the calls: runs the output guardrails and the hooks, and selects the error that ends
/// the run, if any. An error of a call has priority over a cancellation.
pub(super) fn conclude<H: Host>(
    env: &Env<'_, H>,
    engine: &Engine,
    agent: &AgentDef,
    calls: Vec<Call<'_>>,
    ran: Vec<BodyEnd>,
) -> Concluded {
    let run = RunContext::new(engine.state().context.clone());
    let mut outcomes = Vec::with_capacity(calls.len());
    let mut failure = None;
    let mut cancelled = None;
    let mut found = GuardrailResults::default();
    for (call, ran) in calls.into_iter().zip(ran) {
        let Call {
            info,
            index,
            tool,
            arguments,
            decision: _,
            is_permanent: _,
            is_for_good: _,
            keep: _,
            paused: _,
            answers: _,
            supplied: _,
            input_guardrails,
            judgement: _,
            gated: _,
            settled,
        } = call;
        let mut outcome = match (settled, ran) {
            // A call settled without a tool has the message that the tool does not exist as its
            // output.
            (Some(result), _) => {
                // A rejection is an output like any other, except where the API has a form for it.
                let failed = tool.is_none_or(|tool| tool.native_kind().is_some());
                ToolOutcome { failed, input_guardrails, ..ToolOutcome::new(index, result) }
            }
            (None, BodyEnd::Completed(Body { result, context_patch, side_data, failure })) => {
                let ran = !matches!(result, CallResult::NeedsOutput | CallResult::NeedsInput(_));
                ToolOutcome {
                    ran,
                    failed: failure.is_some(),
                    refused: failure.as_deref().and_then(tool_failure::refused_arguments),
                    context_patch,
                    side_data,
                    input_guardrails,
                    ..ToolOutcome::new(index, result)
                }
            }
            (None, BodyEnd::EndsRun(error)) => {
                found.tool_input.extend(input_guardrails);
                match error {
                    RunError::Cancelled { .. } => cancelled = cancelled.or(Some(error)),
                    error => failure = failure.or(Some(error)),
                }
                continue;
            }
            (None, BodyEnd::NotRun) => unreachable!("every call is settled before its body, or has one"),
        };
        if let Some(error) = tool.and_then(|tool| without_form(tool, &info, &outcome)) {
            failure = failure.or(Some(error));
            found.tool_input.append(&mut outcome.input_guardrails);
            continue;
        }
        if let (true, Some(tool), CallResult::Output(_)) = (outcome.ran, tool, &outcome.result) {
            let checked = check_output(env, tool, &info, &arguments, &run, &mut outcome).and_then(|()| {
                tool_ended(env, engine, agent, &HookedCall::new(&info, &arguments), &outcome)
                    .map_err(|error| in_tool(&info, error))
            });
            if let Err(error) = checked {
                failure = failure.or(Some(error));
                found.tool_input.append(&mut outcome.input_guardrails);
                found.tool_output.append(&mut outcome.output_guardrails);
                continue;
            }
        }
        outcomes.push(outcome);
    }
    match failure.or(cancelled) {
        None => Concluded::Completed(outcomes),
        Some(error) => {
            // The calls that wait for a decision are dropped.
            outcomes.retain(|outcome| outcome.ran);
            Concluded::EndsRun { error, outcomes, found }
        }
    }
}

/// Returns the error for an output that no output of its kind of call can hold: what is no image,
/// of a computer.
fn without_form(tool: &ToolDef, info: &CallInfo, outcome: &ToolOutcome) -> Option<RunError> {
    let CallResult::Output(output) = &outcome.result else { return None };
    if tool.native_kind()?.takes(output) {
        return None;
    }
    let text = output.to_text();
    let text = tool_failure::truncated_reason(&text);
    let source = format!("its output must be an image, the screen after the call; it is {text:?}").into();
    let (agent, tool) = (info.agent.clone(), info.tool.clone());
    Some(RunError::ToolFailed { agent, turn: info.turn, tool, source })
}

/// Runs the guardrails after a tool; replaces an output that one rejects.
///
/// # Errors
/// [`RunError::ToolOutputGuardrailTripped`].
pub(super) fn check_output<H: Host>(
    env: &Env<'_, H>,
    tool: &ToolDef,
    info: &CallInfo,
    arguments: &str,
    run: &RunContext,
    outcome: &mut ToolOutcome,
) -> Result<(), RunError> {
    let CallResult::Output(output) = &mut outcome.result else { return Ok(()) };
    for guardrail in tool.output_guardrails().iter().chain(&env.config.tool_output_guardrails) {
        let function = || format!("output guardrail {:?} of tool {:?}", guardrail.name(), info.tool);
        let ctx = ToolGuardrailContext::new(info, arguments, run);
        let found = guard::call(function, &info.agent, || guardrail.check(&ctx, output))?;
        let result = ToolGuardrailResult {
            guardrail: guardrail.name().to_owned(),
            behavior: found.behavior.clone(),
            output_info: found.output_info,
        };
        outcome.output_guardrails.push(result.clone());
        match found.behavior {
            ToolGuardrailBehavior::Allow => {}
            ToolGuardrailBehavior::RejectContent { message } => {
                *output = told(env, message.into());
                return Ok(());
            }
            ToolGuardrailBehavior::RaiseException => {
                let (agent, tool) = (info.agent.clone(), info.tool.clone());
                return Err(RunError::ToolOutputGuardrailTripped { agent, tool, result: Box::new(result) });
            }
        }
    }
    Ok(())
}

fn tool_ended<H: Host>(
    env: &Env<'_, H>,
    engine: &Engine,
    agent: &AgentDef,
    call: &HookedCall<'_>,
    outcome: &ToolOutcome,
) -> Result<(), RunError> {
    let CallResult::Output(output) = &outcome.result else { return Ok(()) };
    env.tell(engine, &agent.name, "on_tool_end", |hooks, ctx| hooks.on_tool_end(ctx, &agent.name, call, output))
}
