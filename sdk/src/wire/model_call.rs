//! A model call: what the engine asks for, what crosses history, what comes back.
//!
//! Third of the five files of a model call (`drive/mod.rs` -> `workflow/activity_backed_model.rs` -> here ->
//! `worker/model_activity.rs` -> `worker/openai/responses.rs`). [`ModelCall`] is the call itself, complete;
//! [`ModelRequest`] is how it travels, with references to what history holds; [`ModelResponse`] is the answer and
//! [`ModelReply`] how that travels.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    conversation::{Conversation, InputSegment},
    definitions::{Definitions, DefinitionsPart},
    digest::Digest,
    item::Item,
    usage::{Usage, in_answer},
    version::{Versioned, WIRE_VERSION, WireVersion, WireVersionMismatch},
};
use crate::wire::error_debug;

/// The type of the activity that calls models.
pub const MODEL_ACTIVITY: &str = "agents.call_model";

/// A complete model call, as a [`Model`](crate::Model) gets it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelCall {
    /// The agent whose turn it is.
    pub agent: String,
    /// The turn, counted from 1 over the whole run.
    pub turn: u32,
    /// The model's name, as the agent or the run gives it.
    pub model: String,
    /// What the agent is to the model.
    pub definitions: Definitions,
    /// The conversation so far; with server-side state only what the server has not seen.
    pub input: Vec<Item>,
    /// The response this call follows, for providers that keep the conversation.
    pub previous_response_id: Option<String>,
    /// The conversation at the provider.
    pub conversation_id: Option<String>,
}

impl ModelCall {
    /// A call with this agent, model, definitions and input; turn 1, no server-side state.
    pub fn new(agent: impl Into<String>, model: impl Into<String>, definitions: Definitions, input: Vec<Item>) -> Self {
        Self {
            agent: agent.into(),
            turn: 1,
            model: model.into(),
            definitions,
            input,
            previous_response_id: None,
            conversation_id: None,
        }
    }
}

/// The input of the model activity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// See [`ModelCall::agent`].
    pub agent: String,
    /// See [`ModelCall::turn`].
    pub turn: u32,
    /// See [`ModelCall::model`].
    pub model: String,
    /// The definitions, or a reference to them.
    pub definitions: DefinitionsPart,
    /// The input, or references to it.
    pub input: Conversation,
    /// See [`ModelCall::previous_response_id`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_response_id: Option<String>,
    /// See [`ModelCall::conversation_id`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
}

/// Why a request cannot be turned back into the call that was meant.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum UnfoldError {
    /// It holds an instruction this build does not know.
    #[error(transparent)]
    Version(#[from] WireVersionMismatch),
    /// It refers to what history holds; only the worker can read that.
    #[error("the model request refers to history")]
    Refers,
    /// Its segments hold another number of items than it says.
    #[error("the model request says it has {expected} items, but it has {found}")]
    Count {
        /// The count in the message.
        expected: u32,
        /// The items that arrived.
        found: usize,
    },
    /// Its items are not those it was digested from.
    #[error("the items of the model request do not match their digest: expected {expected}, found {found}")]
    Digest {
        /// The digest in the message.
        expected: Digest,
        /// The digest of what arrived.
        found: Digest,
    },
}

error_debug!(enum UnfoldError {
    Version(source),
    Refers,
    Count { expected, found },
    Digest { expected, found },
});

impl Versioned for ModelRequest {
    fn version(&self) -> WireVersion {
        self.version
    }
}

impl ModelRequest {
    /// The message for a call that sends everything.
    pub fn in_full(call: &ModelCall) -> Self {
        let definitions = DefinitionsPart::inline(call.definitions.clone());
        let input = Conversation::of_items(call.input.clone());
        Self::with_parts(call, definitions, input)
    }

    /// The message for a call whose definitions and input travel like this.
    pub fn with_parts(call: &ModelCall, definitions: DefinitionsPart, input: Conversation) -> Self {
        let ModelCall { agent, turn, model, definitions: _, input: _, previous_response_id, conversation_id } = call;
        Self {
            version: WIRE_VERSION,
            agent: agent.clone(),
            turn: *turn,
            model: model.clone(),
            definitions,
            input,
            previous_response_id: previous_response_id.clone(),
            conversation_id: conversation_id.clone(),
        }
    }

    /// Whether something of it is to be read from history.
    pub fn refers(&self) -> bool {
        matches!(self.definitions, DefinitionsPart::Call { .. }) || self.input.segments.iter().any(InputSegment::refers)
    }

    /// The call that was meant, of a request that refers to nothing; its items are checked. (Definitions are checked where
    /// they are read, see [`DefinitionsPart`].)
    ///
    /// # Errors
    /// [`UnfoldError`]: an unknown instruction, or other items than count and digest say.
    pub fn unfold(self) -> Result<ModelCall, UnfoldError> {
        let Self { version, agent, turn, model, definitions, input, previous_response_id, conversation_id } = self;
        let unknown = |kind: &str| WireVersionMismatch {
            message: "model request",
            found: version,
            reads: WIRE_VERSION,
            unknown: Some(kind.to_owned()),
        };
        let definitions = match definitions {
            DefinitionsPart::Inline { definitions, digest: _ } => *definitions,
            DefinitionsPart::Call { .. } => return Err(UnfoldError::Refers),
            DefinitionsPart::Unknown(kind) => return Err(unknown(&kind).into()),
        };
        let Conversation { segments, count, digest } = input;
        if let Some(algorithm) = digest.foreign_algorithm() {
            return Err(unknown(&format!("digest algorithm {algorithm}")).into());
        }
        let mut items = Vec::new();
        for segment in segments {
            match segment {
                InputSegment::Items { items: more } => items.extend(more),
                InputSegment::Call { .. }
                | InputSegment::Recorded { .. }
                | InputSegment::State { .. }
                | InputSegment::ToolResult { .. } => return Err(UnfoldError::Refers),
                InputSegment::Unknown(kind) => return Err(unknown(&kind).into()),
            }
        }
        if u32::try_from(items.len()) != Ok(count) {
            return Err(UnfoldError::Count { expected: count, found: items.len() });
        }
        let found = Digest::of_conversation(&items);
        if found != digest {
            return Err(UnfoldError::Digest { expected: digest, found });
        }
        Ok(ModelCall { agent, turn, model, definitions, input: items, previous_response_id, conversation_id })
    }
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelResponse {
    /// The output items, as they came and in their order.
    pub output: Vec<Item>,
    /// What the call used. As it travels the total is absent where it is the sum.
    #[serde(default, with = "in_answer")]
    pub usage: Usage,
    /// The provider's id of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The provider's id of the HTTP request, for its support.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Why the answer stops early (`max_output_tokens`, `content_filter`); absent = complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// The provider's own usage object, where the settings ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_usage: Option<Value>,
}

/// The result of the model activity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// The version of this message.
    pub version: WireVersion,
    /// The answer.
    pub response: ModelResponse,
}

impl Versioned for ModelReply {
    fn version(&self) -> WireVersion {
        self.version
    }
}

impl From<ModelResponse> for ModelReply {
    fn from(response: ModelResponse) -> Self {
        Self { version: WIRE_VERSION, response }
    }
}
