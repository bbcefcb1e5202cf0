//! Reads and writes of a session store in this process.

use std::{sync::atomic::Ordering, time::SystemTime};

use temporal_agents_core::{
    drive::{SessionAction, SessionEffect, SessionEffectError},
    tool::BoxError,
    wire::{Item, RecordedFailure},
};
use tokio_util::sync::CancellationToken;

use super::host::InlineHost;
use crate::events::AsideKind;

impl InlineHost {
    /// Calls the session store, and reports the call to the trace of the run.
    pub(super) async fn session_call(
        &self,
        call: SessionEffect,
        scope: &CancellationToken,
    ) -> Result<Vec<Item>, SessionEffectError> {
        let SessionEffect { store, session_id, action, agent: _ } = call;
        let missing = || format!("there is no session store {store:?}; add it with Resources::session_store(..)");
        let store = self.resources.sessions.get(&store).ok_or_else(|| BoxError::from(missing()));
        let since = SystemTime::now();
        let (write, settled) = match action {
            SessionAction::Read { limit } => {
                let reading = async { store?.items(&session_id, limit).await };
                (None, scope.run_until_cancelled(reading).await)
            }
            // A write that has begun is completed, even if the run is cancelled meanwhile.
            SessionAction::Add { items } => {
                let number = self.session_writes.fetch_add(1, Ordering::Relaxed);
                let key = format!("{}-{number}", self.run);
                let adding = async { store?.add(&session_id, items, &key).await.map(|()| Vec::new()) };
                (Some(number), Some(adding.await))
            }
        };
        let settled = settled.ok_or(SessionEffectError::Cancelled)?;
        if let Some(publisher) = &self.publisher {
            let failed = |error: &BoxError| RecordedFailure::new("Application", error.to_string());
            let times = (since, SystemTime::now());
            publisher.aside("", AsideKind::Session { write }, times, settled.as_ref().err().map(failed));
        }
        settled.map_err(SessionEffectError::from)
    }
}
