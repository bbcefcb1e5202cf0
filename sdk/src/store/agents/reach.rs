//! A spec with all specs that its handoffs reach, from a store.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;
use temporal_agents_core::{
    agent::{
        SpecIssue,
        spec::{MAX_AGENTS, MAX_RECORD_BYTES, listed, read, suggestion},
    },
    tool::BoxError,
    wire::{
        AgentSpec, SpecRef, WireVersionMismatch,
        agent_spec::{LoadedSpec, SpecHandoff},
    },
};

use super::AgentStore;

/// Maximum number of names of a store that are compared with an unknown one.
const MAX_KNOWN: u32 = 200;

/// The first spec.
pub(crate) enum Start<'s> {
    /// A stored one.
    Stored(&'s SpecRef),
    /// One that is to be stored, as this version.
    #[cfg(feature = "http")]
    Candidate { name: &'s str, version: u32, json: &'s Value },
}

/// The specs that were loaded, and what is wrong with them.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// The first spec, then the others, in the order in which handoffs reach them. Those that
    /// cannot be read are left out.
    pub(crate) specs: Vec<LoadedSpec>,
    pub(crate) issues: Vec<SpecIssue>,
}

/// The reason that specs could not be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    /// The store does not have the first spec.
    #[error("{0}")]
    Unknown(String),
    /// A spec has a version that a newer worker may read.
    #[error(transparent)]
    TooNew(#[from] WireVersionMismatch),
    #[error("the store of agents cannot be read: {0}")]
    Store(#[from] BoxError),
}

/// Loads a spec and those that its handoffs reach, breadth first. A handoff without a version leads
/// to the newest one, or to the version of that spec that was found before.
pub(crate) async fn load(store: &dyn AgentStore, start: Start<'_>) -> Result<Loaded, LoadError> {
    let mut reach = Reach { store, loaded: Loaded::default(), versions: BTreeMap::new(), bytes: 0 };
    let mut due = VecDeque::new();
    match start {
        Start::Stored(spec) => {
            let found = store.read(&spec.name, spec.version).await?;
            let Some((found, json)) = found else { return Err(LoadError::Unknown(reach.unknown(spec).await?)) };
            due.extend(reach.take(&spec.name, found.version, &json)?);
        }
        #[cfg(feature = "http")]
        Start::Candidate { name, version, json } => due.extend(reach.take(name, version, json)?),
    }
    while let Some((agent, handoff)) = due.pop_front() {
        due.extend(reach.follow(&agent, handoff).await?);
    }
    Ok(reach.loaded)
}

/// The handoffs of an agent, with its name.
type Handoffs = Vec<(String, SpecHandoff)>;

struct Reach<'r> {
    store: &'r dyn AgentStore,
    loaded: Loaded,
    /// Versions of the specs that were found, also of those that cannot be read.
    versions: BTreeMap<String, u32>,
    bytes: usize,
}

impl Reach<'_> {
    /// Loads the spec that a handoff leads to, unless it was found before.
    async fn follow(&mut self, agent: &str, handoff: SpecHandoff) -> Result<Handoffs, LoadError> {
        let SpecHandoff { agent: target, version, tool_name: _, tool_description: _ } = handoff;
        if let Some(loaded) = self.versions.get(&target).copied() {
            if let Some(found) = version.filter(|version| *version != loaded) {
                let agent = agent.to_owned();
                self.loaded.issues.push(SpecIssue::TwoVersions { agent, target, found, loaded });
            }
            return Ok(Vec::new());
        }
        if self.versions.len() == MAX_AGENTS {
            let reason = format!("reach more than {MAX_AGENTS} agents, the limit of one run");
            let issue = SpecIssue::Member { agent: agent.to_owned(), member: "handoffs".to_owned(), reason };
            // One message for all that are left out.
            if self.loaded.issues.last() != Some(&issue) {
                self.loaded.issues.push(issue);
            }
            return Ok(Vec::new());
        }
        if let Some((found, json)) = self.store.read(&target, version).await? {
            return self.take(&target, found.version, &json);
        }
        let known = self.known().await?;
        let names = || known.iter().map(String::as_str);
        let suggestion = suggestion(&target, names().filter(|name| *name != target));
        let target = version.map_or_else(|| target.clone(), |version| format!("{target}, version {version}"));
        let issue = SpecIssue::UnknownTarget { agent: agent.to_owned(), target, suggestion, known: listed(names()) };
        self.loaded.issues.push(issue);
        Ok(Vec::new())
    }

    /// Takes a spec that was found, and returns its handoffs.
    fn take(&mut self, name: &str, version: u32, json: &Value) -> Result<Handoffs, LoadError> {
        self.versions.insert(name.to_owned(), version);
        self.bytes += json.to_string().len();
        let spec: AgentSpec = match read(name, json) {
            Ok(spec) => spec,
            Err(issues) => {
                if let [SpecIssue::Version { agent: _, found, reads }] = &*issues
                    && found > reads
                {
                    let unknown = Some(format!("spec of version {found}"));
                    let mismatch = WireVersionMismatch { message: "agent spec", found: *found, reads: *reads, unknown };
                    return Err(mismatch.into());
                }
                self.loaded.issues.extend(issues);
                return Ok(Vec::new());
            }
        };
        if self.bytes > MAX_RECORD_BYTES {
            let reason =
                format!("and those before it have over {MAX_RECORD_BYTES} bytes of JSON, the limit of one run");
            self.loaded.issues.push(SpecIssue::Member {
                agent: name.to_owned(),
                member: "the spec".to_owned(),
                reason,
            });
            return Ok(Vec::new());
        }
        let handoffs = spec.handoffs.iter().map(|handoff| (name.to_owned(), handoff.clone())).collect();
        self.loaded.specs.push(LoadedSpec { version, spec });
        Ok(handoffs)
    }

    /// Returns the message about a first spec that does not exist.
    async fn unknown(&self, spec: &SpecRef) -> Result<String, BoxError> {
        let SpecRef { name, version } = spec;
        let newest = self.store.versions(name, None, 1).await?;
        if let (Some(version), Some(newest)) = (version, newest.first()) {
            return Ok(format!("agent {name:?} has no version {version}; its versions are 1 to {}", newest.version));
        }
        let known = self.known().await?;
        let names = || known.iter().map(String::as_str);
        let hint = suggestion(name, names()).map(|known| format!("; did you mean {known:?}?")).unwrap_or_default();
        let known = listed(names()).join(", ");
        let known = if known.is_empty() { "none".to_owned() } else { known };
        Ok(format!("the store has no agent {name:?}{hint} (there are: {known})"))
    }

    async fn known(&self) -> Result<Vec<String>, BoxError> {
        let found = self.store.list(None, MAX_KNOWN).await?;
        Ok(found.into_iter().map(|version| version.name).collect())
    }
}

#[cfg(test)]
#[cfg(feature = "sqlite")]
mod tests;
