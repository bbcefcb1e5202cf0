//! The body of an activity tool in this process: its attempts, with the time limits, retries and
//! redaction of an activity.

use std::{future::ready, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use temporal_agents_core::{
    drive::{ToolAnswer, ToolEffect, ToolEffectError, warn_of_attempt},
    tool::{
        ActivityBody, DeltaTransport, Heartbeat, RunContext, ToolActivityOptions, ToolContext, ToolError, ToolFailure,
        ToolFailureKind,
    },
    wire::RecordedFailure,
};
use tokio::time::{error::Elapsed, sleep};
use tokio_util::sync::CancellationToken;

use super::{
    body::{self, Ended},
    host::InlineHost,
    observed_call::ObservedCall,
};
use crate::{
    activity::{
        answer::{CheckedAnswer, Returned, answer},
        tool::env_variable_error,
    },
    secret::{Destination, worker_env::Given},
};

impl InlineHost {
    /// Runs the body of an activity tool in this process, with as many attempts as its options
    /// allow.
    pub(super) async fn activity(
        &self,
        body: &ActivityBody,
        options: &ToolActivityOptions,
        call: ToolEffect<'_>,
        scope: &CancellationToken,
        observed: &ObservedCall<'_>,
    ) -> Result<ToolAnswer, ToolEffectError> {
        let (mut attempt, mut given, mut settings) = (1, Given::default(), call.tool.settings().clone());
        let env = self.resources.providers.env.to([Destination::tool(call.tool.name())]);
        if let Err(withheld) = env.fill_members(&mut settings, &mut given) {
            let error = env_variable_error(call.tool, &withheld);
            warn_of_attempt(&call.info, None, error.message());
            return Err(error.into());
        }
        let deltas: Option<Arc<dyn DeltaTransport>> = self
            .deltas(call.id.path(), call.tool)
            .map(|deltas| if given.is_empty() { deltas } else { deltas.with_secrets(given.redaction()) })
            .map(|deltas| Arc::new(deltas) as _);
        loop {
            observed.begins(attempt);
            let info = call.info.clone().at_attempt(attempt).with_run_id(&*self.run);
            let states =
                self.attempt_states.as_ref().map_or_else(|| self.resources.states.clone(), |states| states(&info));
            let ctx = ToolContext::new(info, RunContext::new(call.context.clone()))
                .with_states(states)
                .with_settings(settings.clone())
                .with_deltas(deltas.clone())
                .with_heartbeat(Arc::new(Beat {
                    scope: scope.clone(),
                    is_continued_later: self.is_continued_later.clone(),
                }));
            let (limit, arguments) = (options.start_to_close, call.arguments.clone());
            let measured = observed.execution(call.tool.name());
            let running = body::run_within(limit, &self.bodies, body, ctx, arguments, observed.context(attempt));
            let (error, reason) = match running.await {
                Ok(Ended { outcome, mut ctx }) => {
                    let info = ctx.info().clone();
                    let side_data = ctx.take_side_data();
                    let returned = Returned { outcome, patch: ctx.into_run().patch(), side_data };
                    let answered = answer(call.tool, &self.resources.spills, &info, returned, &given).await;
                    if let Some(measured) = measured {
                        measured.end(answered.as_ref().err().map(|error| error.failure().activity_failure_type()));
                    }
                    match answered {
                        Ok(CheckedAnswer { output, context_patch, side_data }) => {
                            return Ok(ToolAnswer { context_patch, side_data, ..ToolAnswer::new(output) });
                        }
                        Err(error) => {
                            let reason = error.with_causes();
                            (error, reason)
                        }
                    }
                }
                Err(elapsed) => {
                    // Before the pause, which is no part of the attempt.
                    drop(measured);
                    let reason = format!("not finished within {limit:?}, its start_to_close");
                    (not_in_time(options, elapsed), reason)
                }
            };
            let is_last = attempt >= options.attempts() || !error.is_transient();
            let pause = (!is_last).then(|| self.patience.pause(attempt));
            warn_of_attempt(&call.info.clone().at_attempt(attempt), pause, &reason);
            let Some(pause) = pause else { return Err(error.into()) };
            observed.fails(attempt, || of_tool_error(&error), pause);
            if scope.run_until_cancelled(sleep(pause)).await.is_none() {
                return Err(ToolEffectError::Cancelled);
            }
            attempt += 1;
        }
    }
}

/// Returns the failure of an attempt, as an activity would record it.
fn of_tool_error(error: &ToolError) -> RecordedFailure {
    RecordedFailure::new(error.failure().activity_failure_type(), error.failure().message.clone())
}

/// Returns the failure of an attempt that did not end in time.
fn not_in_time(options: &ToolActivityOptions, elapsed: Elapsed) -> ToolError {
    let message = elapsed.to_string();
    let failure = if options.idempotent {
        ToolFailure::timed_out(options.start_to_close, message)
    } else {
        ToolFailure::new(ToolFailureKind::OutcomeUnknown, message)
    };
    ToolError::interrupted(failure).caused_by(elapsed)
}

struct Beat {
    scope: CancellationToken,
    is_continued_later: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl Heartbeat for Beat {
    fn is_cancelled(&self) -> bool {
        self.scope.is_cancelled()
    }

    fn is_cancelled_for_good(&self) -> BoxFuture<'_, bool> {
        let is_continued = self.is_continued_later.as_ref().is_some_and(|is_continued| is_continued());
        ready(self.scope.is_cancelled() && !is_continued).boxed()
    }
}
