//! Which toolsets have a provider at work, as callers see it before they publish a call.
//!
//! | stream | who appends to it | how long it exists |
//! |---|---|---|
//! | `toolset:<name>:serving` | each [`ToolProvider`](crate::worker::ToolProvider), every 10 s | 40 s |
//! | `toolset:<name>:announced` | the same, at the same time | 1 day |
//!
//! # Design
//! **Only a toolset whose providers are known to announce themselves can be without a provider.** A
//! provider in another language announces nothing. It has created the consumer group, so a toolset
//! without a group has no provider; with a group, and without an announcement within a day, it may
//! have one that waits for its first request.
//!
//! **A consumer that was active lately is a provider at work**, whether it announces itself or not.
//! The reverse does not hold: Redis before 7.2 notes deliveries only, so a provider without requests
//! looks idle there.
//!
//! **The broker counts the time.** Announcements expire by its clock, so the clocks of callers and
//! providers do not matter.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use super::{
    message::toolset_stream,
    transport::{Append, StreamError, Streams},
};

/// The consumer group of all providers of a toolset.
pub(crate) const PROVIDER_GROUP: &str = "provider";

/// Time between two announcements of a provider.
pub(crate) const ANNOUNCEMENT_INTERVAL: Duration = Duration::from_secs(10);

/// Time for which an announcement counts: three may be missed.
const ANNOUNCED_FOR: Duration = Duration::from_secs(40);

/// Time for which a toolset counts as one whose providers announce themselves.
const REMEMBERED_FOR: Duration = Duration::from_hours(24);

/// Time for which an answer is used again.
const CACHED_FOR: Duration = Duration::from_secs(5);

/// Maximum time to look for a provider. After a broker has lost everything, providers need a moment
/// to announce themselves.
const MAX_LOOK_TIME: Duration = Duration::from_secs(5);

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(500);

/// Returns the announcement of a provider of this toolset.
pub(crate) fn announcement(toolset: &str) -> Append {
    let serving = serving_stream(toolset);
    let announced = announced_stream(toolset);
    Append::new()
        .entry(&*serving, "serving", b"{}".to_vec())
        .max_len(&*serving, 1)
        .expire(&*serving, ANNOUNCED_FOR)
        .entry(&*announced, "serving", b"{}".to_vec())
        .max_len(&*announced, 1)
        .expire(&*announced, REMEMBERED_FOR)
}

/// The toolsets with a provider at work, as one process knows them. Clones share what they know.
#[derive(Clone, Default)]
pub(crate) struct ProvidersAtWork(Arc<Mutex<BTreeMap<String, Instant>>>);

impl ProvidersAtWork {
    /// Returns `true` if the toolset has a provider at work, or may have one. Waits for a few
    /// seconds before it returns `false`.
    ///
    /// # Errors
    /// The broker cannot be asked.
    pub(super) async fn has_provider(&self, streams: &dyn Streams, toolset: &str) -> Result<bool, StreamError> {
        let begun = Instant::now();
        loop {
            if self.is_known(toolset) {
                return Ok(true);
            }
            if is_at_work(streams, toolset).await? {
                self.known().insert(toolset.to_owned(), Instant::now());
                return Ok(true);
            }
            if begun.elapsed() >= MAX_LOOK_TIME {
                return Ok(false);
            }
            sleep(PAUSE).await;
        }
    }

    fn is_known(&self, toolset: &str) -> bool {
        let mut known = self.known();
        known.retain(|_, asked| asked.elapsed() < CACHED_FOR);
        known.contains_key(toolset)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks the broker.
async fn is_at_work(streams: &dyn Streams, toolset: &str) -> Result<bool, StreamError> {
    if streams.exists(&serving_stream(toolset)).await? {
        return Ok(true);
    }
    match streams.idle_time(&toolset_stream(toolset), PROVIDER_GROUP).await {
        Ok(Some(idle)) if idle <= ANNOUNCED_FOR => Ok(true),
        Ok(_) => Ok(!streams.exists(&announced_stream(toolset)).await?),
        Err(StreamError::NoGroup { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

fn serving_stream(toolset: &str) -> String {
    format!("toolset:{toolset}:serving")
}

fn announced_stream(toolset: &str) -> String {
    format!("toolset:{toolset}:announced")
}

#[cfg(test)]
mod tests;
