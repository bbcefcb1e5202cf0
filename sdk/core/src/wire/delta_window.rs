//! The heartbeat details of an activity that streams: how far it is, and its latest deltas.
//!
//! The details are a window, not a log: older deltas leave it, and the fact that history records
//! replaces them all. Each delta has a number, so that a reader notices what it has missed.

use serde::{Deserialize, Serialize};

use super::{
    absent::is_default,
    event::RunEvent,
    version::{Versioned, WIRE_VERSION, WireVersion},
};

/// Value of `format` that distinguishes these details from those of other activities.
pub const DELTA_FORMAT: &str = "temporal-agents/deltas";

/// The member with the [`DeltaWindow`]s of an agentic session's open calls: a list beside the
/// members of its checkpoint, whose readers ignore it.
pub const SESSION_DELTAS: &str = "deltas";

/// The heartbeat details of an activity that streams.
///
/// JSON shape: `tests/golden/wire/v1.2/delta_window-*.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeltaWindow {
    /// `temporal-agents/deltas`.
    pub format: String,
    /// The version of this value.
    pub version: WireVersion,
    /// Progress of the call, for people who look at the activity: `Streaming LLM response: 240
    /// chunks, 5,120 characters`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub progress: String,
    /// Number of the attempt, counted from 1.
    pub attempt: u32,
    /// Number of the first delta in `deltas`, counted from 0 in each attempt.
    #[serde(default)]
    pub first: u64,
    /// The latest deltas, oldest first. None if another transport takes them to their readers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deltas: Vec<RunEvent>,
}

impl DeltaWindow {
    /// Returns an empty window of this build.
    pub fn new(attempt: u32) -> Self {
        Self {
            format: DELTA_FORMAT.to_owned(),
            version: WIRE_VERSION,
            progress: String::new(),
            attempt,
            first: 0,
            deltas: Vec::new(),
        }
    }
}

impl Versioned for DeltaWindow {
    fn version(&self) -> WireVersion {
        self.version
    }
}
