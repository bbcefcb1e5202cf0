//! What a provider renews while calls run, its announcements, and cancellations by callers.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use super::Shared;
use crate::remote::{ANNOUNCEMENT_INTERVAL, CallStreams, GivenUp, announcement, transport::EntryId};

/// Most entries of a mark that are read.
const MAX_MARKS: usize = 10;

/// A call in progress.
#[derive(Clone)]
pub(super) struct RunningCall {
    /// The entries of the request stream that requested it.
    pub(super) entries: Vec<EntryId>,
    pub(super) streams: CallStreams,
    /// `true` once the mark `begun` is written.
    pub(super) has_mark: bool,
    /// Cancelled when the caller has cancelled the call.
    pub(super) cancelled: CancellationToken,
}

impl Shared {
    /// Renews the leases and the marks of all calls in progress at this interval. Does not return.
    pub(super) async fn keep_leases(&self, every: Duration) {
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.renew().await;
            self.renew_marks().await;
        }
    }

    /// Renews the lease of the requests of all calls in progress.
    pub(super) async fn renew(&self) {
        let ids: Vec<EntryId> = self.running().values().flat_map(|call| call.entries.clone()).collect();
        if !ids.is_empty()
            && let Err(error) = self.streams.renew(self.member(), &ids).await
        {
            tracing::debug!(toolset = self.toolset, %error, "the leases of requests could not be renewed");
        }
    }

    /// Extends the marks of the calls in progress, and cancels those that their callers have
    /// cancelled.
    async fn renew_marks(&self) {
        let calls: Vec<RunningCall> = self.running().values().cloned().collect();
        for RunningCall { streams, has_mark, cancelled, .. } in calls {
            if has_mark && let Err(error) = self.streams.append(streams.extend_begun(self.retention)).await {
                tracing::debug!(toolset = self.toolset, %error, "the mark of a call could not be extended");
            }
            match self.streams.read(streams.given_up(), None, MAX_MARKS, Duration::ZERO).await {
                Ok(marks) if marks.iter().any(|mark| mark.event == GivenUp::Cancelled.event()) => cancelled.cancel(),
                Ok(_) => {}
                Err(error) => tracing::debug!(toolset = self.toolset, %error, "a cancellation could not be looked up"),
            }
        }
    }

    /// Announces to callers that the toolset has a provider. Does not return.
    pub(super) async fn keep_announced(&self) {
        loop {
            let appended = self.streams.append(announcement(&self.toolset)).await;
            if self.succeeded("the provider cannot be announced", appended).await.is_some() {
                sleep(ANNOUNCEMENT_INTERVAL).await;
            }
        }
    }
}
