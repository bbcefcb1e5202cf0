//! The activity that makes several tool calls: all at once, each in a task of its own with its own
//! time limit, so that a call that panics, blocks its thread or hangs delays no other.
//!
//! Each call that has ended is in the next heartbeat, which is sent at once. The next attempt makes
//! only the calls that have not ended, or have failed with an error that another attempt may not
//! have. After the last attempt, the reply has an outcome for each call.
//!
//! # Design
//! **An attempt waits for all of its calls.** One that has failed is made again by the next
//! attempt, not within this one: the server counts the attempts, and the pauses between them are
//! those of the calls on their own.
//!
//! **A result that has no room is not kept.** All outcomes of a batch share one payload. The call
//! of an outcome above that limit is left out of the reply, and the workflow makes it again on its
//! own; the tools of a batch are idempotent. Tools with outputs of that size do not gain from
//! batches.

mod call;
mod heartbeats;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt, stream::FuturesUnordered};
use temporal_agents_core::wire::{
    WIRE_VERSION,
    failure::TOOL_FAILS_RUN,
    tool_batch::{
        BatchedFailure, BatchedOutcome, TOOLS_UNFINISHED, ToolBatchDetails, ToolBatchReply, ToolBatchRequest, call_in,
    },
    tool_error::FailureDetail,
};
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio_util::sync::CancellationToken;

use self::{
    call::{CallEnd, OpenCall},
    heartbeats::BatchHeartbeats,
};
use super::{
    failed_attempt::{ToolAttempt, pause_after},
    heartbeat::{BeatDetails, HeartbeatSender},
    lost_attempt::lost_attempt,
    message::Request,
    tool::read,
    tool_versions::ToolVersions,
};

/// Failure type and message of a call whose only remaining attempt the worker has abandoned: those
/// that Temporal's SDK reports for an activity.
const WORKER_SHUTDOWN: (&str, &str) =
    ("WorkerShutdown", "Worker is shutting down and this activity did not complete in time");

/// The tools of a worker, for calls that run in one activity.
pub(crate) struct ToolBatchActivity {
    /// The versions of each tool, by its name.
    tools: BTreeMap<String, Arc<ToolVersions>>,
    beater: HeartbeatSender,
}

/// An attempt at the calls.
struct Attempt {
    ctx: Arc<ActivityContext>,
    heartbeats: Arc<BatchHeartbeats>,
    /// Longest time of one attempt at each call.
    time_limit: Duration,
    is_last: bool,
    /// Cancelled when the calls must end.
    stop: CancellationToken,
}

impl ToolBatchActivity {
    pub(crate) fn new(tools: BTreeMap<String, Arc<ToolVersions>>, beater: HeartbeatSender) -> Self {
        Self { tools, beater }
    }

    /// Makes the calls that earlier attempts have not ended.
    pub(crate) async fn run(
        &self,
        ctx: &Arc<ActivityContext>,
        request: &Request,
    ) -> Result<ToolBatchReply, ActivityError> {
        let request: ToolBatchRequest = read("tool batch request", ctx, request)?;
        let heartbeats = BatchHeartbeats::new(ctx);
        let attempt = Attempt {
            ctx: Arc::clone(ctx),
            heartbeats: Arc::clone(&heartbeats),
            time_limit: Duration::from_millis(request.time_limit_ms),
            is_last: pause_after(ctx.info()).is_none(),
            stop: heartbeats.stop().child_token(),
        };
        let has_deadline = request.schedule_to_close_ms.is_some();
        let end_the_run = request.calls.iter().filter(|call| call.fails_run).map(|call| call.index).collect();
        let calls = self.open_calls(&attempt, request);
        attempt.warn_of_lost_attempt(&calls).await;
        let _until_dropped = self.beater.start(ctx, Arc::<BatchHeartbeats>::clone(&heartbeats) as Arc<dyn BeatDetails>);
        let (stopped, ends_run) = attempt.make(calls, &end_the_run).await;
        if ends_run {
            return Ok(attempt.cancelled_by_one(stopped));
        }
        if !stopped.is_empty() {
            return attempt.broken_off(stopped).await;
        }
        let reply = attempt.reply();
        if reply.outcomes.iter().any(BatchedOutcome::is_retried) {
            heartbeats.leave().await;
            return Err(unfinished(reply.outcomes, has_deadline));
        }
        Ok(reply)
    }

    /// Returns the calls that this attempt makes. A call of a tool that the worker does not have is
    /// left to the workflow.
    fn open_calls(&self, attempt: &Attempt, request: ToolBatchRequest) -> Vec<OpenCall> {
        let mut calls = Vec::new();
        for (index, request) in request.into_requests() {
            if attempt.heartbeats.has_ended(index) {
                continue;
            }
            let versions = self.tools.get(&request.tool).filter(|versions| versions.version_of(&request).is_some());
            match (versions, call_in(&attempt.ctx.info().activity_id, index)) {
                (Some(versions), Some(id)) => {
                    calls.push(OpenCall { index, id, versions: Arc::clone(versions), request });
                }
                _ => attempt.heartbeats.ended(BatchedOutcome::not_made(index)),
            }
        }
        calls
    }
}

impl Attempt {
    /// Logs that the attempt before this one was lost, for each call that had not ended by then.
    async fn warn_of_lost_attempt(&self, calls: &[OpenCall]) {
        let info = self.ctx.info();
        let Some(reason) = lost_attempt(&self.ctx).await else { return };
        let outcomes = self.heartbeats.outcomes();
        for call in calls {
            let failed_itself = |outcome: &BatchedOutcome| {
                outcome.index == call.index && outcome.failure.is_some() && outcome.attempt + 1 == info.attempt
            };
            if !outcomes.iter().any(failed_itself) {
                ToolAttempt::new(info, &call.request).warn_of_lost_attempt(&reason);
            }
        }
    }

    /// Makes the calls. Returns the numbers of those that were stopped, and `true` if one of the
    /// others ends the run.
    async fn make(&self, calls: Vec<OpenCall>, end_the_run: &BTreeSet<u32>) -> (Vec<u32>, bool) {
        let mut open: FuturesUnordered<_> = calls.into_iter().map(|call| call.make(self)).collect();
        let (mut stopped, mut ends_run) = (Vec::new(), false);
        let cancelled = self.ctx.cancelled();
        tokio::pin!(cancelled);
        loop {
            let ended = tokio::select! {
                biased;
                ended = open.next() => ended,
                () = &mut cancelled, if !self.stop.is_cancelled() => {
                    self.stop.cancel();
                    continue;
                }
            };
            match ended {
                None => return (stopped, ends_run),
                Some((index, CallEnd::Stopped)) => stopped.push(index),
                Some((index, CallEnd::Ended(outcome))) => {
                    let failed = outcome.failure.as_ref().filter(|failure| !failure.is_retried);
                    let may_end = |failure: &BatchedFailure| {
                        failure.failure_type == TOOL_FAILS_RUN || end_the_run.contains(&index)
                    };
                    if failed.is_some_and(may_end) {
                        ends_run = true;
                        self.stop.cancel();
                    }
                    self.heartbeats.ended(*outcome);
                    // The reply follows the last one.
                    if !open.is_empty() {
                        self.heartbeats.send_soon();
                    }
                }
            }
        }
    }

    fn reply(&self) -> ToolBatchReply {
        let mut outcomes = self.heartbeats.outcomes();
        outcomes.sort_by_key(|outcome| outcome.index);
        ToolBatchReply { version: WIRE_VERSION, outcomes }
    }

    /// Returns the reply of a batch in which a call ends the run: the calls that did not end by
    /// then are cancelled, also those that another attempt would make again.
    fn cancelled_by_one(&self, stopped: Vec<u32>) -> ToolBatchReply {
        let mut reply = self.reply();
        let retried = reply.outcomes.iter().filter(|outcome| outcome.is_retried()).map(|outcome| outcome.index);
        let cancelled: BTreeSet<u32> = retried.chain(stopped).collect();
        reply.outcomes.retain(|outcome| !cancelled.contains(&outcome.index));
        let attempt = self.ctx.info().attempt;
        reply.outcomes.extend(cancelled.into_iter().map(|index| BatchedOutcome {
            attempt,
            is_cancelled: true,
            ..BatchedOutcome::not_made(index)
        }));
        reply
    }

    /// Ends an attempt that was cancelled, or whose worker shuts down, while calls were open. Only
    /// after the last attempt, a shutdown is the failure of these calls.
    async fn broken_off(&self, stopped: Vec<u32>) -> Result<ToolBatchReply, ActivityError> {
        if !self.is_last || !self.heartbeats.is_wanted().await {
            self.heartbeats.leave().await;
            return Err(ActivityError::cancelled());
        }
        let mut reply = self.reply();
        reply.outcomes.retain(|outcome| !stopped.contains(&outcome.index));
        reply.outcomes.extend(stopped.into_iter().map(|index| {
            let (failure_type, message) = WORKER_SHUTDOWN;
            let failure = BatchedFailure {
                failure_type: failure_type.to_owned(),
                message: message.to_owned(),
                detail: FailureDetail::default(),
                is_retried: false,
            };
            self.failed(index, failure)
        }));
        Ok(reply)
    }

    /// Returns the outcome of a call that has failed.
    fn failed(&self, index: u32, failure: BatchedFailure) -> BatchedOutcome {
        BatchedOutcome {
            attempt: self.ctx.info().attempt,
            failure: Some(failure),
            earlier_failure: self.heartbeats.earlier_failure(index),
            ..BatchedOutcome::not_made(index)
        }
    }
}

/// Returns the failure of an attempt after which calls are made again. If the server may make no
/// other attempt because the time for all of them is over, it holds the outcomes.
fn unfinished(outcomes: Vec<BatchedOutcome>, has_deadline: bool) -> ActivityError {
    let (retried, all) = (outcomes.iter().filter(|outcome| outcome.is_retried()).count(), outcomes.len());
    let details = has_deadline.then(|| ToolBatchDetails::new(outcomes));
    let failure = ApplicationFailure::builder(format!("{retried} of {all} calls have failed and are made again"))
        .type_name(TOOLS_UNFINISHED.to_owned())
        .maybe_details(details)
        .build();
    ActivityError::Application(Box::new(failure))
}
