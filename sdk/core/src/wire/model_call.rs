//! A model call and its response: as the engine and providers use them, and as messages in history.
//!
//! | | complete | in history |
//! |---|---|---|
//! | the call | [`ModelCall`] | [`ModelRequest`], with references to parts that history contains |
//! | the response | [`ModelResponse`] | [`ModelReply`], with a version |
//!
//! `workflow/activity_backed_model.rs` sends the request, and `worker/model_activity.rs` receives
//! it. Items have the shapes of OpenAI's Responses API, for all providers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    absent::is_default,
    conversation::{Conversation, InputSegment},
    definitions::{Definitions, DefinitionsPart},
    digest::Digest,
    item::Item,
    trace_settings::ModelTracing,
    usage::{Usage, in_answer},
    version::{Versioned, WIRE_VERSION, WireVersion, WireVersionMismatch},
};
use crate::wire::error_debug;

/// Type of the activity that calls models.
pub const MODEL_ACTIVITY: &str = "agents.call_model";

/// A complete model call, as a `Model` receives it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCall {
    /// Name of the agent whose turn it is.
    pub agent: String,
    /// Number of the turn, counted from 1 over the whole run.
    pub turn: u32,
    /// Name of the model, as specified by the agent or the run.
    pub model: String,
    /// Definitions of the agent for the model at this turn: instructions, tools, handoffs, output
    /// schema, settings.
    pub definitions: Definitions,
    /// The conversation so far; if the provider keeps the conversation, only the items that the
    /// provider has not seen.
    pub input: Vec<Item>,
    /// Id of the response that this call follows, for providers that keep the conversation.
    pub previous_response_id: Option<String>,
    /// Id of the conversation at the provider.
    pub conversation_id: Option<String>,
    /// `true` if output guardrails check the answer before anybody reads it: parts of its text are
    /// not passed on, and its messages are reported once they have passed.
    pub guards_output: bool,
    /// The extent to which a provider with traces of its own may trace the call; `None` if the run
    /// has no settings of its trace. For your own models; the providers of this crate ignore it.
    pub tracing: Option<ModelTracing>,
}

impl ModelCall {
    /// Returns a call with this agent, model, definitions and input; turn 1, no
    /// conversation kept by the provider.
    pub fn new(agent: impl Into<String>, model: impl Into<String>, definitions: Definitions, input: Vec<Item>) -> Self {
        Self {
            agent: agent.into(),
            turn: 1,
            model: model.into(),
            definitions,
            input,
            previous_response_id: None,
            conversation_id: None,
            guards_output: false,
            tracing: None,
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
    /// See [`ModelCall::guards_output`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub guards_output: bool,
    /// See [`ModelCall::tracing`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<ModelTracing>,
}

/// Error of a request that cannot be converted back to the call that was meant.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum UnfoldError {
    /// The request contains a kind of segment or a digest algorithm that this build does not know,
    /// which counts as a newer version.
    #[error(transparent)]
    Version(#[from] WireVersionMismatch),
    /// The request refers to parts in history, which the worker must read first (`conversations`).
    #[error("the model request refers to history")]
    Refers,
    /// The segments contain a different number of items than the request states.
    #[error("the model request states {expected} items, but contains {found}")]
    Count {
        /// Number of items that the message states.
        expected: u32,
        /// Number of items that arrived.
        found: usize,
    },
    /// The items do not match the digest of the request.
    #[error("the items of the model request do not match their digest: expected {expected}, found {found}")]
    Digest {
        /// Digest in the message.
        expected: Digest,
        /// Digest of the items that arrived.
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
    /// Returns the message for a call that is sent in full.
    pub fn in_full(call: &ModelCall) -> Self {
        let definitions = DefinitionsPart::inline(call.definitions.clone());
        let input = Conversation::of_items(call.input.clone());
        Self::with_parts(call, definitions, input)
    }

    /// Returns the message for a call whose definitions and input are sent in these forms.
    pub fn with_parts(call: &ModelCall, definitions: DefinitionsPart, input: Conversation) -> Self {
        let ModelCall {
            agent,
            turn,
            model,
            definitions: _,
            input: _,
            previous_response_id,
            conversation_id,
            guards_output,
            tracing,
        } = call;
        Self {
            version: WIRE_VERSION,
            agent: agent.clone(),
            turn: *turn,
            model: model.clone(),
            definitions,
            input,
            previous_response_id: previous_response_id.clone(),
            conversation_id: conversation_id.clone(),
            guards_output: *guards_output,
            tracing: *tracing,
        }
    }

    /// Returns `true` if a part of the request must be read from history.
    pub fn refers(&self) -> bool {
        matches!(self.definitions, DefinitionsPart::Call { .. }) || self.input.segments.iter().any(InputSegment::refers)
    }

    /// Returns the call that was meant by a request without references, after checking its items.
    /// (Definitions are checked when they are read, see [`DefinitionsPart`].)
    ///
    /// # Errors
    /// [`UnfoldError`]: an unknown kind of segment, a reference, or items that do not match count
    /// and digest.
    pub fn unfold(self) -> Result<ModelCall, UnfoldError> {
        let Self {
            version,
            agent,
            turn,
            model,
            definitions,
            input,
            previous_response_id,
            conversation_id,
            guards_output,
            tracing,
        } = self;
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
        Ok(ModelCall {
            agent,
            turn,
            model,
            definitions,
            input: items,
            previous_response_id,
            conversation_id,
            guards_output,
            tracing,
        })
    }
}

/// The response of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelResponse {
    /// The output items, unchanged and in their order.
    pub output: Vec<Item>,
    /// Usage of the call. In messages the total is left out if it is the sum of the others.
    #[serde(default, with = "in_answer")]
    pub usage: Usage,
    /// Id of the response, assigned by the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// Id of the HTTP request, assigned by the provider, to quote in a support request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Why the response stopped early; absent if it is complete.
    ///
    /// A run does not make the calls of a response with `max_output_tokens`, `content_filter` or
    /// `model_context_window_exceeded`, and continues the turn after `pause_turn`. `empty` marks a
    /// response without text and calls. Other values are the provider's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// The provider's own usage object, if the settings request it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_usage: Option<Value>,
}

impl ModelResponse {
    /// Creates a complete response of these items, without ids.
    pub fn new(output: Vec<Item>, usage: Usage) -> Self {
        Self { output, usage, ..Self::default() }
    }
}

/// The result of the model activity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// The version of this message.
    pub version: WireVersion,
    /// The response of the model.
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
