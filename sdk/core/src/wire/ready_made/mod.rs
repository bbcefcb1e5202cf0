//! Inputs, messages and results of the ready-made workflows.
//!
//! A client in any language writes these as JSON. Reading an input succeeds for every JSON value
//! that can be parsed: an input that cannot be decoded would fail the workflow's tasks forever. An
//! input that cannot be understood is kept unchanged and fails the workflow, unless a previous
//! execution has passed it on. An input that carries a run which no previous execution has passed
//! on also fails the workflow; only the workflow can detect that.

mod chat;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

pub use self::chat::{
    CHAT_END, CHAT_REPLY, CHAT_SEND, CHAT_TRANSCRIPT, CHAT_WORKFLOW, CarriedChat, ChatMessage, ChatOutcome, ChatReply,
    ChatRequest, ChatTranscript,
};
use super::{
    absent::is_default,
    agent_handlers::{first_version, readable_version},
    agent_spec::{LoadedSpec, SpecRef},
    carried::Carried,
    item::Item,
    passed_gate::PassedGate,
    run_state::NewItem,
    trace_settings::TraceSettings,
    usage::Usage,
    version::{WIRE_VERSION, WireVersion},
};

/// Workflow type of `AgentWorkflow`.
pub const AGENT_WORKFLOW: &str = "AgentWorkflow";

/// The input of an `AgentWorkflow`.
///
/// JSON shape: `{"agent": "triage", "input": "Where is my parcel?"}`, or only the string if there
/// is one agent.
#[expect(clippy::struct_excessive_bools, reason = "each is a wish of its own, under its own name")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct AgentRequest {
    /// The version of this message; absent = 1.0, since people may write this message by hand.
    #[serde(default = "first_version", deserialize_with = "readable_version")]
    pub version: WireVersion,
    /// Name of the agent; absent = the only agent of the workflow, or the one of `spec`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The agent as data that runs, in place of one of the workflow's own agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<SpecRef>,
    /// Input of the agent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub input: RequestInput,
    /// Id of the thread, a stored conversation which the run continues and to which it adds its
    /// items; absent = none. If the workflow's set of agents names no store for threads, it fails
    /// the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The run context at the start.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    /// `true` if the result is an [`AgentReport`] instead of the final output alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub report: bool,
    /// `true` if the report also contains the items of the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub report_items: bool,
    /// Maximum number of model calls of the run; absent = the setting of the workflow's set of
    /// agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// `true` if the activity tools of one response run in one activity; absent = the setting of
    /// the workflow's set of agents.
    #[serde(default, skip_serializing_if = "is_default")]
    pub batch_tools: bool,
    /// `true` if the run begins with content that nobody answers for, or was triggered by it: the
    /// gate of the workflow's set of agents then denies the calls of privileged tools, also in
    /// child workflows of agents used as tools. Without a gate, such a request fails the workflow.
    #[serde(default, skip_serializing_if = "is_default")]
    pub untrusted: bool,
    /// The gates of the runs that called this agent from another workflow. The run obeys them and
    /// the gate of the workflow's set of agents; the strictest verdict holds. Only a parent
    /// workflow may set them: any other request with gates fails the workflow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<PassedGate>,
    /// Names of the toolsets and devices whose tools the agents have beside their own, found when
    /// the run begins. The workflow's set of agents must permit them:
    /// `AgentSet::allow_toolsets`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub toolsets: Vec<String>,
    /// The user for whom the run works, who must own the selected devices; the service over HTTP
    /// writes the caller whom it has authenticated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Settings of the trace of the run, beside those of the workflow's set of agents. They can
    /// narrow what these permit, and not widen it; the set's export of spans counts. An agent in a
    /// child workflow receives those of its caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<TraceSettings>>,
    /// The run so far; the workflow sets it when it continues as new. An input from any other
    /// source that has it fails the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<Box<Carried>>,
    /// Version of the agents of the carried run; absent = the first. An input from any source but
    /// the workflow that has it fails the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// The specs that the run has recorded; the workflow sets them when it continues as new. An
    /// input from any other source that has them fails the workflow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loaded: Vec<LoadedSpec>,
    /// The input, if it could not be understood.
    #[serde(skip)]
    pub malformed: Option<Malformed>,
}

/// An input that could not be understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Malformed {
    /// The input, unchanged.
    pub json: Value,
    /// Error of reading the input.
    pub reason: String,
}

impl Malformed {
    /// Returns `true` if the input claims to carry something from a previous execution. Only `null`
    /// is equivalent to an absent member.
    fn carries_something(&self) -> bool {
        self.json.get("carried").is_some_and(|carried| !carried.is_null())
    }
}

/// Reads an input, and keeps one that cannot be understood.
fn read<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    understand: impl FnOnce(Value) -> Result<T, serde_json::Error>,
    keep: impl FnOnce(Malformed) -> T,
) -> Result<T, D::Error> {
    let json = Value::deserialize(deserializer)?;
    Ok(understand(json.clone()).unwrap_or_else(|error| keep(Malformed { json, reason: error.to_string() })))
}

/// Input of an agent; JSON shape: a string, or a list of items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[non_exhaustive]
pub enum RequestInput {
    /// A message of the user.
    Text(String),
    /// A conversation.
    Items(Vec<Item>),
}

impl Default for RequestInput {
    fn default() -> Self {
        Self::Items(Vec::new())
    }
}

impl RequestInput {
    /// Returns `true` if there is no input.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Items(items) => items.is_empty(),
        }
    }

    /// Returns the items; none if the input is a string.
    #[doc(hidden)]
    pub fn items(&self) -> &[Item] {
        match self {
            Self::Text(_) => &[],
            Self::Items(items) => items,
        }
    }

    /// Returns the items; a string becomes a user message.
    pub fn into_items(self) -> Vec<Item> {
        match self {
            Self::Text(text) => vec![Item::user(text)],
            Self::Items(items) => items,
        }
    }
}

impl AgentRequest {
    /// Returns a request with this input, for this agent.
    pub fn new(agent: impl Into<String>, input: impl Into<String>) -> Self {
        Self { agent: Some(agent.into()), input: RequestInput::Text(input.into()), ..Self::empty() }
    }

    /// Returns a request with this input, for an agent as data.
    ///
    /// The request also has the name as its `agent`, so that a worker of a release without specs
    /// refuses it, and does not run its only agent.
    pub fn of_spec(spec: SpecRef, input: impl Into<String>) -> Self {
        Self { spec: Some(spec.clone()), ..Self::new(spec.name, input) }
    }

    /// Sets the [thread](Self::thread).
    #[must_use]
    pub fn in_thread(mut self, id: impl Into<String>) -> Self {
        self.thread = Some(id.into());
        self
    }

    /// Returns the request with which a carried run continues.
    #[doc(hidden)]
    pub fn carried(agent: String, carried: Carried) -> Self {
        Self { agent: Some(agent), carried: Some(Box::new(carried)), ..Self::empty() }
    }

    /// Returns `true` if the input claims to carry a run from a previous execution.
    #[doc(hidden)]
    pub fn carries_something(&self) -> bool {
        self.carried.is_some()
            || !self.loaded.is_empty()
            || self.malformed.as_ref().is_some_and(Malformed::carries_something)
    }

    fn empty() -> Self {
        Self {
            version: WIRE_VERSION,
            agent: None,
            spec: None,
            input: RequestInput::default(),
            thread: None,
            context: Map::new(),
            report: false,
            report_items: false,
            max_turns: None,
            batch_tools: false,
            untrusted: false,
            gates: Vec::new(),
            toolsets: Vec::new(),
            user: None,
            trace: None,
            carried: None,
            agent_version: None,
            loaded: Vec::new(),
            malformed: None,
        }
    }
}

impl Serialize for AgentRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.malformed {
            None => Self::serialize(self, serializer),
            Some(malformed) => malformed.json.serialize(serializer),
        }
    }
}

/// The result of an `AgentWorkflow` whose input requests a report. If that workflow fails, its
/// failure has the report as its detail, with the usage of the model calls until then, and without
/// an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentReport {
    /// The version of this message.
    pub version: WireVersion,
    /// The final output.
    pub output: Value,
    /// Usage of the run's model calls.
    pub usage: Usage,
    /// Items of the run, if they were requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_items: Vec<NewItem>,
    /// Name of the agent that produced the output, if the items were requested.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_agent: String,
}

impl AgentReport {
    /// Returns a report with this output and this usage.
    pub fn new(output: Value, usage: Usage) -> Self {
        Self { version: WIRE_VERSION, output, usage, new_items: Vec::new(), last_agent: String::new() }
    }
}

impl<'de> Deserialize<'de> for AgentRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let understand = |json| match json {
            Value::String(text) => Ok(Self { input: RequestInput::Text(text), ..Self::empty() }),
            json => Self::deserialize(json),
        };
        read(deserializer, understand, |malformed| Self { malformed: Some(malformed), ..Self::empty() })
    }
}
