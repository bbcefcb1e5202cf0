//! The bodies of calls, side by side.
//!
//! # Design
//! **Tools begin in the order of the calls, inline ones at once.** An inline body runs to its end
//! when its call is reached; the commands for activities of earlier calls have been issued by then,
//! those for later calls have not. All of them reach the server at the end of the workflow task.
//! That is simple to reason about, and the same on replay.
//!
//! **A cancelled tool is waited for.** A tool changes the world, so the run ends after it has; a
//! cancelled model call is not waited for. A worker learns of a cancellation with its next
//! heartbeat. What a call returns after it was cancelled is in history, but not among the run's
//! items: whether it finishes is a matter of chance.

use std::cell::{Cell, RefCell};

use super::{Body, Call, limits::limits_of, one_call::OneCall};
use crate::{
    drive::{env::Env, host::Host, input_guardrails::InputGuards, join::join_within},
    engine::{Engine, RunError},
    wire::Usage,
};
use futures::{FutureExt, future::LocalBoxFuture};

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
            let body = OneCall { env, scope, tool, call, context, usage }.run(paused).await;
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
