//! Records the heartbeats of an attempt.

use std::{
    any::Any,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use temporalio_common::data_converters::RawValue;

/// The heartbeat details passed to the SDK, in order. Clones share the record.
#[derive(Clone, Debug)]
pub(super) struct Record(Arc<Mutex<Noted>>);

#[derive(Debug)]
struct Noted {
    latest: Option<Value>,
    all: Vec<Value>,
}

impl Record {
    /// Creates the record of an attempt that finds these details.
    pub(super) fn after(found: Option<Value>) -> Self {
        Self(Arc::new(Mutex::new(Noted { latest: found, all: Vec::new() })))
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a heartbeat of a session. Omits heartbeats that only report that the activity is
    /// alive: these repeat the latest details, or have none.
    pub(super) fn note(&self, details: &dyn Any) {
        let payload = details.downcast_ref::<RawValue>().and_then(|raw| raw.payloads.first());
        let Some(details) = payload.and_then(|payload| serde_json::from_slice::<Value>(&payload.data).ok()) else {
            return;
        };
        let mut noted = self.lock();
        if noted.latest.as_ref() != Some(&details) {
            noted.latest = Some(details.clone());
            noted.all.push(details);
        }
    }

    /// Returns the details so far.
    pub(super) fn heartbeats(&self) -> Vec<Value> {
        self.lock().all.clone()
    }
}
