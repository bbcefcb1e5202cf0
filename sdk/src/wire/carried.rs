//! What a run leaves to the next execution of its workflow, when that continues as new.
//!
//! A [`Carried`] is a part of the workflow's input. A small state is in it; a large one is left in chunks in the history of the
//! execution before (the inputs of `agents.keep_state` activities), from where the next one reads it (`agents.load_state`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    absent::is_default,
    agent_handlers::readable_version,
    digest::Digest,
    run_state::RunState,
    version::{Versioned, WIRE_VERSION, WireVersion},
};

/// The type of the activity that records a chunk of a state.
pub const KEEP_STATE_ACTIVITY: &str = "agents.keep_state";
/// The type of the activity that reads such a chunk from the execution before.
pub const LOAD_STATE_ACTIVITY: &str = "agents.load_state";

/// A run on its way from one execution of its workflow to the next: a part of the input the workflow continues as new with.
///
/// The author's input type has a place for it, and the next execution gives it to `Runner::run_carried`, which refuses one that no
/// execution before has left: a caller may write it, too. Reading it fails on a version that is not [read here](WireVersion::check):
/// the workflow task is then tried again, until a newer worker takes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// The version of this value.
    #[serde(deserialize_with = "readable_version")]
    pub version: WireVersion,
    /// How often the run has continued as new, this time included.
    pub continued: u32,
    /// The run itself.
    pub state: CarriedState,
    /// The workflow's inbox of decisions, where the run has one; a value with a version of its own.
    #[serde(default, skip_serializing_if = "is_default")]
    pub inbox: Option<Value>,
}

/// Where the state of a run is. An *instruction* kind: one that is not known cannot be gone on with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum CarriedState {
    /// Here.
    Inline {
        /// The state.
        state: Box<RunState>,
    },
    /// In the history of the execution before.
    Kept(KeptState),
}

/// A state in chunks of its JSON text, in the history of an execution of the same workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptState {
    /// The id of that execution (Temporal's run id).
    pub run_id: String,
    /// The ids of the activities that have recorded the chunks, in their order.
    pub activity_ids: Vec<String>,
    /// How long the text is.
    pub bytes: u64,
    /// Its digest.
    pub digest: Digest,
}

/// The input of the activity that records a chunk of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepStateRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// The chunk: a part of JSON text.
    pub chunk: String,
    /// That text.
    pub of: StateText,
}

/// The text of a state that is kept in chunks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateText {
    /// How long it is.
    pub bytes: u64,
    /// Its digest.
    pub digest: Digest,
    /// In how many chunks it is kept.
    pub chunks: u32,
}

/// Its result: the chunk is in history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepStateReply {
    /// The version of this message.
    pub version: WireVersion,
    /// The text that the chunk in history is a part of. A worker that replays may make another text of the same state, so that what
    /// was kept is known from here alone.
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
    /// The execution of this workflow that has it in its history.
    pub run_id: String,
    /// The id of the activity that has recorded it there.
    pub activity_id: String,
}

/// Its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadStateReply {
    /// The version of this message.
    pub version: WireVersion,
    /// The chunk.
    pub chunk: String,
}

impl Versioned for LoadStateReply {
    fn version(&self) -> WireVersion {
        self.version
    }
}

impl Carried {
    /// A run that goes on from this state for the `continued`th time.
    pub fn new(continued: u32, state: CarriedState, inbox: Option<Value>) -> Self {
        Self { version: WIRE_VERSION, continued, state, inbox }
    }
}
