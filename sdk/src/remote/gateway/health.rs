//! The toolsets that have a provider at work, by their pongs. Pure: the caller passes the time.
//!
//! # Design
//! **A pong counts for one threshold**: (3 missed pings + 1) x 10 s = 40 s, to the end inclusive.
//! A toolset that never sent a pong is unhealthy, however fresh its registration is: a registration
//! shows that a provider exists, only a pong that it reads requests. Any pong restores a toolset.
//!
//! **A toolset without signs of life gets no pings**: without a registration and a pong within one
//! threshold it has no provider, and its request stream would only grow.

use std::{collections::BTreeMap, time::Duration};

/// Pings that may be missed.
const MISSED_PINGS: u32 = 3;

/// The last signs of life of each toolset. All times are since one origin, which the caller
/// chooses.
#[derive(Debug)]
pub(super) struct HealthTracker {
    /// Time between two pings of a toolset.
    pub(super) ping_interval: Duration,
    toolsets: BTreeMap<String, Signs>,
}

/// The times of the last signs of life.
#[derive(Clone, Copy, Debug)]
struct Signs {
    registered: Duration,
    ponged: Option<Duration>,
}

/// The reason for which a toolset is unhealthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unhealthy {
    /// Greatest age of a pong.
    pub(super) threshold: Duration,
    /// Time of the last pong, and its age.
    pub(super) last_pong: Option<(Duration, Duration)>,
}

impl Default for HealthTracker {
    fn default() -> Self {
        Self { ping_interval: Duration::from_secs(10), toolsets: BTreeMap::new() }
    }
}

impl HealthTracker {
    /// Returns the greatest age of a pong of a healthy toolset.
    pub(super) fn threshold(&self) -> Duration {
        self.ping_interval.saturating_mul(MISSED_PINGS + 1)
    }

    /// Notes a registration.
    pub(super) fn registered(&mut self, toolset: &str, now: Duration) {
        match self.toolsets.get_mut(toolset) {
            Some(signs) => signs.registered = now,
            None => drop(self.toolsets.insert(toolset.to_owned(), Signs { registered: now, ponged: None })),
        }
    }

    /// Notes a pong. Those of toolsets that are not registered are ignored.
    pub(super) fn ponged(&mut self, toolset: &str, now: Duration) {
        if let Some(signs) = self.toolsets.get_mut(toolset) {
            signs.ponged = Some(now);
        }
    }

    /// Forgets a toolset.
    pub(super) fn forget(&mut self, toolset: &str) {
        self.toolsets.remove(toolset);
    }

    /// Checks that the last pong of a toolset is within the threshold.
    pub(super) fn check(&self, toolset: &str, now: Duration) -> Result<(), Unhealthy> {
        let threshold = self.threshold();
        let ponged = self.toolsets.get(toolset).and_then(|signs| signs.ponged);
        match ponged.map(|ponged| (ponged, now.saturating_sub(ponged))) {
            Some((_, age)) if age <= threshold => Ok(()),
            last_pong => Err(Unhealthy { threshold, last_pong }),
        }
    }

    /// Returns the toolsets that get a ping, by name.
    pub(super) fn to_ping(&self, now: Duration) -> Vec<String> {
        self.by_silence(now, |silence| silence <= self.threshold())
    }

    /// Returns the toolsets without a sign of life for longer than this, by name.
    pub(super) fn silent_for(&self, longest: Duration, now: Duration) -> Vec<String> {
        self.by_silence(now, |silence| silence > longest)
    }

    /// Returns the toolsets by the time since their last sign of life.
    fn by_silence(&self, now: Duration, is_meant: impl Fn(Duration) -> bool) -> Vec<String> {
        let silence = |signs: &Signs| now.saturating_sub(signs.registered.max(signs.ponged.unwrap_or_default()));
        let meant = self.toolsets.iter().filter(|(_, signs)| is_meant(silence(signs)));
        meant.map(|(name, _)| name.clone()).collect()
    }
}

#[cfg(test)]
mod tests;
