//! Time limits and retries of model calls: the defaults, and the settings of a call that replace
//! them.
//!
//! Every host uses these values, so that `ModelSettings::timeout` and `ModelSettings::retry` mean
//! the same in a workflow, an inline run and an agentic session.

use std::time::Duration;

use crate::wire::ModelSettings;

/// Default time limit of one attempt. Long answers of reasoning models take minutes; a call that
/// takes longer is a connection that hangs.
pub const ATTEMPT: Duration = Duration::from_mins(10);
/// Default time limit of all attempts and the pauses between them: longer than an outage of a
/// provider lasts.
pub const ALL_ATTEMPTS: Duration = Duration::from_hours(6);
/// Default pause before the first retry.
pub const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Default factor from one pause to the next.
pub const FACTOR: f64 = 2.0;
/// Default longest pause, apart from pauses that a provider requests.
pub const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Name of the setting in error messages.
pub const TIMEOUT_SETTING: &str = "ModelSettings::timeout";

/// Returns the time limit of one attempt, if the settings of the call have one.
pub fn attempt_limit(settings: &ModelSettings) -> Option<Duration> {
    settings.timeout.and_then(seconds)
}

/// Returns the error message of an attempt that exceeded its time limit.
pub fn exceeded(agent: &str, model: &str, limit: Duration, setting: &str) -> String {
    format!("model {model:?} did not answer agent {agent:?} within {limit:?}, the limit of {setting}")
}

/// The retry policy of failed attempts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retries {
    /// Pause before the first retry.
    pub initial: Duration,
    /// Factor from one pause to the next.
    pub factor: f64,
    /// Longest pause.
    pub longest: Duration,
    /// Maximum number of attempts; 0 means no limit.
    pub attempts: u32,
}

impl Retries {
    /// Returns this policy with the values that the settings of a call replace. A pause is never
    /// shorter than the previous one.
    #[must_use]
    pub fn replaced_by(self, settings: &ModelSettings) -> Self {
        let retry = settings.retry.clone().unwrap_or_default();
        let backoff = retry.backoff.unwrap_or_default();
        let initial = backoff.initial_delay.and_then(seconds).unwrap_or(self.initial);
        let longest = backoff.max_delay.and_then(seconds).unwrap_or(self.longest);
        let factor = backoff.multiplier.unwrap_or(self.factor);
        Self {
            initial,
            factor: if factor.is_finite() { factor.max(1.0) } else { 1.0 },
            longest: longest.max(initial),
            attempts: retry.max_retries.map_or(self.attempts, |more| more.saturating_add(1)),
        }
    }

    /// Returns `true` if no attempt follows this one; attempts are counted from 1.
    pub fn is_last(&self, attempt: u32) -> bool {
        self.attempts != 0 && attempt >= self.attempts
    }

    /// Returns the pause after this attempt; attempts are counted from 1.
    pub fn pause(&self, attempt: u32) -> Duration {
        let grown = self.initial.as_secs_f64() * self.factor.powf(f64::from(attempt.saturating_sub(1)));
        Duration::try_from_secs_f64(grown).map_or(self.longest, |pause| pause.min(self.longest))
    }
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero())
}

#[cfg(test)]
mod tests;
