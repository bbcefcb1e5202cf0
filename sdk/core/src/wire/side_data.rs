//! Data of a tool call's result beside the output that the model receives.
//!
//! # Design
//! **The data is kept beside the item, never in it.** The items of a run are what models receive;
//! a member of an item would reach the provider with the next call. So the data is a member of the
//! reply of the activity, of the run's item ([`NewItem`](super::NewItem)), and of the event.
//!
//! **An audience that this build does not know is the narrowest**: such data is neither shown nor
//! stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::absent::{is_default, list_or_null, or_default};

/// Audience of data that the clients of a service may see.
const TIMELINE: &str = "timeline";
/// Audience of data that is stored as evidence, and not shown.
const EVIDENCE: &str = "evidence";

/// Name of the member in which others send the data beside an output, as JSON of [`SideData`]: MCP
/// servers in the `_meta` of a result, activities and workflows of others in the result itself.
const MEMBER: &str = "temporal-agents/side-data";

/// Data of a tool call's result that no model receives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SideData {
    /// Data for other readers than the model.
    #[serde(default, deserialize_with = "list_or_null", skip_serializing_if = "Vec::is_empty")]
    pub server_data: Vec<ServerData>,
    /// The part of a whole that the output is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
}

/// Data that a tool returns beside its output. It is never sent to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ServerData {
    /// Kind of the data, which determines its shape.
    #[serde(default, deserialize_with = "or_default")]
    pub kind: String,
    /// The readers of the data: `timeline` (people who watch the run), `evidence` (stored, for
    /// audits) or `internal` (the workflow alone).
    #[serde(default, deserialize_with = "or_default")]
    pub audience: String,
    /// The data.
    #[serde(default)]
    pub data: Value,
}

/// The part of a whole that the output of a tool is: a page of a list, the beginning of a file.
///
/// A model receives it with the output: `{"returned": 20, "total": 1312, "truncated": true,
/// "next_cursor": "c2"}`. See [`ToolDef::bounded`](crate::tool::ToolDef::bounded).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Bounds {
    /// Number of elements in the output.
    pub returned: u64,
    /// Number of elements of the whole, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// `true` if the output is not the whole.
    pub truncated: bool,
    /// Advice how a call would return less, or an empty string.
    #[serde(skip_serializing_if = "is_default")]
    pub refinement_hint: String,
    /// Value with which a call returns the next part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl SideData {
    /// Returns `true` if there is no data.
    pub fn is_empty(&self) -> bool {
        self.server_data.is_empty() && self.bounds.is_none()
    }

    /// Returns `true` if a result of an activity or a workflow of others has data beside its
    /// output.
    #[doc(hidden)]
    pub fn is_in(result: &Value) -> bool {
        result.get(MEMBER).is_some()
    }

    /// Takes the data out of a result, or out of the `_meta` of one; `None` if it has none.
    ///
    /// # Errors
    /// The data cannot be read. It is taken out nevertheless.
    #[doc(hidden)]
    pub fn take_from(members: &mut Map<String, Value>) -> serde_json::Result<Option<Self>> {
        members.remove(MEMBER).map(serde_json::from_value).transpose()
    }

    /// Returns the data in the form in which messages hold it: `None` if there is none.
    #[doc(hidden)]
    pub fn into_member(self) -> Option<Box<Self>> {
        (!self.is_empty()).then(|| Box::new(self))
    }

    /// Removes the data that a database does not keep.
    pub(crate) fn retain_stored(&mut self) {
        self.server_data.retain(|data| [TIMELINE, EVIDENCE].contains(&&*data.audience));
    }

    /// Removes the data that the clients of a service may not see.
    pub(crate) fn retain_shown(&mut self) {
        self.server_data.retain(|data| data.audience == TIMELINE);
    }

    /// Returns the data that the clients of a service may see.
    #[doc(hidden)]
    pub fn shown(&self) -> impl Iterator<Item = &ServerData> {
        self.server_data.iter().filter(|data| data.audience == TIMELINE)
    }
}

impl ServerData {
    /// Creates data for these readers: `timeline`, `evidence` or `internal`.
    pub fn new(kind: impl Into<String>, audience: impl Into<String>, data: Value) -> Self {
        Self { kind: kind.into(), audience: audience.into(), data }
    }

    /// Creates data for the people who watch the run.
    pub fn timeline(kind: impl Into<String>, data: Value) -> Self {
        Self::new(kind, TIMELINE, data)
    }

    /// Creates data that is stored as evidence, and not shown.
    pub fn evidence(kind: impl Into<String>, data: Value) -> Self {
        Self::new(kind, EVIDENCE, data)
    }

    /// Creates data for the workflow alone: it is neither shown nor stored.
    pub fn internal(kind: impl Into<String>, data: Value) -> Self {
        Self::new(kind, "internal", data)
    }
}

impl Bounds {
    /// Creates the bounds of an output that is the whole, with this number of elements.
    pub fn complete(returned: u64) -> Self {
        Self { returned, total: Some(returned), ..Self::default() }
    }

    /// Creates the bounds of an output that is a part of the whole. Set
    /// [`next_cursor`](Self::next_cursor) or [`refinement_hint`](Self::refinement_hint) too:
    /// without them a model cannot get the rest.
    pub fn part(returned: u64) -> Self {
        Self { returned, truncated: true, ..Self::default() }
    }

    /// Sets the number of elements of the whole.
    #[must_use]
    pub fn of(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    /// Sets the value with which a call returns the next part.
    #[must_use]
    pub fn next_cursor(mut self, cursor: impl Into<String>) -> Self {
        self.next_cursor = Some(cursor.into());
        self
    }

    /// Sets the advice how a call would return less.
    #[must_use]
    pub fn refinement_hint(mut self, hint: impl Into<String>) -> Self {
        self.refinement_hint = hint.into();
        self
    }
}
