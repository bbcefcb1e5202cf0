//! The typed failures of a model call: their names in history, and the details that they carry.
//!
//! A failed model activity is an ApplicationFailure of type `ModelInvocationError.<kind>` whose
//! first detail is [`ModelFailureDetails`]. The set of kinds is open: a reader that does not know a
//! kind keeps its name.

use serde::{Deserialize, Serialize};

use super::version::WireVersion;

/// Prefix of every failure type of a model call.
pub const MODEL_INVOCATION_ERROR: &str = "ModelInvocationError";
/// Failure type of a message that another release wrote and this build must not act on.
pub const WIRE_VERSION_MISMATCH: &str = "WireVersionMismatch";
/// Failure type of a request (of a tool, a session, a recording, a state) that has a readable
/// version but not the shape of that version.
pub const MALFORMED_REQUEST: &str = "MalformedRequest";
/// Failure type of a model request with references that cannot be resolved; the workflow then sends
/// the missing parts again. Its first detail is [`ConversationUnavailable`].
pub const CONVERSATION_UNAVAILABLE: &str = "ConversationUnavailable";
/// Failure type of a part of a run's state that the previous execution does not have, or that
/// cannot be read there.
pub const STATE_UNAVAILABLE: &str = "StateUnavailable";
/// Failure type of a tool that returned an error for the model.
pub const TOOL_ERROR: &str = "ToolError";
/// Failure type of a tool that returned an error that ends the run.
pub const TOOL_FAILS_RUN: &str = "ToolFailsRun";
/// Failure type of a tool that panicked.
pub const TOOL_PANICKED: &str = "ToolPanicked";
/// Failure type of a tool that has run and returned an output over the size limit.
pub const TOOL_OUTPUT_TOO_LARGE: &str = "ToolOutputTooLarge";
/// Failure type of a request in a session with a stateful MCP server, if the session is lost. Its
/// first detail is [`MCP_CALL_BEGAN`] if the server may have received the request.
pub const MCP_SESSION_LOST: &str = "McpError.SessionLost";
/// First detail of [`MCP_SESSION_LOST`] if the server may have received the request.
pub const MCP_CALL_BEGAN: &str = "began";
/// Failure type of a run that failed for a reason of its own (not a Temporal failure).
pub const AGENTS_WORKFLOW_ERROR: &str = "AgentsWorkflowError";
/// Failure type of an agentic session that failed for a reason of its own.
pub const AGENTIC_SESSION_ERROR: &str = "AgenticSessionError";

/// Kind of the failure with which a model call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFailureKind {
    /// 429: too many requests, or the quota is used up.
    RateLimit,
    /// 401: the key is missing or wrong.
    Authentication,
    /// 403: the key has no permission for this request.
    PermissionDenied,
    /// 400 and other 4xx: the request is wrong.
    BadRequest,
    /// 404: the model, or another resource that the request names, does not exist.
    NotFound,
    /// The conversation that the provider keeps, or the response that the call follows, no longer
    /// exists: it has expired or was deleted. A run that has all items makes the call again in
    /// full.
    ConversationNotFound,
    /// 408, or the provider did not answer in time.
    Timeout,
    /// 409: the provider is busy with this conversation.
    Conflict,
    /// 413: the request is too large for the provider.
    RequestTooLarge,
    /// 5xx.
    ServerError,
    /// The provider could not be reached.
    Connection,
    /// The provider returned a body that is not a response (broken or empty).
    InvalidResponse,
    /// The response is larger than the limit of a worker or of history. A retry would return one of
    /// the same size, and each is billed.
    ResponseTooLarge,
    /// The provider reports that the response failed.
    ResponseFailed,
    /// No provider of this worker serves the model.
    UnknownModel,
    /// The provider does not support what the call requests.
    Unsupported,
    /// A bug: the provider's code panicked, or broke its contract.
    Internal,
}

impl ModelFailureKind {
    /// Returns the kind's name, the part after the dot of the failure type.
    pub fn name(self) -> &'static str {
        match self {
            Self::RateLimit => "RateLimit",
            Self::Authentication => "Authentication",
            Self::PermissionDenied => "PermissionDenied",
            Self::BadRequest => "BadRequest",
            Self::NotFound => "NotFound",
            Self::ConversationNotFound => "ConversationNotFound",
            Self::Timeout => "Timeout",
            Self::Conflict => "Conflict",
            Self::RequestTooLarge => "RequestTooLarge",
            Self::ServerError => "ServerError",
            Self::Connection => "Connection",
            Self::InvalidResponse => "InvalidResponse",
            Self::ResponseTooLarge => "ResponseTooLarge",
            Self::ResponseFailed => "ResponseFailed",
            Self::UnknownModel => "UnknownModel",
            Self::Unsupported => "Unsupported",
            Self::Internal => "Internal",
        }
    }

    /// Returns the failure type in history, for example `ModelInvocationError.RateLimit`.
    pub fn failure_type(self) -> String {
        format!("{MODEL_INVOCATION_ERROR}.{}", self.name())
    }

    /// Returns `true` if Temporal retries a failure of this kind, unless the provider states
    /// otherwise.
    pub fn retryable(self) -> bool {
        match self {
            Self::RateLimit
            | Self::Timeout
            | Self::Conflict
            | Self::ServerError
            | Self::Connection
            | Self::InvalidResponse
            | Self::ResponseFailed => true,
            Self::Authentication
            | Self::PermissionDenied
            | Self::BadRequest
            | Self::NotFound
            | Self::ConversationNotFound
            | Self::RequestTooLarge
            | Self::ResponseTooLarge
            | Self::UnknownModel
            | Self::Unsupported
            | Self::Internal => false,
        }
    }
}

/// The first detail of a failed model call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFailureDetails {
    /// The version of this message.
    pub version: WireVersion,
    /// Name of the kind; see [`ModelFailureKind::name`].
    pub kind: String,
    /// Name of the agent whose call failed.
    pub agent: String,
    /// Name of the model that was called.
    pub model: String,
    /// HTTP status, if there was a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Error code of the provider, for example `context_length_exceeded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Id of the HTTP request, assigned by the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Milliseconds to wait before the next attempt, as requested by the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// The first detail of a model call that could not be reconstructed from history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationUnavailable {
    /// The version of this message.
    pub version: WireVersion,
    /// The missing part.
    pub what: ConversationPart,
    /// Cause, as a message for people.
    pub cause: String,
}

/// A part of a model call that history should contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ConversationPart {
    /// The definitions alone: because of a deploy, replay assumes other definitions for earlier
    /// calls than those were sent with.
    Definitions,
    /// Items of the conversation, or all of it. Any part that this build does not know is read as
    /// this one.
    #[serde(other)]
    Items,
}
