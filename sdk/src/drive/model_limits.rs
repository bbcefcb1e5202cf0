//! Time limits and retries of model calls: the defaults, and the settings of a call that replace them.
//!
//! Every host takes them from here, so that `ModelSettings::timeout` and `ModelSettings::retry` mean the same in a workflow, an
//! inline run and an agentic session.

use std::time::Duration;

use crate::wire::ModelSettings;

/// The longest time of one attempt. Long answers of reasoning models take minutes; what takes longer is a connection that hangs.
pub(crate) const ATTEMPT: Duration = Duration::from_mins(10);
/// The longest time of all attempts and the pauses between them: longer than an outage of a provider lasts.
pub(crate) const ALL_ATTEMPTS: Duration = Duration::from_hours(6);
/// The pause before the first retry.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The factor from one pause to the next.
pub(crate) const FACTOR: f64 = 2.0;
/// The longest pause that no provider has asked for.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The name of the setting in a failure.
pub(crate) const TIMEOUT_SETTING: &str = "ModelSettings::timeout";

/// The longest time of one attempt, where the settings of the call have one.
pub(crate) fn attempt_limit(settings: &ModelSettings) -> Option<Duration> {
    settings.timeout.and_then(seconds)
}

/// The failure of an attempt that has taken too long.
pub(crate) fn exceeded(agent: &str, model: &str, limit: Duration, setting: &str) -> String {
    format!("model {model:?} did not answer agent {agent:?} within {limit:?}, the limit of {setting}")
}

/// How failed attempts are repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Retries {
    /// The pause before the first retry.
    pub(crate) initial: Duration,
    /// The factor from one pause to the next.
    pub(crate) factor: f64,
    /// The longest pause.
    pub(crate) longest: Duration,
    /// Most attempts; 0 = no limit.
    pub(crate) attempts: u32,
}

impl Retries {
    /// These with what the settings of a call replace. The pauses never shrink from one to the next.
    pub(crate) fn replaced_by(self, settings: &ModelSettings) -> Self {
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

    /// Whether no attempt follows this one, counted from 1.
    #[cfg(feature = "worker")]
    pub(crate) fn is_last(&self, attempt: u32) -> bool {
        self.attempts != 0 && attempt >= self.attempts
    }

    /// The pause after this attempt, counted from 1.
    #[cfg(feature = "worker")]
    pub(crate) fn pause(&self, attempt: u32) -> Duration {
        let grown = self.initial.as_secs_f64() * self.factor.powf(f64::from(attempt.saturating_sub(1)));
        Duration::try_from_secs_f64(grown).map_or(self.longest, |pause| pause.min(self.longest))
    }
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero())
}

#[cfg(all(test, feature = "worker"))]
mod tests;
