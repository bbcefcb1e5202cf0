//! The time for which a stream may be silent.
//!
//! # Design
//! **Five minutes by default, half the time of an attempt.** A reasoning model sends nothing for
//! minutes, before its first token and between two items, and not every server sends signs of life
//! meanwhile. A shorter limit would fail calls that succeed without streaming, each time, and each
//! attempt is billed. A longer one would find a dead connection no sooner than the limit of the
//! attempt does. A call with more time than usual has a slow model, so the default grows with
//! `ModelSettings::timeout`.
//!
//! **Each byte is a sign of life,** also one of a comment, and of an event that is skipped: with
//! them, servers show that a model still works. A server that sends nothing else is stopped by the
//! time limit of the attempt, which each host has, and by the limit of a stream's size.

use std::time::Duration;

use temporal_agents_core::{
    drive::model_limits::{ATTEMPT, attempt_limit},
    wire::ModelSettings,
};
use tokio::time::Instant;

/// The limits that a provider is configured with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SilenceOptions {
    pub(crate) first_chunk: Option<Duration>,
    pub(crate) chunk: Option<Duration>,
}

/// The limits of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    /// From sending the request until the first chunk of the body.
    pub(crate) first_chunk: Duration,
    /// Between two chunks.
    pub(crate) chunk: Duration,
}

impl SilenceOptions {
    /// Returns the limits of a call with these settings.
    pub(crate) fn of_call(self, settings: &ModelSettings) -> Silence {
        let default = attempt_limit(settings).unwrap_or_default().max(ATTEMPT) / 2;
        Silence { first_chunk: self.first_chunk.unwrap_or(default), chunk: self.chunk.unwrap_or(default) }
    }
}

/// Returns the description of a stream whose first chunk did not arrive in time.
pub(crate) fn no_first_chunk(limit: Duration) -> String {
    format!("no part of the answer arrived within {limit:?}, the limit of first_chunk_timeout")
}

/// Returns the description of a stream whose next chunk did not arrive in time.
pub(crate) fn no_next_chunk(limit: Duration) -> String {
    format!("the answer stopped for {limit:?}, the limit of chunk_timeout")
}

/// Returns the time at which a limit that began then expires; one that overflows the clock expires
/// after a year.
pub(crate) fn end_of(begun: Instant, limit: Duration) -> Instant {
    begun.checked_add(limit).unwrap_or_else(|| begun + Duration::from_hours(365 * 24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_half_of_an_attempt_and_never_less_than_five_minutes() {
        let limits = |timeout: Option<f64>| {
            SilenceOptions::default().of_call(&ModelSettings { timeout, ..ModelSettings::default() })
        };
        let minutes =
            |minutes| Silence { first_chunk: Duration::from_mins(minutes), chunk: Duration::from_mins(minutes) };
        assert_eq!([limits(None), limits(Some(1.0)), limits(Some(3600.0))], [minutes(5), minutes(5), minutes(30)]);
    }
}
