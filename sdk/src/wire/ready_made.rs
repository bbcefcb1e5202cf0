//! What the ready-made workflows are started with, are told, and answer.
//!
//! A caller of any language writes these as JSON. Reading a start fails for no JSON value that can be read at all: an input that cannot be decoded would fail
//! the workflow's tasks for ever. One that cannot be understood is kept as it came, and fails the workflow, unless an execution before has
//! left it. So does one that carries a run which no execution before has left, which only the workflow can tell.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{
    absent::is_default,
    agent_handlers::{first_version, readable_version},
    carried::Carried,
    item::Item,
    run_state::NewItem,
    usage::Usage,
    version::{WIRE_VERSION, WireVersion},
};

/// The workflow type of `AgentWorkflow`.
pub const AGENT_WORKFLOW: &str = "AgentWorkflow";
/// The workflow type of `ChatWorkflow`.
pub const CHAT_WORKFLOW: &str = "ChatWorkflow";
/// The update that says something to a chat: a [`ChatMessage`] in, a [`ChatReply`] out.
pub const CHAT_SEND: &str = "chat_send";
/// The query for the answer to a message, by the message's id: a [`ChatReply`] that is [`ChatOutcome::GoesOn`] while there is none yet, or
/// null for a message that the chat does not know (any more).
pub const CHAT_REPLY: &str = "chat_reply";
/// The query for a [`ChatTranscript`].
pub const CHAT_TRANSCRIPT: &str = "chat_transcript";
/// The update that ends a chat: nothing in, a [`ChatReply`] out.
pub const CHAT_END: &str = "chat_end";

/// What an `AgentWorkflow` is started with.
///
/// JSON shape: `{"agent": "triage", "input": "Where is my parcel?"}`, or just the text where there is one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct AgentRequest {
    /// The version of this message; absent = 1.0, for people who write it by hand.
    #[serde(default = "first_version", deserialize_with = "readable_version")]
    pub version: WireVersion,
    /// The agent; absent = the only one there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What it is asked.
    #[serde(default, skip_serializing_if = "is_default")]
    pub input: RequestInput,
    /// The run context at the start.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    /// Whether the result is to be an [`AgentReport`] instead of the final output alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub report: bool,
    /// Whether the report is to have the items of the run, too.
    #[serde(default, skip_serializing_if = "is_default")]
    pub report_items: bool,
    /// Most model calls of the run; absent = as the workflow's own set of agents says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// The run so far; the workflow writes it when it continues as new. From anybody else it fails the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<Box<Carried>>,
    /// The version of the agents that the carried run has; absent = the first. From anybody but the workflow it fails the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// The input, where it could not be understood.
    #[serde(skip)]
    pub(crate) malformed: Option<Malformed>,
}

/// An input that could not be understood.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Malformed {
    /// The input, as it came.
    pub(crate) json: Value,
    /// Why it could not be understood.
    pub(crate) reason: String,
}

impl Malformed {
    /// Whether it claims to be what an execution before has left. Only `null` is the same as nothing.
    fn carries_something(&self) -> bool {
        self.json.get("carried").is_some_and(|carried| !carried.is_null())
    }
}

/// Reads an input; one that cannot be understood is kept.
fn read<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    understand: impl FnOnce(Value) -> Result<T, serde_json::Error>,
    keep: impl FnOnce(Malformed) -> T,
) -> Result<T, D::Error> {
    let json = Value::deserialize(deserializer)?;
    Ok(understand(json.clone()).unwrap_or_else(|error| keep(Malformed { json, reason: error.to_string() })))
}

/// What an agent is asked; JSON shape: a text, or a list of items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
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
    /// Whether nothing is asked.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Items(items) => items.is_empty(),
        }
    }

    /// The items, where it is not a text.
    pub(crate) fn items(&self) -> &[Item] {
        match self {
            Self::Text(_) => &[],
            Self::Items(items) => items,
        }
    }

    /// The items; a text is a user message.
    pub fn into_items(self) -> Vec<Item> {
        match self {
            Self::Text(text) => vec![Item::user(text)],
            Self::Items(items) => items,
        }
    }
}

impl AgentRequest {
    /// This question, for this agent.
    pub fn new(agent: impl Into<String>, input: impl Into<String>) -> Self {
        Self { agent: Some(agent.into()), input: RequestInput::Text(input.into()), ..Self::empty() }
    }

    /// A run that goes on.
    pub(crate) fn carried(agent: String, carried: Carried) -> Self {
        Self { agent: Some(agent), carried: Some(Box::new(carried)), ..Self::empty() }
    }

    /// Whether it claims to be a run that an execution before has left.
    pub(crate) fn carries_something(&self) -> bool {
        self.carried.is_some() || self.malformed.as_ref().is_some_and(Malformed::carries_something)
    }

    fn empty() -> Self {
        Self {
            version: WIRE_VERSION,
            agent: None,
            input: RequestInput::default(),
            context: Map::new(),
            report: false,
            report_items: false,
            max_turns: None,
            carried: None,
            agent_version: None,
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

/// The result of an `AgentWorkflow` that was asked for a report. One that fails has it as the detail of its failure, with what its model
/// calls have used until then, and without an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentReport {
    /// The version of this message.
    pub version: WireVersion,
    /// The final output.
    pub output: Value,
    /// What its model calls have used.
    pub usage: Usage,
    /// What has happened in the run, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_items: Vec<NewItem>,
    /// The agent that gave the output, where the items were asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_agent: String,
}

impl AgentReport {
    /// This output, after this use.
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

/// What a `ChatWorkflow` is started with.
///
/// JSON shape: `{"agent": "librarian"}`, or `{}` where there is one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct ChatRequest {
    /// The version of this message; absent = 1.0, for people who write it by hand.
    #[serde(default = "first_version", deserialize_with = "readable_version")]
    pub version: WireVersion,
    /// The agent; absent = the only one there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What was said before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversation: Vec<Item>,
    /// The chat so far; the workflow writes it when it continues as new. From anybody else it fails the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<Box<CarriedChat>>,
    /// Whether a message begins with the agent that answered the one before; absent = as the workflow's own set of agents says. Where that lets
    /// no caller choose, `true` fails the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_agent_continues: Option<bool>,
    /// The input, where it could not be understood.
    #[serde(skip)]
    pub(crate) malformed: Option<Malformed>,
}

/// A chat on its way to the next execution of its workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CarriedChat {
    /// The conversation; a run that is under way, where one is.
    pub run: Carried,
    /// The message that the run answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<ChatMessage>,
    /// Messages that wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<ChatMessage>,
    /// The latest answers, for those who ask again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<ChatReply>,
    /// How many messages have come.
    pub messages: u32,
    /// Whether the chat is to end once all is answered.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_ending: bool,
    /// The version of the agents that the run has; absent = the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// The agent that the message begins with, or the next one; absent = the start agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_agent: Option<String>,
}

impl ChatRequest {
    /// A chat with this agent.
    pub fn new(agent: impl Into<String>) -> Self {
        Self { agent: Some(agent.into()), ..Self::empty() }
    }

    /// Whether it claims to be a chat that an execution before has left.
    pub(crate) fn carries_something(&self) -> bool {
        self.carried.is_some() || self.malformed.as_ref().is_some_and(Malformed::carries_something)
    }

    fn empty() -> Self {
        Self {
            version: WIRE_VERSION,
            agent: None,
            conversation: Vec::new(),
            carried: None,
            last_agent_continues: None,
            malformed: None,
        }
    }

    /// A chat that goes on.
    pub(crate) fn carried(agent: String, carried: CarriedChat) -> Self {
        Self { agent: Some(agent), carried: Some(Box::new(carried)), ..Self::empty() }
    }
}

impl Serialize for ChatRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.malformed {
            None => Self::serialize(self, serializer),
            Some(malformed) => malformed.json.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ChatRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let understand = |json| Self::deserialize(json);
        read(deserializer, understand, |malformed| Self { malformed: Some(malformed), ..Self::empty() })
    }
}

/// Something said to a chat; JSON shape: `{"text": "Where is my parcel?"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// The version of this message; absent = 1.0.
    #[serde(default = "first_version", deserialize_with = "readable_version")]
    pub version: WireVersion,
    /// What the message is known by: one with the id of an earlier one asks for its answer, and is not said again. At most 256 bytes. Absent = the
    /// chat gives it one that begins with `#`, as no other may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What is said.
    pub text: String,
}

impl ChatMessage {
    /// This text under this id.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { version: WIRE_VERSION, id: Some(id.into()), text: text.into() }
    }
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatReply {
    /// The version of this message.
    pub version: WireVersion,
    /// The message's id.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What became of it.
    pub outcome: ChatOutcome,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChatOutcome {
    /// The agent has answered.
    Answered {
        /// The answer: a text, or what the agent's output type makes of it.
        output: Value,
    },
    /// The run has failed; what it has done is in the conversation, after the message. Where it has done nothing, the conversation stays
    /// as it was before the message.
    Failed {
        /// Why.
        reason: String,
    },
    /// The message was taken, and its answer comes later: the workflow continues as new, or enough messages hold their updates. Ask for the
    /// answer by the query `chat_reply`; where the chat does not know the message, send it once more with this id.
    GoesOn,
    /// The message was not taken.
    Refused {
        /// Why, and what to do.
        reason: String,
    },
    /// The chat ends.
    Ends,
    /// An outcome of a later release.
    #[serde(other)]
    Other,
}

impl ChatReply {
    /// This outcome of this message.
    pub(crate) fn new(message: impl Into<String>, outcome: ChatOutcome) -> Self {
        Self { version: WIRE_VERSION, message: message.into(), outcome }
    }
}

/// What was said in a chat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatTranscript {
    /// The version of this message.
    pub version: WireVersion,
    /// The agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The conversation, tool calls included, up to the latest message that was answered; the latest items, up to 1 MiB.
    pub items: Vec<Item>,
    /// How many older items were left out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub left_out: u32,
    /// The message that is being answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<ChatMessage>,
    /// Messages that wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<ChatMessage>,
}
