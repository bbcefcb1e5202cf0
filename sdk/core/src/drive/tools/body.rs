//! The bodies of calls, run concurrently.
//!
//! # Design
//! **Tools begin in the order of the calls, inline ones at once.** An inline body runs to its end
//! when its call is reached; the commands for activities of earlier calls have been issued by then,
//! those for later calls have not. All commands reach the server at the end of the workflow task.
//! This order is simple to reason about, and the same on replay.
//!
//! **The loop waits for a cancelled tool.** A tool has external effects, so the run ends after the
//! tool has ended; the loop does not wait for a cancelled model call. A worker learns of a
//! cancellation with its next heartbeat. The result of a call that returns after its cancellation
//! is in history, but not among the run's items: if the call still completes depends on timing.

use std::cell::{Cell, RefCell};

use super::{Body, Call, batch::Batches, limits::limits_of, one_call::CallExecution};
use crate::{
    drive::{env::Env, host::Host, input_guardrails::ParallelInputGuardrails, join::join_within},
    engine::{Engine, RunError},
    wire::Usage,
};
use futures::{FutureExt, future::LocalBoxFuture};

/// The end of the body of a call.
pub(super) enum BodyEnd {
    /// The body has a result.
    Completed(Body),
    /// The call ends the run with this error, or was cancelled because another one does.
    EndsRun(RunError),
    /// The call was settled before, and its body has not run.
    NotRun,
}

/// Runs the bodies. Returns their ends in call order.
///
/// # Errors
/// [`RunError`] of an input guardrail beside the calls.
pub(super) async fn bodies<'g, H: Host>(
    env: &'g Env<'_, H>,
    engine: &mut Engine,
    guards: &mut ParallelInputGuardrails<'g>,
    calls: &mut [Call<'_>],
) -> Result<Vec<BodyEnd>, RunError> {
    let scope = env.host.child(&env.scope);
    let context = RefCell::new(std::mem::take(engine.context_mut()));
    let usage = RefCell::new(Usage::default());
    let (failed, has_cancelled) = (Cell::new(false), Cell::new(false));
    let limits = limits_of(env.config.max_tool_concurrency, calls);
    let batches = Batches::new(env, &scope, calls);
    let mut running: Vec<LocalBoxFuture<'_, BodyEnd>> = Vec::with_capacity(calls.len());
    for (place, call) in calls.iter_mut().enumerate() {
        let (Some(tool), None) = (call.tool, &call.settled) else {
            running.push(std::future::ready(BodyEnd::NotRun).boxed_local());
            continue;
        };
        let (scope, context, usage, batches) = (&scope, &context, &usage, &batches);
        let (failed, has_cancelled) = (&failed, &has_cancelled);
        let paused = call.paused.take();
        let call = &*call;
        let may_wait = limits.may_hold(place);
        let body = async move {
            let cancelled =
                || BodyEnd::EndsRun(RunError::Cancelled { agent: call.info.agent.clone(), turn: call.info.turn });
            if may_wait && failed.get() {
                return cancelled();
            }
            let body = CallExecution { env, scope, tool, call, context, usage, batches }.run(paused).await;
            // If a cancelled body still completes depends on timing, so its result is not used.
            if has_cancelled.get() {
                return cancelled();
            }
            match body {
                Ok(body) => BodyEnd::Completed(body),
                Err(error) => {
                    failed.set(true);
                    BodyEnd::EndsRun(error)
                }
            }
        };
        running.push(body.boxed_local());
    }
    // When one call ends the run, the results of the others are of no use. All of them have begun
    // by then.
    let cancel_others = || {
        let cancels = failed.get() && !has_cancelled.replace(true);
        if cancels {
            env.host.cancel(&scope);
        }
        cancels
    };
    let joined = batches.beside(join_within(running, &limits, cancel_others));
    let ran = guards.beside(env, engine, &scope, joined).await;
    *engine.context_mut() = context.into_inner();
    engine.count(&usage.into_inner());
    ran
}
