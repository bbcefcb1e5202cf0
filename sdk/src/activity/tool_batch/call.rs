//! One call in a batch: its task, its time limit, and its end.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use temporal_agents_core::{
    tool::{Heartbeat, ToolError, ToolFailure, ToolFailureKind},
    wire::{
        ToolRequest,
        tool_batch::{BatchedFailure, BatchedOutcome, TIMEOUT},
        tool_error::FailureDetail,
    },
};
use temporalio_sdk::activities::ActivityContext;
use tokio::{
    task::{JoinError, JoinHandle},
    time::{sleep, timeout},
};
use tracing::Instrument;

use super::{
    super::{answer::CheckedAnswer, failed_attempt::ToolAttempt, tool::GRACE, tool_versions::ToolVersions},
    Attempt,
    heartbeats::BatchHeartbeats,
};
use crate::deltas::{AttemptDeltas, WindowCarrier};

/// Message of a call that did not end within its time limit: that of the server for an activity.
const TIMED_OUT: &str = "activity StartToClose timeout";

/// A call that an attempt makes.
pub(super) struct OpenCall {
    pub(super) index: u32,
    /// Id of the activity that the call would have on its own.
    pub(super) id: String,
    pub(super) versions: Arc<ToolVersions>,
    pub(super) request: ToolRequest,
}

/// The end of a call in an attempt.
pub(super) enum CallEnd {
    Ended(Box<BatchedOutcome>),
    /// The call was cancelled, and did not end in the time that it had for that.
    Stopped,
}

type Returned = Result<CheckedAnswer, ToolError>;

impl OpenCall {
    /// Makes the call. Returns its number and its end.
    pub(super) async fn make(self, attempt: &Attempt) -> (u32, CallEnd) {
        let (index, limit) = (self.index, attempt.time_limit);
        let of_call = ToolAttempt::new(attempt.ctx.info(), &self.request);
        let beat = Arc::new(CallBeat::default());
        let performed = self.perform(Arc::clone(&attempt.ctx), Arc::clone(&attempt.heartbeats), Arc::clone(&beat));
        let mut body = AbortOnDrop(tokio::spawn(performed.in_current_span()));
        let ended = |returned| (index, CallEnd::Ended(Box::new(attempt.outcome(index, &of_call, returned))));
        tokio::select! {
            biased;
            returned = &mut body.0 => return ended(returned),
            () = attempt.stop.cancelled() => beat.cancel(),
            () = sleep(limit) => {
                beat.cancel();
                body.end_later();
                of_call.warn_of_timeout(limit);
                return (index, CallEnd::Ended(Box::new(attempt.timed_out(index))));
            }
        }
        match timeout(GRACE, &mut body.0).await {
            Ok(returned) => ended(returned),
            Err(_) => (index, CallEnd::Stopped),
        }
    }

    async fn perform(
        self,
        ctx: Arc<ActivityContext>,
        heartbeats: Arc<BatchHeartbeats>,
        beat: Arc<CallBeat>,
    ) -> Returned {
        let Self { index: _, id, versions, request } = self;
        let Some(activity) = versions.version_of(&request) else {
            return Err(ToolError::failed("the worker does not have the tool"));
        };
        let carrier: Arc<dyn WindowCarrier> = heartbeats;
        let deltas = AttemptDeltas::start_within(activity.deltas(), &request.agent, &ctx, &id, carrier);
        let call_id = request.call_id.clone();
        let mut call = activity.begin(&ctx, request, beat, deltas)?;
        let outcome = call.run(activity).await;
        let answer = call.end(activity, outcome).await?;
        activity.conversations.returned(ctx.info(), &id, &call_id, &answer.output);
        Ok(answer)
    }
}

impl Attempt {
    fn outcome(&self, index: u32, of_call: &ToolAttempt, returned: Result<Returned, JoinError>) -> BatchedOutcome {
        // A panic of the body is a result: this is one outside of it, as in a store for outputs.
        // Its message may hold what the tool redacts.
        let returned = returned.unwrap_or_else(|_| {
            let message = "the call panicked outside of its body";
            Err(ToolError::interrupted(ToolFailure::new(ToolFailureKind::Panicked, message)))
        });
        let error = match returned {
            Ok(CheckedAnswer { output, context_patch, side_data }) => {
                return BatchedOutcome {
                    attempt: self.ctx.info().attempt,
                    output: Some(output),
                    context_patch,
                    side_data,
                    earlier_failure: self.heartbeats.earlier_failure(index),
                    ..BatchedOutcome::not_made(index)
                };
            }
            Err(error) => error,
        };
        of_call.warn(&error);
        let failure = error.failure();
        let failure = BatchedFailure {
            failure_type: failure.activity_failure_type().to_owned(),
            message: failure.message.clone(),
            detail: failure.detail(),
            is_retried: error.is_transient() && !self.is_last,
        };
        self.failed(index, failure)
    }

    fn timed_out(&self, index: u32) -> BatchedOutcome {
        let failure = BatchedFailure {
            failure_type: TIMEOUT.to_owned(),
            message: TIMED_OUT.to_owned(),
            detail: FailureDetail::default(),
            is_retried: !self.is_last,
        };
        self.failed(index, failure)
    }
}

/// Reports to a tool that its call was cancelled, also if only this one was.
#[derive(Default)]
struct CallBeat(AtomicBool);

impl CallBeat {
    fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Heartbeat for CallBeat {
    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The task of a body, which ends with this value.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T: Send + 'static> AbortOnDrop<T> {
    /// Gives the body of a call that has timed out the time to clean up, without a wait for it.
    fn end_later(mut self) {
        tokio::spawn(async move { timeout(GRACE, &mut self.0).await.is_ok() });
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
