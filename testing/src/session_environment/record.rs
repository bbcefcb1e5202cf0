//! The heartbeats of an attempt.

use std::{
    any::Any,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use temporalio_common::{data_converters::RawValue, protos::temporal::api::common::v1::Payload};

/// What the SDK was given as details of heartbeats, in order. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Record(Arc<Mutex<Vec<Payload>>>);

impl Record {
    fn lock(&self) -> MutexGuard<'_, Vec<Payload>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a heartbeat of a session: those that only say that the activity lives repeat the latest, or hold nothing.
    pub(super) fn note(&self, details: &dyn Any) {
        let Some(payload) = details.downcast_ref::<RawValue>().and_then(|raw| raw.payloads.first()) else { return };
        let mut payloads = self.lock();
        if payloads.last() != Some(payload) {
            payloads.push(payload.clone());
        }
    }

    /// The details so far, as far as they are JSON.
    pub(super) fn heartbeats(&self) -> Vec<Value> {
        self.lock().iter().filter_map(|payload| serde_json::from_slice(&payload.data).ok()).collect()
    }
}
