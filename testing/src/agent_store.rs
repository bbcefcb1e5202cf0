//! A store of agents as data in memory, with failures on request.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::SystemTime,
};

use futures::future::{BoxFuture, FutureExt, ready};
use serde_json::Value;
use temporal_agents::{
    store::{AgentStore, AgentVersion, PutAgentError},
    tool::BoxError,
};

/// A store of agents as data in memory. Clones share the agents.
///
/// ```
/// use serde_json::json;
/// use temporal_agents_testing::MemoryAgentStore;
///
/// let store = MemoryAgentStore::new();
/// assert_eq!(store.add("desk", json!({"model": "gpt-5"})), 1);
/// assert_eq!(store.add("desk", json!({"model": "gpt-5-mini"})), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryAgentStore {
    agents: Arc<Mutex<Agents>>,
    failures: Arc<AtomicU32>,
    reads: Arc<AtomicU32>,
}

type Agents = BTreeMap<String, Vec<(AgentVersion, Value)>>;

impl MemoryAgentStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a version of an agent, and returns it.
    pub fn add(&self, name: &str, spec: Value) -> u32 {
        let mut agents = self.agents();
        let versions = agents.entry(name.to_owned()).or_default();
        let version = u32::try_from(versions.len()).unwrap_or(u32::MAX).saturating_add(1);
        versions.push((AgentVersion::new(name, version, SystemTime::now(), None), spec));
        version
    }

    /// Removes all agents, as if the store were another one.
    pub fn clear(&self) {
        self.agents().clear();
    }

    /// Makes the next operations fail, this number of them.
    pub fn fail_next(&self, operations: u32) {
        self.failures.store(operations, Ordering::SeqCst);
    }

    /// Returns the number of reads of specs so far, also of those that failed.
    pub fn reads(&self) -> u32 {
        self.reads.load(Ordering::SeqCst)
    }

    fn agents(&self) -> MutexGuard<'_, Agents> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the agents, or a failure that was requested.
    fn available(&self) -> Result<MutexGuard<'_, Agents>, BoxError> {
        let one_less = |failures: u32| failures.checked_sub(1);
        match self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less) {
            Ok(_) => Err("the store is unavailable".into()),
            Err(_) => Ok(self.agents()),
        }
    }
}

impl AgentStore for MemoryAgentStore {
    fn list<'a>(&'a self, after: Option<&'a str>, limit: u32) -> BoxFuture<'a, Result<Vec<AgentVersion>, BoxError>> {
        let listed = self.available().map(|agents| {
            let newest = agents.iter().filter(|(name, _)| after.is_none_or(|after| &***name > after));
            newest.filter_map(|(_, versions)| Some(versions.last()?.0.clone())).take(limit as usize).collect()
        });
        ready(listed).boxed()
    }

    fn versions<'a>(
        &'a self,
        name: &'a str,
        before: Option<u32>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<AgentVersion>, BoxError>> {
        let versions = self.available().map(|agents| {
            let newest_first = agents.get(name).into_iter().flatten().rev().map(|(version, _)| version);
            let earlier = newest_first.filter(|version| before.is_none_or(|before| version.version < before));
            earlier.take(limit as usize).cloned().collect()
        });
        ready(versions).boxed()
    }

    fn read<'a>(
        &'a self,
        name: &'a str,
        version: Option<u32>,
    ) -> BoxFuture<'a, Result<Option<(AgentVersion, Value)>, BoxError>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let read = self.available().map(|agents| {
            let versions = agents.get(name)?;
            match version {
                None => versions.last().cloned(),
                Some(version) => versions.get((version as usize).checked_sub(1)?).cloned(),
            }
        });
        ready(read).boxed()
    }

    fn put<'a>(
        &'a self,
        name: &'a str,
        spec: &'a Value,
        newest: u32,
        author: Option<&'a str>,
    ) -> BoxFuture<'a, Result<AgentVersion, PutAgentError>> {
        let put = self.available().map_err(PutAgentError::from).and_then(|mut agents| {
            let versions = agents.entry(name.to_owned()).or_default();
            let found = u32::try_from(versions.len()).unwrap_or(u32::MAX);
            if found != newest {
                return Err(PutAgentError::Conflict { newest: found });
            }
            let version = AgentVersion::new(name, newest + 1, SystemTime::now(), author.map(str::to_owned));
            versions.push((version.clone(), spec.clone()));
            Ok(version)
        });
        ready(put).boxed()
    }
}
