//! The activity that loads an agent as data from the operator's store, when a run starts.
//!
//! Its reply is the record of the run: it has the spec and all specs that the run can reach by
//! handoffs, each with its version. The store is not read again for this run.

use serde::{Deserialize, Serialize};

use super::{
    absent::is_default,
    agent_spec::{LoadedSpec, SpecRef},
    version::{Versioned, WireVersion},
};

/// Type of the activity that loads a spec.
pub const LOAD_AGENT_ACTIVITY: &str = "agents.load_agent";
/// Failure type of a spec that the store does not have; it is not retried.
pub const UNKNOWN_AGENT_SPEC: &str = "UnknownAgentSpec";
/// Failure type of a store that cannot be read; it is retried.
pub const AGENT_STORE_ERROR: &str = "AgentStoreError";

/// A request to load a spec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadAgentRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// The spec.
    pub spec: SpecRef,
    /// `true` if models are called on another task queue, so that the worker cannot know which of
    /// them are served.
    #[serde(default, skip_serializing_if = "is_default")]
    pub models_elsewhere: bool,
}

/// The specs that were loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadAgentReply {
    /// The version of this message.
    pub version: WireVersion,
    /// The requested spec first, then those that its handoffs reach. Specs that cannot be read are
    /// left out, and are among the issues.
    pub specs: Vec<LoadedSpec>,
    /// Everything that the worker has found wrong; the run then fails, with these and with what the
    /// workflow finds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<String>,
}

impl Versioned for LoadAgentReply {
    fn version(&self) -> WireVersion {
        self.version
    }
}
