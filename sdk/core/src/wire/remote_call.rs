//! Tools that a provider offers over streams: their description, and the target of a call.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{absent, schema::Schema};

/// Prefix of the types of the activities that call such tools; the name of the transport and
/// [`REMOTE_CALL_TOOL`] follow, as in `agents.remote.streams.call_tool`.
pub const REMOTE_ACTIVITY: &str = "agents.remote";
/// Last part of the type of the activity that calls a tool.
pub const REMOTE_CALL_TOOL: &str = "call_tool";

/// A tool of a toolset, as its provider describes it.
///
/// JSON: `{"name": "echo", "description": "..", "payload_schema": {..}}`. Members that this release
/// does not know are ignored, and `null` counts as absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RemoteTool {
    /// Name of the tool in its toolset.
    pub name: String,
    /// Description of the tool for the model.
    #[serde(default, deserialize_with = "absent::or_default", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Tags, by which a catalogue is searched.
    #[serde(default, deserialize_with = "absent::list_or_null", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// JSON schema of the arguments, an object. Default: any object.
    #[serde(default = "any_object", deserialize_with = "schema_or_null")]
    pub payload_schema: Schema,
    /// JSON schema of the result, if the provider states one. A result that does not fit is an
    /// error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_schema: Option<Schema>,
    /// `true` if a call may be made twice without harm.
    #[serde(default, deserialize_with = "absent::or_default", skip_serializing_if = "is_false")]
    pub idempotent: bool,
    /// `true` if each result states the part of a whole that it is (`bounds`).
    #[serde(default, deserialize_with = "absent::or_default", skip_serializing_if = "is_false")]
    pub bounded: bool,
    /// `true` if a call changes nothing. A device makes such calls side by side, any other call
    /// alone.
    #[serde(default, deserialize_with = "absent::or_default", skip_serializing_if = "is_false")]
    pub read_only: bool,
}

impl RemoteTool {
    /// Creates a description with the JSON schema of the arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>, payload_schema: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            tags: Vec::new(),
            payload_schema: payload_schema.into(),
            result_schema: None,
            idempotent: false,
            bounded: false,
            read_only: false,
        }
    }

    /// Adds tags, by which a catalogue is searched.
    #[must_use]
    pub fn tags(mut self, tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tags.extend(tags.into_iter().map(Into::into));
        self
    }

    /// Sets the JSON schema of the result.
    #[must_use]
    pub fn result_schema(mut self, schema: Value) -> Self {
        self.result_schema = Some(schema.into());
        self
    }

    /// Declares that a call may be made twice without harm.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Declares that a call changes nothing, so that it may also be made twice.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        (self.read_only, self.idempotent) = (true, true);
        self
    }

    /// Declares that each result states the part of a whole that it is.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.bounded = true;
        self
    }
}

/// The tool of a provider to call, and the rules for its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RemoteTarget {
    /// Name of the toolset, which names the request stream.
    pub toolset: String,
    /// Name of the tool in its toolset.
    pub tool: String,
    /// Longest time to wait for the result, in seconds.
    pub timeout_seconds: u64,
    /// `true` if the call must not be made twice.
    #[serde(default, skip_serializing_if = "is_false")]
    pub once: bool,
    /// JSON schema of the result; absent = any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_schema: Option<Schema>,
    /// `true` if the result must state the part of a whole that it is.
    #[serde(default, skip_serializing_if = "is_false")]
    pub bounded: bool,
    /// Id of the run's session, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Id of the call of the agent that runs as a tool and makes this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call: Option<String>,
    /// The user for whom the toolset was found; a device must belong to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

fn any_object() -> Schema {
    serde_json::json!({"type": "object", "properties": {}}).into()
}

fn schema_or_null<'de, D: Deserializer<'de>>(member: D) -> Result<Schema, D::Error> {
    Ok(Option::deserialize(member)?.unwrap_or_else(any_object))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
