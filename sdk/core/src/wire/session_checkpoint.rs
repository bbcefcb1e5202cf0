//! The checkpoint of an agentic session: the state that an activity that runs agents keeps in its
//! heartbeat details.
//!
//! One value, in `details[0]` of each heartbeat, as a JSON object:
//! `tests/golden/wire/v1.2/session_checkpoint-*.json`, or, if the session has a store for
//! checkpoints that are too large, `kept_checkpoint.json`. Each run consists of the state that it
//! continues from, and the answers of its model and its tools since: a run that continues from
//! there gets those answers at once, and makes only the calls that have none.
//!
//! A reader, in any language, first checks `format`, then the major `version`; members that it does
//! not know belong to a later minor version. `turns` and `results` are for all readers. `runs` is
//! for this library alone: the ids of effects in `answers` are internal.
//!
//! This module does not read the checkpoints of others; `agentic_session/proposal/` does.
//!
//! # Design
//! | member | |
//! |---|---|
//! | `format` | `temporal-agents/session`: distinguishes it from the checkpoints of others |
//! | `version` | of the wire contract; another major version restarts the session, with a warning |
//! | `turns` | model calls so far, for people who look at the activity |
//! | `results`, `origins` | collected results, and the run of each; null = collected between runs |
//! | `runs` | each run, in the order in which they began |
//!
//! A run has its `agent`, the `state` it continues from, the `answers` since by effect id, `memory`
//! and `session_writes` of its session, its `facts` for readers outside of the worker, and, if it
//! continues from a checkpoint of another kind, the `conversation` it begins with.
//!
//! For a checkpoint that a store keeps, the heartbeat contains
//! `{format, version, kept: {key, bytes, digest}}`. For a tool that is not idempotent, `begun` is
//! recorded before its call; if there is no answer after it, the outcome is reported as unknown.
//! `tests/tests/it/agentic_session/crash.rs` kills workers at each of these points and counts what
//! runs again.

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
    session_facts::SessionFacts,
    side_data::SideData,
    tool_call::ToolOutput,
    tool_error::FailureDetail,
    version::{Versioned, WIRE_VERSION, WireVersion},
};

/// Value of `format` that distinguishes the checkpoints of this crate from others.
pub const SESSION_FORMAT: &str = "temporal-agents/session";

/// The checkpoint of an agentic session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionCheckpoint {
    /// [`SESSION_FORMAT`].
    pub format: String,
    /// The version of this value. A value of another major version is not read, and the session
    /// starts over.
    pub version: WireVersion,
    /// Number of model calls that the runs have made, without those of nested runs. For people who
    /// look at the activity.
    #[serde(default)]
    pub turns: u32,
    /// Results that the session has collected, in order.
    #[serde(default)]
    pub results: Vec<Value>,
    /// Origin of each result: the index of its run in `runs`; null for a result from between the
    /// runs, which another attempt collects again.
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
    /// Returns an empty checkpoint of this build.
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

/// The value that the heartbeat contains instead of a checkpoint that a store keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptCheckpoint {
    /// [`SESSION_FORMAT`].
    pub format: String,
    /// The version of this value.
    pub version: WireVersion,
    /// Location of the checkpoint.
    pub kept: KeptAs,
}

/// Location of a checkpoint in a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptAs {
    /// Key in the store.
    pub key: String,
    /// Length of its JSON text in bytes.
    pub bytes: usize,
    /// Digest of its JSON text.
    pub digest: Digest,
}

impl KeptCheckpoint {
    /// Returns a value of this build, with this location.
    pub fn new(kept: KeptAs) -> Self {
        Self { format: SESSION_FORMAT.to_owned(), version: WIRE_VERSION, kept }
    }
}

/// One run of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionRun {
    /// Name of the agent that the run was started with.
    #[serde(default)]
    pub agent: String,
    /// State that the run continues from; absent = from its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Box<RunState>>,
    /// Conversation that the run begins with instead of its input: from a checkpoint of another
    /// kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Vec<Item>>,
    /// Number of writes to its session store until that state.
    #[serde(default, skip_serializing_if = "is_default")]
    pub session_writes: u32,
    /// Items of its session in memory at that state, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Vec<Item>>,
    /// Answers to its model calls and tool calls since that state, by the id of the effect:
    /// `<turn>-model`, `<turn>-tool-<index>`, and longer ids in agents that are tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, EffectAnswer>,
    /// Facts of the run, as far as the checkpoint has room for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<SessionFacts>,
}

/// The recorded answer of an effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EffectAnswer {
    /// The answer of a model.
    Model {
        /// Response of the model.
        response: ModelResponse,
    },
    /// The answer of a tool.
    Tool {
        /// Output for the model.
        output: ToolOutput,
        /// Changes to the run context.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_patch: Option<Value>,
        /// Data that the model does not receive.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        side_data: Option<Box<SideData>>,
        /// Question of an MCP server to people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<McpQuestion>,
    },
    /// A tool that failed, after all its attempts.
    ToolFailed {
        /// Kind of the failure.
        how: ToolFailed,
        /// Description of the failure.
        message: String,
    },
    /// A tool that must not be called twice has begun; it is unknown whether the call took effect.
    Begun,
}

/// Kind of a tool's failure: with the message, the recorded form of a `ToolFailure`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolFailed {
    /// The tool returned an error.
    Error {
        /// Message for the model, code, issues and example, as far as the tool chose them.
        #[serde(flatten)]
        detail: Box<FailureDetail>,
    },
    /// The tool panicked.
    Panic,
    /// The output of the tool is too large.
    Oversized,
    /// The tool did not return in time.
    Timeout {
        /// Time limit of one attempt, in seconds and nanoseconds.
        after: Duration,
    },
    /// The only attempt of the tool was interrupted.
    OutcomeUnknown,
}
