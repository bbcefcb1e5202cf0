//! The warnings that are logged for failed attempts at model calls and tool calls: history keeps the
//! last attempt only, and an inline run has no history.
//!
//! # Design
//! **Each failed attempt is one warning, of the process that knows it first.** An attempt that ends
//! with a failure logs it itself, and one that exceeds its time limit logs that, because the server
//! ends such an attempt without its worker. An attempt that is lost with its worker is logged by the
//! next attempt, which asks the server (`lost_attempt.rs`), or by the workflow if it was the last.

use std::time::{Duration, Instant, SystemTime};

use temporal_agents_core::{
    drive::{
        model_limits::{FACTOR, Retries},
        warn_of_attempt,
    },
    tool::{CallInfo, ToolError},
    wire::ToolRequest,
};
use temporalio_sdk::activities::ActivityInfo;
use tokio::time::sleep;

use crate::provider::ModelError;

/// A failed attempt at a model call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailedAttempt<'a> {
    pub(crate) agent: &'a str,
    pub(crate) turn: u32,
    pub(crate) model: &'a str,
    /// Number of the attempt, from 1.
    pub(crate) attempt: u32,
    /// Pause before the next attempt; `None` if no attempt follows.
    pub(crate) next_pause: Option<Duration>,
}

impl FailedAttempt<'_> {
    /// Logs the warning. Message and address contain no credentials: see [`ModelError`].
    pub(crate) fn warn(&self, error: &ModelError) {
        let Self { agent, turn, model, attempt, next_pause } = *self;
        tracing::warn!(
            agent,
            turn,
            model,
            attempt,
            next_pause = next_pause.map(tracing::field::debug),
            address = error.address(),
            kind = error.kind.name(),
            error = error.message,
            "an attempt at a model call failed"
        );
    }
}

/// An attempt at a tool call in an activity, for the log.
pub(crate) struct ToolAttempt {
    call: CallInfo,
    /// Pause before the next attempt, if this one fails and may be followed by one.
    next_pause: Option<Duration>,
    /// Time that the server gives to the attempt.
    limit: Option<Duration>,
}

impl ToolAttempt {
    pub(crate) fn new(info: &ActivityInfo, request: &ToolRequest) -> Self {
        let ToolRequest { tool, call_id, agent, turn, .. } = request;
        let call = CallInfo::new(&**tool, &**call_id, &**agent, *turn).at_attempt(info.attempt);
        Self { call, next_pause: pause_after(info), limit: time_limit(info) }
    }

    /// Logs that the attempt has failed.
    pub(crate) fn warn(&self, error: &ToolError) {
        let next_pause = self.next_pause.filter(|_| error.is_transient());
        warn_of_attempt(&self.call, next_pause, &error.with_causes());
    }

    /// Logs that the attempt has failed for a reason that another attempt may not meet.
    pub(crate) fn warn_of(&self, reason: &str) {
        warn_of_attempt(&self.call, self.next_pause, reason);
    }

    /// Logs that the attempt has exceeded this time limit.
    pub(crate) fn warn_of_timeout(&self, limit: Duration) {
        self.warn_of(&format!("not finished within {limit:?}, its start_to_close"));
    }

    /// Logs that the attempt before this one was lost.
    pub(crate) fn warn_of_lost_attempt(&self, reason: &str) {
        let attempt = self.call.attempt.saturating_sub(1);
        // The pause is over.
        warn_of_attempt(&self.call.clone().at_attempt(attempt), None, reason);
    }

    /// Awaits the end of the attempt. When it has exceeded its time limit, logs that once, and
    /// returns `true` with the end: the server has ended the attempt, and ignores its result.
    pub(crate) async fn until_ended<T>(&self, running: impl Future<Output = T>) -> (T, bool) {
        let Some(limit) = self.limit else { return (running.await, false) };
        let began = Instant::now();
        let mut running = std::pin::pin!(running);
        let ended = tokio::select! {
            biased;
            ended = &mut running => Some(ended),
            () = sleep(limit) => None,
        };
        // A body that blocks its thread is seen late.
        let is_late = ended.is_none() || began.elapsed() >= limit;
        if is_late {
            self.warn_of_timeout(limit);
        }
        (
            match ended {
                Some(ended) => ended,
                None => running.await,
            },
            is_late,
        )
    }
}

/// Returns the time that the server gives to an attempt: its `start_to_close`, or the rest of the
/// time of all attempts. Both times of the difference are of the server's clock.
pub(crate) fn time_limit(info: &ActivityInfo) -> Option<Duration> {
    info.deadline?.duration_since(info.started_time.filter(|time| *time > SystemTime::UNIX_EPOCH)?).ok()
}

/// Returns the pause that the server makes after this attempt of an activity, according to its
/// retry policy; `None` if it was the last attempt.
pub(crate) fn pause_after(info: &ActivityInfo) -> Option<Duration> {
    let policy = info.retry_policy.as_ref()?;
    let initial = policy.initial_interval();
    let factor = if policy.backoff_coefficient() >= 1.0 { policy.backoff_coefficient() } else { FACTOR };
    // The server's default for a policy without a maximum interval.
    let longest = policy.maximum_interval().unwrap_or(initial * 100);
    let retries = Retries { initial, factor, longest, attempts: policy.maximum_attempts() };
    (!retries.is_last(info.attempt)).then(|| retries.pause(info.attempt))
}
