//! The warning that is logged for a failed attempt at a model call: history keeps the last attempt
//! only, and an inline run has no history.

use std::time::Duration;

use temporalio_sdk::activities::ActivityInfo;

use crate::{
    drive::model_limits::{FACTOR, Retries},
    provider::ModelError,
};

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
