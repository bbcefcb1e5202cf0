//! Input, messages and results of a `ChatWorkflow`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{Malformed, read};
use crate::wire::{
    absent::is_default,
    agent_handlers::{first_version, readable_version},
    agent_spec::{LoadedSpec, SpecRef},
    carried::Carried,
    item::Item,
    version::{WIRE_VERSION, WireVersion},
};

/// Workflow type of `ChatWorkflow`.
pub const CHAT_WORKFLOW: &str = "ChatWorkflow";
/// Name of the update that sends a message to a chat; takes a [`ChatMessage`], returns a
/// [`ChatReply`].
pub const CHAT_SEND: &str = "chat_send";
/// Name of the query for the answer to a message; takes the message's id. Returns a [`ChatReply`]
/// that is [`ChatOutcome::GoesOn`] while there is no answer yet, or null for a message that the
/// chat does not know (any more).
pub const CHAT_REPLY: &str = "chat_reply";
/// Name of the query that returns a [`ChatTranscript`].
pub const CHAT_TRANSCRIPT: &str = "chat_transcript";
/// Name of the update that ends a chat; takes nothing, returns a [`ChatReply`].
pub const CHAT_END: &str = "chat_end";

/// The input of a `ChatWorkflow`.
///
/// JSON shape: `{"agent": "librarian"}`, or `{}` if there is one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct ChatRequest {
    /// The version of this message; absent = 1.0, since people may write this message by hand.
    #[serde(default = "first_version", deserialize_with = "readable_version")]
    pub version: WireVersion,
    /// Name of the agent; absent = the only agent of the workflow, or the one of `spec`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The agent as data that answers, in place of one of the workflow's own agents. All messages
    /// of the chat are answered by the version that was loaded when it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<SpecRef>,
    /// The conversation before this chat. A chat with a [thread](Self::thread) has that of the thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversation: Vec<Item>,
    /// Id of a stored conversation, which the chat continues, and to which it adds its own items;
    /// absent = none. The workflow's set of agents names the store:
    /// `AgentSet::thread_store`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The chat so far; the workflow sets it when it continues as new. An input from any other
    /// source that has it fails the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<Box<CarriedChat>>,
    /// `true` if each message begins with the agent that answered the previous one; absent = the
    /// setting of the workflow's set of agents. If that set does not let callers choose, `true`
    /// fails the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_agent_continues: Option<bool>,
    /// Names of the toolsets and devices whose tools the agents have beside their own, found when
    /// the run of a message begins. The workflow's set of agents must permit them:
    /// `AgentSet::allow_toolsets`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub toolsets: Vec<String>,
    /// The user for whom the run works, who must own the selected devices; the service over HTTP
    /// writes the caller whom it has authenticated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// `true` if the chat has content that nobody answers for; as
    /// [`AgentRequest::untrusted`](super::AgentRequest::untrusted).
    #[serde(default, skip_serializing_if = "is_default")]
    pub untrusted: bool,
    /// The specs that the chat has recorded; the workflow sets them when it continues as new. An
    /// input from any other source that has them fails the workflow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loaded: Vec<LoadedSpec>,
    /// The input, if it could not be understood.
    #[serde(skip)]
    pub malformed: Option<Malformed>,
}

/// A chat that continues in the next execution of its workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CarriedChat {
    /// The conversation, or the run that is in progress, if there is one.
    pub run: Carried,
    /// The message that the run answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<ChatMessage>,
    /// Messages that wait for their turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<ChatMessage>,
    /// The latest answers, for clients that request them again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<ChatReply>,
    /// Number of messages received.
    pub messages: u32,
    /// `true` if the chat ends once all messages are answered.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_ending: bool,
    /// Version of the agents of the run; absent = the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// Name of the agent with which the current message began, or with which the next one begins;
    /// absent = the start agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_agent: Option<String>,
}

impl ChatRequest {
    /// Returns a request for a chat with this agent.
    #[doc(hidden)]
    pub fn new(agent: impl Into<String>) -> Self {
        Self { agent: Some(agent.into()), ..Self::empty() }
    }

    /// Returns a request for a chat with an agent as data.
    pub fn of_spec(spec: SpecRef) -> Self {
        Self { spec: Some(spec.clone()), ..Self::new(spec.name) }
    }

    /// Returns the request that starts this chat again after its workflow has ended, with the same start
    /// agent, user, tools and trust, and the conversation of its thread. `None` without a thread, where
    /// the conversation has ended with the workflow.
    #[doc(hidden)]
    pub fn into_restart(self) -> Option<Self> {
        self.thread.as_ref()?;
        Some(Self { conversation: Vec::new(), carried: None, loaded: Vec::new(), ..self })
    }

    /// Returns `true` if the input claims to carry a chat from a previous execution.
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
            conversation: Vec::new(),
            thread: None,
            carried: None,
            last_agent_continues: None,
            toolsets: Vec::new(),
            user: None,
            untrusted: false,
            loaded: Vec::new(),
            malformed: None,
        }
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

/// A message to a chat; JSON shape: `{"text": "Where is my parcel?"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// The version of this message; absent = 1.0.
    #[serde(default = "first_version", deserialize_with = "readable_version")]
    pub version: WireVersion,
    /// Id of the message, at most 256 bytes. A message with the id of an earlier one requests the
    /// answer to it, and is not added again. Absent = the chat assigns an id that begins with `#`,
    /// which no other id may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Text of the message.
    pub text: String,
    /// The toolsets and devices that the sender expects the chat to have; a chat that was started
    /// with others refuses the message. Absent = whatever the chat has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolsets: Option<Vec<String>>,
}

impl ChatMessage {
    /// Returns a message with this text and this id.
    #[doc(hidden)]
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { version: WIRE_VERSION, id: Some(id.into()), text: text.into(), toolsets: None }
    }

    /// Sets the toolsets and devices that the chat must have been started with.
    #[must_use]
    pub fn expecting_toolsets(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.toolsets = Some(names.into_iter().map(Into::into).collect());
        self
    }
}

/// The reply to a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChatReply {
    /// The version of this message.
    pub version: WireVersion,
    /// Id of the message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The outcome of the message.
    pub outcome: ChatOutcome,
}

/// The outcome of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChatOutcome {
    /// The agent has answered.
    Answered {
        /// The answer: a string, or a value of the agent's output type.
        output: Value,
    },
    /// The run has failed. Its completed work is in the conversation, after the message. If there
    /// is none, the conversation is the same as before the message.
    Failed {
        /// Reason for the failure.
        reason: String,
    },
    /// The message was accepted, and its answer comes later: the workflow continues as new, or
    /// enough messages already hold their updates open. Use the query `chat_reply` to get the
    /// answer; if the chat does not know the message, send it again with this id.
    GoesOn,
    /// The message was not accepted.
    Refused {
        /// Reason for the refusal, and what to do.
        reason: String,
    },
    /// The chat ends.
    Ends,
    /// An outcome of a later release.
    #[serde(other)]
    Other,
}

impl ChatReply {
    /// Returns a reply with this outcome of this message.
    #[doc(hidden)]
    pub fn new(message: impl Into<String>, outcome: ChatOutcome) -> Self {
        Self { version: WIRE_VERSION, message: message.into(), outcome }
    }
}

/// The conversation of a chat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatTranscript {
    /// The version of this message.
    pub version: WireVersion,
    /// Name of the agent that the chat was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The conversation, including tool calls, up to the latest message that was answered; only the
    /// latest items, up to 1 MiB.
    pub items: Vec<Item>,
    /// Number of older items that were left out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub left_out: u32,
    /// The message that is being answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<ChatMessage>,
    /// Messages that wait for their turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<ChatMessage>,
}
