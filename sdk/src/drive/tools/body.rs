//! The bodies of calls, side by side.

use std::cell::{Cell, RefCell};

use futures::{FutureExt, future::LocalBoxFuture};
use serde_json::{Map, Value};

use super::{Body, Call, limits::limits_of, sizes};
use crate::{
    drive::{
        env::Env,
        guard,
        host::{Host, RunEvent, ToolAnswer, ToolEffect},
        input_guardrails::InputGuards,
        join::join_within,
        nested::{AgentCall, AgentInput, call_agent},
        tool_failure::{self, WentWrong},
    },
    engine::{CallResult, Engine, RunError},
    tool::{
        RunContext, StateMap, ToolBinding, ToolContext, ToolDef, named_keys,
        schema::{self, InvalidArguments},
    },
    wire::{RunState, ToolOutput, Usage},
};

/// Runs the bodies; gives what came of each, in call order, nothing for calls that were settled before.
pub(super) async fn bodies<'g, H: Host>(
    env: &'g Env<'_, H>,
    engine: &mut Engine,
    guards: &mut InputGuards<'g>,
    calls: &mut [Call<'_>],
) -> Result<Vec<Option<Result<Body, RunError>>>, RunError> {
    let scope = env.host.child(&env.scope);
    let context = RefCell::new(std::mem::take(engine.context_mut()));
    let usage = RefCell::new(Usage::default());
    let (failed, has_cancelled) = (Cell::new(false), Cell::new(false));
    let limits = limits_of(env.config.max_tool_concurrency, calls);
    let mut running: Vec<LocalBoxFuture<'_, Option<Result<Body, RunError>>>> = Vec::with_capacity(calls.len());
    for (place, call) in calls.iter_mut().enumerate() {
        let (Some(tool), None) = (call.tool, &call.settled) else {
            running.push(std::future::ready(None).boxed_local());
            continue;
        };
        if let Some(output) = call.supplied.take() {
            running.push(std::future::ready(Some(Ok(Body::output(output)))).boxed_local());
            continue;
        }
        let (scope, context, usage) = (&scope, &context, &usage);
        let (failed, has_cancelled) = (&failed, &has_cancelled);
        let paused = call.paused.take();
        let call = &*call;
        let may_wait = limits.may_hold(place);
        let body = async move {
            let cancelled = || RunError::Cancelled { agent: call.info.agent.clone(), turn: call.info.turn };
            if may_wait && failed.get() {
                return Some(Err(cancelled()));
            }
            let body = body(env, scope, tool, call, paused, context, usage).await;
            // Whether a body still finishes once it was told to stop is up to chance.
            if has_cancelled.get() {
                return Some(Err(cancelled()));
            }
            if body.is_err() {
                failed.set(true);
            }
            Some(body)
        };
        running.push(body.boxed_local());
    }
    // When one ends the run, what the others would still do is of no use to anybody. They have all begun by then.
    let cancel_others = || {
        let cancels = failed.get() && !has_cancelled.replace(true);
        if cancels {
            env.host.cancel(&scope);
        }
        cancels
    };
    let ran = guards.beside(env, engine, &scope, join_within(running, &limits, cancel_others)).await;
    *engine.context_mut() = context.into_inner();
    engine.count(&usage.into_inner());
    ran
}

/// Runs one body. A failure that the model is told is an output.
async fn body<H: Host>(
    env: &Env<'_, H>,
    scope: &H::Scope,
    tool: &ToolDef,
    call: &Call<'_>,
    paused: Option<Box<RunState>>,
    context: &RefCell<Map<String, Value>>,
    usage: &RefCell<Usage>,
) -> Result<Body, RunError> {
    let info = &call.info;
    let refused = |wrong: WentWrong, reason: &str| {
        env.host.observe(&RunEvent::CallRefused { call: info, reason });
        tool_failure::settle(env.config, tool, info, wrong).map(Body::output)
    };
    // What runs in the workflow travels to the model, too.
    let fitted = |output: ToolOutput| match tool.output_limit().fit(tool.name(), output) {
        Ok(output) => Ok(Body::output(output)),
        Err(too_large) => refused(WentWrong::from(too_large), "its output is too large"),
    };
    let id = env.effect(format_args!("{}-tool-{}", info.turn, call.index));
    let arguments = match (&paused, schema::parse_arguments(tool.name(), &call.arguments, tool.accepts())) {
        (Some(_), _) => Map::new(),
        (None, Ok(arguments)) => arguments,
        (None, Err(invalid)) => {
            let reason = explained(&invalid);
            return refused(WentWrong::Arguments(invalid), &reason);
        }
    };
    match tool.binding() {
        ToolBinding::Inline(inline) => {
            let run = RunContext::new(context.take());
            let mut ctx = ToolContext::new(info.clone(), run, StateMap::default());
            let function = || format!("inline tool {:?}", tool.name());
            let returned = guard::call(function, &info.agent, || inline(&mut ctx, arguments));
            context.replace(ctx.into_run().into_values());
            match (returned?, tool.redaction()) {
                (Ok(output), redaction) => {
                    let output = match redaction {
                        Some(redaction) => redaction.output(output),
                        None => output,
                    };
                    fitted(output)
                }
                (Err(error), Some(redaction)) => {
                    let error = redaction.error(&error);
                    refused(WentWrong::inline(&error), error.message())
                }
                (Err(error), None) => refused(WentWrong::inline(&error), error.message()),
            }
        }
        ToolBinding::Activity { .. }
        | ToolBinding::RemoteActivity(_)
        | ToolBinding::Workflow(_)
        | ToolBinding::ChildWorkflow(_)
        | ToolBinding::ChildAgent(_) => {
            let context = match tool.binding() {
                // Nothing of it leaves the workflow.
                ToolBinding::Workflow(_) => context.borrow().clone(),
                _ => named_keys(&context.borrow(), tool.context_keys()),
            };
            let stays = matches!(tool.binding(), ToolBinding::Workflow(_));
            if !stays && let Some(wrong) = sizes::of_request(info, &arguments, &context)? {
                return refused(wrong, "its arguments are too large");
            }
            let effect = ToolEffect { tool, info: info.clone(), id, arguments, context };
            match env.host.call_tool(effect, scope).await {
                Ok(ToolAnswer { output, context_patch, usage: used }) => {
                    usage.borrow_mut().add(&used);
                    match foreign_key(tool, context_patch.as_ref()).filter(|_| !stays) {
                        None => Ok(Body { context_patch, ..Body::output(output) }),
                        Some(key) => {
                            let reason = format!(
                                "tool {:?} changes {key:?} in the run context, which is none of the keys it names; \
                                 add it to the tool's context keys",
                                tool.name()
                            );
                            refused(WentWrong::Failed(reason.clone()), &reason)
                        }
                    }
                }
                Err(error) => {
                    let wrong = tool_failure::of_effect(info, error)?;
                    // History says why an activity has failed; what runs in the workflow leaves no trace of that.
                    if matches!(tool.binding(), ToolBinding::Activity { .. }) {
                        return tool_failure::settle(env.config, tool, info, wrong).map(Body::output);
                    }
                    let reason = wrong.message();
                    refused(wrong, &reason)
                }
            }
        }
        ToolBinding::Client => Ok(Body::needs_output()),
        ToolBinding::Agent(agent) => {
            let input = match paused {
                Some(state) => AgentInput::Paused(state),
                None => AgentInput::Text(arguments.get("input").and_then(Value::as_str).unwrap_or_default().to_owned()),
            };
            let now = context.borrow().clone();
            let called = call_agent(env, scope, agent, info, id.to_string(), input, now).await;
            let AgentCall { body, context_patch, usage: used } = called;
            usage.borrow_mut().add(&used);
            let body = match body {
                Err(RunError::Cancelled { agent, turn }) => Err(RunError::Cancelled { agent, turn }),
                Err(error) => {
                    let reason = error.to_string();
                    refused(WentWrong::Agent(error), &reason)
                }
                Ok(Body { result: CallResult::Output(output), .. }) => fitted(output),
                body => body,
            };
            body.map(|body| Body { context_patch, ..body })
        }
    }
}

/// The first key that a tool changes and does not name. It would have been given none of it, and would change what it has not seen.
fn foreign_key<'p>(tool: &ToolDef, patch: Option<&'p Value>) -> Option<&'p str> {
    let mut changed = patch?.as_object()?.keys();
    changed.find(|key| !tool.context_keys().contains(key)).map(|key| &**key)
}

/// What is wrong with arguments, field by field, without the arguments themselves.
fn explained(invalid: &InvalidArguments) -> String {
    let issues: Vec<String> = invalid.issues.iter().map(ToString::to_string).collect();
    if issues.is_empty() { invalid.to_string() } else { format!("{invalid}: {}", issues.join("; ")) }
}
