//! The phase after the bodies of all calls.
//!
//! # Design
//! **Services are asked first,** about all calls at the same time. Then each call is concluded, in
//! call order: its output guardrails that are functions, and its hooks. If a service does not answer,
//! the run ends, and keeps that the call was made.

use futures::{FutureExt, future::LocalBoxFuture};

use super::{
    Body, Call,
    body::BodyEnd,
    call_guardrails::{CallGuardrails, GuardrailName, Subject},
    in_tool,
    told::told,
};
use crate::{
    agent::{AgentDef, Check, HookedCall},
    drive::{env::Env, guard, host::Host, join::join_in_order, tool_failure},
    engine::{CallResult, Engine, RunError, ToolOutcome},
    tool::{CallInfo, RunContext, ToolDef, ToolGuardrailContext, ToolOutputGuardrail},
    wire::{
        ToolOutput,
        run_state::{GuardrailResults, ToolGuardrailBehavior, ToolGuardrailResult},
    },
};

/// What is kept in place of an output whose guardrail has not answered.
const WITHHELD: &str = "The output was withheld: its guardrail did not answer.";

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
pub(super) async fn conclude<H: Host>(
    guardrails: &CallGuardrails<'_, '_, H>,
    engine: &Engine,
    calls: Vec<Call<'_>>,
    ran: Vec<BodyEnd>,
    checked: Vec<Option<OutputCheck>>,
) -> Concluded {
    let env = guardrails.env;
    let agent = guardrails.agent;
    let run = RunContext::new(engine.state().context.clone());
    let mut outcomes = Vec::with_capacity(calls.len());
    let mut failure = None;
    let mut cancelled = None;
    let mut found = GuardrailResults::default();
    for ((call, ran), checked) in calls.into_iter().zip(ran).zip(checked) {
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
        if let (true, Some(tool), CallResult::Output(output)) = (outcome.ran, tool, &outcome.result) {
            let check = if let Some(check) = checked {
                check
            } else {
                // Only functions: completes without waiting.
                let subject = Subject { info: &info, index, arguments: &arguments, output: Some(output) };
                check_output(guardrails, tool, &subject, output, &run).await
            };
            if let Some(error) = check.unanswered {
                match error {
                    RunError::Cancelled { .. } => cancelled = cancelled.or(Some(error)),
                    error => failure = failure.or(Some(error)),
                }
                outcome.output_guardrails.extend(check.results);
                if withhold_output(env, tool, &mut outcome) {
                    outcomes.push(outcome);
                } else {
                    found.tool_input.append(&mut outcome.input_guardrails);
                    found.tool_output.append(&mut outcome.output_guardrails);
                }
                continue;
            }
            let checked = check.apply(env, &mut outcome).and_then(|()| {
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

/// Replaces an output that was not checked by a text: the call was made, and a later run must not make
/// it again because nothing tells of it. Returns `false` if no output of this kind can be a text.
fn withhold_output<H: Host>(env: &Env<'_, H>, tool: &ToolDef, outcome: &mut ToolOutcome) -> bool {
    let withheld = ToolOutput::from(WITHHELD.to_owned());
    let is_possible = tool.native_kind().is_none_or(|kind| kind.takes(&withheld));
    if is_possible {
        outcome.result = CallResult::Output(told(env, withheld));
    }
    is_possible
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

/// The results of the guardrails after a call.
#[derive(Default)]
pub(super) struct OutputCheck {
    results: Vec<ToolGuardrailResult>,
    /// The message that the model receives instead of the output.
    rejected: Option<String>,
    /// The error that ends the run.
    error: Option<RunError>,
    /// The error of a service or an agent that has no result; it ends the run, too.
    unanswered: Option<RunError>,
}

impl OutputCheck {
    /// Adds the results to an outcome, and replaces an output that a guardrail rejects.
    ///
    /// # Errors
    /// The error that ends the run.
    pub(super) fn apply<H: Host>(self, env: &Env<'_, H>, outcome: &mut ToolOutcome) -> Result<(), RunError> {
        outcome.output_guardrails.extend(self.results);
        if let Some(message) = self.rejected {
            outcome.result = CallResult::Output(told(env, message.into()));
        }
        self.error.or(self.unanswered).map_or(Ok(()), Err)
    }
}

/// Returns the output guardrails of a tool: its own, then the guardrails of the run.
fn output_guardrails<'r, H: Host>(
    env: &Env<'r, H>,
    tool: &'r ToolDef,
) -> impl Iterator<Item = &'r ToolOutputGuardrail> {
    tool.output_guardrails().iter().chain(&env.config.tool_output_guardrails)
}

/// Returns `true` if a call has an output that services check.
pub(super) fn needs_services<H: Host>(env: &Env<'_, H>, calls: &[Call<'_>], ran: &[BodyEnd]) -> bool {
    calls.iter().zip(ran).any(|(call, ran)| output_for_services(env, call, ran).is_some())
}

/// Returns the output of a call that services check, and its tool.
fn output_for_services<'c, H: Host>(
    env: &Env<'_, H>,
    call: &Call<'c>,
    ran: &'c BodyEnd,
) -> Option<(&'c ToolDef, &'c ToolOutput)> {
    let tool = call.tool?;
    match (&call.settled, ran) {
        (None, BodyEnd::Completed(Body { result: CallResult::Output(output), .. }))
            if tool.native_kind().is_none_or(|kind| kind.takes(output))
                && !output_guardrails(env, tool).all(|guardrail| guardrail.check().is_pure()) =>
        {
            Some((tool, output))
        }
        _ => None,
    }
}

/// Checks the outputs of the calls whose guardrails are not all functions. Returns `None` for the
/// others.
pub(super) async fn ask_services<H: Host>(
    guardrails: &CallGuardrails<'_, '_, H>,
    run: &RunContext,
    calls: &[Call<'_>],
    ran: &[BodyEnd],
) -> Vec<Option<OutputCheck>> {
    let mut checks: Vec<LocalBoxFuture<'_, Option<OutputCheck>>> = Vec::with_capacity(calls.len());
    for (call, ran) in calls.iter().zip(ran) {
        let Some((tool, output)) = output_for_services(guardrails.env, call, ran) else {
            checks.push(std::future::ready(None).boxed_local());
            continue;
        };
        let check = async move {
            let Call { info, index, arguments, .. } = call;
            let subject = Subject { info, index: *index, arguments, output: Some(output) };
            Some(check_output(guardrails, tool, &subject, output, run).await)
        };
        checks.push(check.boxed_local());
    }
    join_in_order(checks).await
}

/// Runs the guardrails after a tool, in order, up to the first that rejects the output or fails.
pub(super) async fn check_output<H: Host>(
    guardrails: &CallGuardrails<'_, '_, H>,
    tool: &ToolDef,
    subject: &Subject<'_>,
    output: &ToolOutput,
    run: &RunContext,
) -> OutputCheck {
    let Subject { info, index, arguments, .. } = subject;
    let mut checked = OutputCheck::default();
    for (place, guardrail) in output_guardrails(guardrails.env, tool).enumerate() {
        let name = GuardrailName {
            function: format!("output guardrail {:?} of tool {:?}", guardrail.name(), info.tool),
            effect: format!("output-guardrail-{}-{index}-{place}", info.turn),
        };
        let found = match guardrail.check() {
            Check::Pure(check) => {
                let ctx = ToolGuardrailContext::new(info, arguments, run);
                guard::call(|| name.function, &info.agent, || check(&ctx, output))
            }
            Check::Activity(tool) => guardrails.activity(tool, name, subject, run).await,
            Check::Agent { agent, judge } => guardrails.agent(agent, judge, name, subject, run).await,
        };
        let found = match found {
            Ok(found) => found,
            Err(error) if guardrail.check().is_pure() => {
                checked.error = Some(error);
                break;
            }
            Err(error) => {
                checked.unanswered = Some(error);
                break;
            }
        };
        let result = ToolGuardrailResult {
            guardrail: guardrail.name().to_owned(),
            behavior: found.behavior.clone(),
            output_info: found.output_info,
        };
        checked.results.push(result.clone());
        match found.behavior {
            ToolGuardrailBehavior::Allow => {}
            ToolGuardrailBehavior::RejectContent { message } => {
                checked.rejected = Some(message);
                break;
            }
            ToolGuardrailBehavior::RaiseException => {
                let (agent, tool) = (info.agent.clone(), info.tool.clone());
                checked.error = Some(RunError::ToolOutputGuardrailTripped { agent, tool, result: Box::new(result) });
                break;
            }
        }
    }
    checked
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
