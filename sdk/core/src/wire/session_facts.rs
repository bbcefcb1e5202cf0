//! The facts of an agentic session's run, as its checkpoint keeps them for readers outside of the
//! worker and for the next attempt.
//!
//! A fact is kept as a [`RunEvent`](super::RunEvent) without `version`, `run` and `cursor`, with an
//! `id` that lacks the id of the run. Facts before the state also lack the content that the input
//! or the items of the state hold. `events/kept.rs` converts both ways.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::absent::is_default;

/// The facts of one run of a session.
///
/// JSON shape of `facts[3]`, whose call is item 0 of the run's state:
///
/// ```json
/// {"id": "/1-model/0", "agent": "desk", "turn": 1, "time": "2026-11-23T12:00:00Z",
///  "kind": "tool_call", "item_at": 0}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// Id of the run in its events.
    pub run: String,
    /// The facts, oldest first.
    #[serde(default)]
    pub facts: Vec<Map<String, Value>>,
    /// Number of `facts` before the state of the run. An attempt that continues from the state
    /// reports the later ones again.
    #[serde(default)]
    pub settled: usize,
    /// Number of older facts that the checkpoint no longer holds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dropped: usize,
    /// Data that the next fact depends on, at the state of the run. Internal to this crate.
    #[serde(default)]
    pub observed: Value,
}
