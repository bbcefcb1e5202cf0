//! What each call of a run has gathered, until it has ended.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;

use super::results::SessionResults;
use crate::tool::{CallInfo, StateMap};

/// The results of calls under way, by idempotency key: of the latest attempt at each.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<Mutex<BTreeMap<String, SessionResults>>>);

impl Calls {
    /// The states of an attempt: those of the worker, and a place for results.
    pub(super) fn states(&self, of_worker: &StateMap, call: &CallInfo) -> StateMap {
        let (mut states, results) = (of_worker.clone(), SessionResults::default());
        states.insert(results.clone());
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.insert(call.idempotency_key().to_owned(), results);
        states
    }

    /// What the latest attempt at a call has gathered.
    pub(super) fn gathered(&self, key: &str) -> Vec<Value> {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.remove(key).map(|results| results.take()).unwrap_or_default()
    }
}
