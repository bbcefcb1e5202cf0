//! State of a run that is passed to the next execution of its workflow by continue-as-new.
//!
//! A [`Carried`] is a part of the workflow's input. It contains a small state itself. A large state
//! is recorded in chunks in the history of the previous execution (as the inputs of
//! `agents.keep_state` activities), from where the next execution reads it (`agents.load_state`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    absent::is_default,
    agent_handlers::readable_version,
    digest::Digest,
    run_state::RunState,
    version::{Versioned, WIRE_VERSION, WireVersion},
};

/// Type of the activity that records a chunk of a state.
pub const KEEP_STATE_ACTIVITY: &str = "agents.keep_state";
/// Type of the activity that reads a chunk of a state from the previous execution.
pub const LOAD_STATE_ACTIVITY: &str = "agents.load_state";

/// A run that continues in the next execution of its workflow: a part of the input with which the
/// workflow continues as new.
///
/// The author's input type has a field for it, and the next execution passes it to
/// `Runner::run`, which refuses a value that no previous execution has passed on, because a caller
/// may also write one. Reading it fails on a version that is not [read here](WireVersion::check):
/// the workflow task is then retried until a newer worker takes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// The version of this value.
    #[serde(deserialize_with = "readable_version")]
    pub version: WireVersion,
    /// Number of times that the run has continued as new, including this time.
    pub continued: u32,
    /// State of the run, or a reference to it.
    pub state: CarriedState,
    /// The workflow's inbox of decisions, if the run has one; a value with its own version.
    #[serde(default, skip_serializing_if = "is_default")]
    pub inbox: Option<Value>,
}

/// Location of a run's state. An *instruction* kind: a run whose kind is unknown cannot continue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CarriedState {
    /// The state is in this value.
    Inline {
        /// State of the run.
        state: Box<RunState>,
    },
    /// The state is in the history of the previous execution.
    Kept(KeptState),
}

/// A state that is recorded as chunks of its JSON text in the history of an execution of the same
/// workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptState {
    /// Id of that execution (Temporal's run id).
    pub run_id: String,
    /// Ids of the activities that recorded the chunks, in the order of the chunks.
    pub activity_ids: Vec<String>,
    /// Length of the JSON text in bytes.
    pub bytes: u64,
    /// Digest of the JSON text.
    pub digest: Digest,
}

/// The input of the activity that records a chunk of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepStateRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// The chunk: a part of the state's JSON text.
    pub chunk: String,
    /// The whole text that the chunk is a part of.
    pub of: StateText,
}

/// The JSON text of a state that is recorded in chunks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateText {
    /// Length in bytes.
    pub bytes: u64,
    /// Digest of the text.
    pub digest: Digest,
    /// Number of chunks in which the text is recorded.
    pub chunks: u32,
}

/// The result of the activity that records a chunk. It shows that the chunk is in history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepStateReply {
    /// The version of this message.
    pub version: WireVersion,
    /// The text that the chunk in history is a part of. A worker that replays may produce another
    /// text for the same state, so only this value identifies the text that was recorded.
    pub of: StateText,
}

impl Versioned for KeepStateReply {
    fn version(&self) -> WireVersion {
        self.version
    }
}

/// The input of the activity that reads a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadStateRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// Run id of the execution of this workflow whose history contains the chunk.
    pub run_id: String,
    /// Id of the activity that recorded the chunk there.
    pub activity_id: String,
}

/// The result of the activity that reads a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadStateReply {
    /// The version of this message.
    pub version: WireVersion,
    /// The chunk: a part of the state's JSON text.
    pub chunk: String,
}

impl Versioned for LoadStateReply {
    fn version(&self) -> WireVersion {
        self.version
    }
}

impl Carried {
    /// Returns a run that continues from this state for the `continued`th time.
    pub fn new(continued: u32, state: CarriedState, inbox: Option<Value>) -> Self {
        Self { version: WIRE_VERSION, continued, state, inbox }
    }
}
