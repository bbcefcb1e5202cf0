//! Agents as data: the JSON of one agent, which an operator stores and edits while workers run.
//!
//! A spec names its tools, guardrails and handoffs; their code is the worker's. `agent/spec/` reads
//! a spec and resolves the names, `load_agent.rs` is the request that loads it.
//!
//! # Design
//! **A spec is an instruction, and closed.** A member that this build does not know may restrict
//! the agent (another approval, a guardrail), so a spec that has one is refused and never read
//! without it. For the same reason a spec of a later minor version is refused, which other
//! messages are not.
//!
//! **A spec contains no other agent.** Handoffs name other specs, so that each agent has a history
//! of versions of its own. The record of a run ([`LoadedSpec`]) has all agents that it can reach,
//! each with the version that was found when the run began.

mod members;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::members::{SpecHandoff, SpecOutput, SpecTool};
use super::{
    absent::is_default,
    settings::ModelSettings,
    version::{WIRE_VERSION, WireVersion},
};

/// An agent as data.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use serde_json::json;
/// use temporal_agents::wire::AgentSpec;
///
/// let spec: AgentSpec = serde_json::from_value(json!({
///     "name": "desk",
///     "model": "gpt-5",
///     "instructions": "You answer questions about orders.",
///     "tools": ["find_order", {"name": "refund", "needs_approval": true}],
///     "handoffs": ["billing"],
/// }))?;
/// assert_eq!(spec.tools[1].name, "refund");
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// All members but `name` may be absent. An unknown member is an error. A string in `tools` is an
/// object that has only the `name`, a string in `handoffs` one that has only the `agent`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AgentSpec {
    /// The version of this message (not of the agent); absent = 1.2, the first with specs.
    #[serde(default = "first_spec_version")]
    pub version: WireVersion,
    /// Name of the agent: 1 to 50 letters, digits, spaces, `_`, `-` and `.`, of which the first is
    /// a letter or a digit.
    pub name: String,
    /// Description of the agent for the agents that may hand off to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Name of the model; absent = that of the workflow's `RunConfig`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Settings of the model's calls.
    #[serde(default, skip_serializing_if = "is_default")]
    pub settings: ModelSettings,
    /// The tools that the agent may call, by the names that `SpecParts` has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<SpecTool>,
    /// The tools that the model provider runs, by the names that `SpecParts` has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosted_tools: Vec<String>,
    /// The specs that the agent may hand off to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handoffs: Vec<SpecHandoff>,
    /// Guardrails on the input of runs that start with this agent, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_guardrails: Vec<String>,
    /// Guardrails on final outputs of this agent, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_guardrails: Vec<String>,
    /// Shape of the final output; absent = plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<SpecOutput>,
}

impl AgentSpec {
    /// Returns a spec with this name, and nothing else.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            version: WIRE_VERSION,
            name: name.into(),
            description: None,
            model: None,
            instructions: None,
            settings: ModelSettings::default(),
            tools: Vec::new(),
            hosted_tools: Vec::new(),
            handoffs: Vec::new(),
            input_guardrails: Vec::new(),
            output_guardrails: Vec::new(),
            output: None,
        }
    }
}

/// The version of a spec that has none.
pub(crate) fn first_spec_version() -> WireVersion {
    WireVersion { major: 1, minor: 2 }
}

/// A stored spec: its name, and its version in the store.
///
/// JSON shape: `{"name": "desk", "version": 3}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpecRef {
    /// Name of the agent.
    pub name: String,
    /// Version in the store, counted from 1; absent = the newest when the spec is loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

impl SpecRef {
    /// Returns a reference to this version of an agent's spec.
    pub fn new(name: impl Into<String>, version: u32) -> Self {
        Self { name: name.into(), version: Some(version) }
    }

    /// Returns a reference to the newest version of an agent's spec, at the time when the run
    /// loads it.
    pub fn newest(name: impl Into<String>) -> Self {
        Self { name: name.into(), version: None }
    }
}

/// A spec as a run has recorded it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadedSpec {
    /// Version in the store.
    pub version: u32,
    /// The spec.
    pub spec: AgentSpec,
}
