//! One event of a run, in one form for all readers and hosts: a fact, or a part of one that is
//! under way.
//!
//! **Facts** are the events that a reader of the closed history returns again, with the same ids
//! and in the same order. **Deltas**, whose kinds all end in `delta`, are seen only while they
//! happen; a fact replaces them. [`EventKind`] lists both.
//!
//! # Design
//! **Events are data, not instructions.** A kind or a member that this build does not know is kept
//! and written again unchanged, so that a reader of an old release passes on what it receives.
//!
//! **Ids are made of the effects' ids,** not of numbers of history events: `k3x9q2ab/2-model` is
//! the model call of turn 2 of run `k3x9q2ab`, on every host. Only the id of the run differs
//! between hosts.

mod failure;
mod kind;
mod note;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Map, Value};

pub use self::{
    failure::RecordedFailure,
    kind::{EventKind, GuardrailStage},
    note::{
        FailedCallNote, GatedCallNote, NoteKind, NotedDecision, NotedOutput, RUN_NOTE_MEMO, RunNote, TrippedGuardrail,
        untold_outputs,
    },
};
use super::side_data::SideData;
use super::version::WIRE_VERSION;
use super::version::WireVersion;

/// An event of a run of agents.
///
/// JSON shape: one object with the members below and those of its kind, absent ones left out:
///
/// ```json
/// {"version": "1.2", "id": "k3x9q2ab/1-model/0", "run": "k3x9q2ab", "agent": "desk", "turn": 1,
///  "time": "2026-11-23T12:00:00Z", "kind": "message", "text": "12 degrees", "item": {}}
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RunEvent {
    /// The version of this value.
    pub version: WireVersion,
    /// Position in the stream, from which a reader continues with the next event; for a delta from
    /// a heartbeat that of the event before. Absent for events of an inline run and for those of a
    /// saved history.
    pub cursor: Option<String>,
    /// Id of the event: the same for every reader. Empty for deltas of inline runs and
    /// of `RunEvents::attempts`.
    pub id: String,
    /// Id of the run: of the outermost run in its workflow. Empty for an end or a reset of a
    /// workflow in which no run is open.
    pub run: String,
    /// Id of the child workflow to which the run belongs; absent for the workflow that is read.
    pub workflow: Option<String>,
    /// The calls in which the run runs, outermost first: `["1-tool-0"]` for an agent that is the
    /// first tool call of turn 1.
    pub path: Vec<String>,
    /// Name of the agent whose turn it is; empty where no agent is known.
    pub agent: String,
    /// Number of the turn, counted from 1; 0 before the first one.
    pub turn: u32,
    /// Time of the event (RFC 3339, UTC).
    pub time: String,
    /// `true` if the reader could not decode the event's content, because it lacks the codec of
    /// the workers or because another release wrote it.
    pub is_opaque: bool,
    /// The kind of the event, with its content.
    pub kind: EventKind,
    /// Members that this build does not know.
    pub unknown: Map<String, Value>,
}

/// The members that all kinds have.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(in crate::wire) struct Common {
    version: WireVersion,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    id: String,
    run: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workflow: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    path: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    agent: String,
    #[serde(default, skip_serializing_if = "super::absent::is_default")]
    turn: u32,
    time: String,
    #[serde(default, rename = "opaque", skip_serializing_if = "super::absent::is_default")]
    is_opaque: bool,
}

const COMMON: [&str; 10] = ["version", "cursor", "id", "run", "workflow", "path", "agent", "turn", "time", "opaque"];

impl RunEvent {
    /// Returns an event of this build with no place yet.
    #[doc(hidden)]
    pub fn new(kind: EventKind) -> Self {
        Self {
            version: WIRE_VERSION,
            cursor: None,
            id: String::new(),
            run: String::new(),
            workflow: None,
            path: Vec::new(),
            agent: String::new(),
            turn: 0,
            time: String::new(),
            is_opaque: false,
            kind,
            unknown: Map::new(),
        }
    }

    /// Returns the event without the data that a database does not keep.
    #[doc(hidden)]
    #[must_use]
    pub fn stored(mut self) -> Self {
        if let Some(data) = self.side_data_mut() {
            data.retain_stored();
        }
        self
    }

    /// Returns the event without the data that the clients of a service may not see.
    #[doc(hidden)]
    #[must_use]
    pub fn shown(mut self) -> Self {
        if let Some(data) = self.side_data_mut() {
            data.retain_shown();
        }
        self
    }

    fn side_data_mut(&mut self) -> Option<&mut SideData> {
        match &mut self.kind {
            EventKind::ToolOutput { side_data, .. } => side_data.as_deref_mut(),
            _ => None,
        }
    }

    /// Returns `true` for a delta: an event that the closed history does not contain.
    pub fn is_delta(&self) -> bool {
        self.kind.name().ends_with("delta")
    }
}

impl Serialize for RunEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { version, cursor, id, run, workflow, path, agent, turn, time, is_opaque, kind, unknown } =
            self.clone();
        let common = Common { version, cursor, id, run, workflow, path, agent, turn, time, is_opaque };
        let mut members = members_of(&common).map_err(<S::Error as ser::Error>::custom)?;
        members.extend(kind.into_members().map_err(<S::Error as ser::Error>::custom)?);
        for (name, value) in unknown {
            members.entry(name).or_insert(value);
        }
        members.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RunEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Map::deserialize(deserializer)?;
        let mut common = Map::new();
        for name in COMMON {
            if let Some(value) = members.shift_remove(name) {
                common.insert(name.to_owned(), value);
            }
        }
        let Common { version, cursor, id, run, workflow, path, agent, turn, time, is_opaque } =
            Common::deserialize(Value::Object(common)).map_err(<D::Error as de::Error>::custom)?;
        let (kind, unknown) = EventKind::of_members(members).map_err(<D::Error as de::Error>::custom)?;
        Ok(Self { version, cursor, id, run, workflow, path, agent, turn, time, is_opaque, kind, unknown })
    }
}

/// Returns the members of a value that is a JSON object.
fn members_of(value: &impl Serialize) -> Result<Map<String, Value>, serde_json::Error> {
    match serde_json::to_value(value)? {
        Value::Object(members) => Ok(members),
        other => Err(de::Error::custom(format_args!("{other} is not an object"))),
    }
}

#[cfg(test)]
mod tests;
