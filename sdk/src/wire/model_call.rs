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
    usage::Usage,
    version::{WIRE_VERSION, WireVersion, WireVersionMismatch},
};

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
    pub fn new(
        agent: impl Into<String>,
        model: impl Into<String>,
        definitions: Definitions,
        input: Vec<Item>,
    ) -> Self {
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
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnfoldError {
    /// It holds an instruction this build does not know.
    #[error(transparent)]
    Version(#[from] WireVersionMismatch),
    /// It does not add up: another digest or count than the message says.
    #[error("the {what} of the model request do not match their digest: expected {expected}, found {found}")]
    Digest {
        /// `definitions` or `items`.
        what: &'static str,
        /// The digest in the message.
        expected: String,
        /// The digest of what arrived.
        found: String,
    },
}

impl ModelRequest {
    /// The message for a call that sends everything.
    pub fn in_full(call: ModelCall) -> Self {
        let ModelCall { agent, turn, model, definitions, input, previous_response_id, conversation_id } = call;
        Self {
            version: WIRE_VERSION,
            agent,
            turn,
            model,
            definitions: DefinitionsPart::Inline { digest: definitions.digest(), definitions: Box::new(definitions) },
            input: Conversation::of_items(input),
            previous_response_id,
            conversation_id,
        }
    }

    /// The call that was meant, its digests checked.
    ///
    /// # Errors
    /// [`UnfoldError`]: an unknown instruction, or a conversation or definitions other than the digest says.
    pub fn unfold(self) -> Result<ModelCall, UnfoldError> {
        let Self { version, agent, turn, model, definitions, input, previous_response_id, conversation_id } = self;
        let unknown = |kind: &str| WireVersionMismatch {
            message: "model request",
            found: version,
            reads: WIRE_VERSION,
            unknown: Some(kind.to_owned()),
        };
        let definitions = match definitions {
            DefinitionsPart::Inline { digest, definitions } => {
                check("definitions", &digest, &definitions.digest())?;
                *definitions
            }
            DefinitionsPart::Call { .. } => return Err(unknown("definitions by reference").into()),
            DefinitionsPart::Unknown(kind) => return Err(unknown(&kind).into()),
        };
        let mut items = Vec::with_capacity(input.count as usize);
        for segment in input.segments {
            match segment {
                InputSegment::Items { items: more } => items.extend(more),
                InputSegment::Call { .. } | InputSegment::ToolResult { .. } => {
                    return Err(unknown("input by reference").into());
                }
                InputSegment::Unknown(kind) => return Err(unknown(&kind).into()),
            }
        }
        check("items", &input.digest, &Digest::of_conversation(&items))?;
        Ok(ModelCall { agent, turn, model, definitions, input: items, previous_response_id, conversation_id })
    }
}

fn check(what: &'static str, expected: &Digest, found: &Digest) -> Result<(), UnfoldError> {
    if expected == found {
        return Ok(());
    }
    Err(UnfoldError::Digest { what, expected: expected.to_string(), found: found.to_string() })
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelResponse {
    /// The output items, as they came and in their order.
    pub output: Vec<Item>,
    /// What the call used.
    #[serde(default)]
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

impl From<ModelResponse> for ModelReply {
    fn from(response: ModelResponse) -> Self {
        Self { version: WIRE_VERSION, response }
    }
}
