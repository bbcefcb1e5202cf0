//! The results that each call of a run adds, until the call has ended.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use temporal_agents_core::tool::{CallInfo, StateMap};

use super::results::SessionResults;

/// The results of calls in progress, by idempotency key: those of the latest attempt at each call.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<Mutex<BTreeMap<String, SessionResults>>>);

impl Calls {
    /// Returns the states of an attempt: those of the worker, and a new [`SessionResults`].
    pub(super) fn states(&self, of_worker: &StateMap, call: &CallInfo) -> StateMap {
        let (mut states, results) = (of_worker.clone(), SessionResults::default());
        states.insert(results.clone());
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.insert(call.idempotency_key().to_owned(), results);
        states
    }

    /// Removes and returns the results of the latest attempt at a call.
    pub(super) fn gathered(&self, key: &str) -> Vec<Value> {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.remove(key).map(|results| results.take()).unwrap_or_default()
    }
}
