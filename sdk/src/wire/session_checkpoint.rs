//! The checkpoint of an agentic session: what an activity that runs agents keeps in its heartbeat details.
//!
//! One value, in `details[0]` of each heartbeat, as a JSON object: `tests/golden/wire/v1.2/session_checkpoint-*.json`, or, where the session has a
//! store for what is too large, `kept_checkpoint.json`. Each run is the state it goes on from, and what its model and its tools have answered
//! since: a run that goes on from there gets those answers at once, and makes only the calls that have none.
//!
//! Who reads it, in any language, looks at `format` first, then at the major `version`; members they do not know are of a later minor one.
//! `turns` and `results` are for everybody. `runs` are for this library alone: the ids of effects in `answers` are its own.
//!
//! This module does not read the checkpoints of others; `worker/agentic_session/proposal.rs` does.
//!
//! # Design
//! | member | |
//! |---|---|
//! | `format` | `temporal-agents/session`: distinguishes it from the checkpoints of others |
//! | `version` | of the wire contract; at another major one the session begins anew, with a warning |
//! | `turns` | model calls so far, for people who look at the activity |
//! | `results`, `origins` | collected results, and the run of each; null = from between the runs |
//! | `runs` | each run, in the order in which they began |
//!
//! A run has its `agent`, the `state` it continues from, the `answers` since by effect id, `memory`
//! and `session_writes` of its session, and the `conversation` it begins with when others began it.
//!
//! A checkpoint that a store keeps leaves `{format, version, kept: {key, bytes, digest}}` in the
//! heartbeat. A tool that is not idempotent leaves `begun` before its call; without an answer after
//! it the outcome is reported as unknown. `tests/tests/it/agentic_session/crash.rs` kills workers
//! at each of these points and counts what runs again.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    absent::is_default,
    digest::Digest,
    item::Item,
    mcp_call::McpQuestion,
    model_call::ModelResponse,
    run_state::RunState,
    tool_call::ToolOutput,
    version::{Versioned, WIRE_VERSION, WireVersion},
};

/// What tells our checkpoints from those of others.
pub const SESSION_FORMAT: &str = "temporal-agents/session";

/// What an agentic session keeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionCheckpoint {
    /// [`SESSION_FORMAT`].
    pub format: String,
    /// The version of this value: one of another major version is not read, and the session begins anew.
    pub version: WireVersion,
    /// Model calls that the runs have made, of runs inside them left out. For people who look at the activity.
    #[serde(default)]
    pub turns: u32,
    /// What the session has gathered, in order.
    #[serde(default)]
    pub results: Vec<Value>,
    /// Which run each of them comes from, by its place in `runs`, one entry for each result; null = from between the runs, whose results
    /// another attempt gathers again.
    #[serde(default)]
    pub origins: Vec<Option<usize>>,
    /// The runs, in the order in which they began.
    #[serde(default)]
    pub runs: Vec<SessionRun>,
}

impl Versioned for SessionCheckpoint {
    fn version(&self) -> WireVersion {
        self.version
    }
}

impl SessionCheckpoint {
    /// A checkpoint of this build.
    pub fn new() -> Self {
        Self {
            format: SESSION_FORMAT.to_owned(),
            version: WIRE_VERSION,
            turns: 0,
            results: Vec::new(),
            origins: Vec::new(),
            runs: Vec::new(),
        }
    }
}

impl Default for SessionCheckpoint {
    fn default() -> Self {
        Self::new()
    }
}

/// In the heartbeat in the place of a checkpoint that a store keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptCheckpoint {
    /// [`SESSION_FORMAT`].
    pub format: String,
    /// The version of this value.
    pub version: WireVersion,
    /// Where it is.
    pub kept: KeptAs,
}

/// Where a checkpoint is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptAs {
    /// The key in the store.
    pub key: String,
    /// The bytes of its JSON text.
    pub bytes: usize,
    /// The digest of that text.
    pub digest: Digest,
}

impl KeptCheckpoint {
    /// One of this build.
    pub fn new(kept: KeptAs) -> Self {
        Self { format: SESSION_FORMAT.to_owned(), version: WIRE_VERSION, kept }
    }
}

/// One run of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionRun {
    /// The agent it was started with.
    #[serde(default)]
    pub agent: String,
    /// What it goes on from; absent = from its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Box<RunState>>,
    /// A conversation that it begins with in the place of its input: from a checkpoint of another kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Vec<Item>>,
    /// Writes to its session store until then.
    #[serde(default, skip_serializing_if = "is_default")]
    pub session_writes: u32,
    /// What its session in memory held then, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Vec<Item>>,
    /// What its model calls and tool calls have answered since, by the id of the effect: `<turn>-model`, `<turn>-tool-<index>`, and longer ones of
    /// agents that are tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, EffectAnswer>,
}

/// What an effect has answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EffectAnswer {
    /// The model.
    Model {
        /// Its response.
        response: ModelResponse,
    },
    /// A tool.
    Tool {
        /// What the model gets.
        output: ToolOutput,
        /// Changes to the run context.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_patch: Option<Value>,
        /// What an MCP server has asked people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<McpQuestion>,
    },
    /// A tool that failed, after all its attempts.
    ToolFailed {
        /// How.
        how: ToolFailed,
        /// What went wrong, in the tool's own words.
        message: String,
    },
    /// A tool that must not be called twice has begun; whether it took effect is not known.
    Begun,
}

/// How a tool failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolFailed {
    /// It says so.
    Error {
        /// The text for the model, where the tool chose one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tell_model: Option<String>,
    },
    /// It panicked.
    Panic,
    /// Its output is too large.
    Oversized,
    /// It did not end in time.
    Timeout {
        /// The time one attempt had, in seconds and nanoseconds.
        after: Duration,
    },
    /// Its only attempt broke off.
    OutcomeUnknown,
}
