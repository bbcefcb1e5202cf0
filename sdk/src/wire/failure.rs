//! The typed failures of a model call: the names seen in history, and the details that come with them.
//!
//! A failed model activity is an ApplicationFailure of type `ModelInvocationError.<kind>` whose first detail is
//! [`ModelFailureDetails`]. Kinds are open: a reader that does not know one keeps its name.

use serde::{Deserialize, Serialize};

use super::version::WireVersion;

/// The prefix of every failure type of a model call.
pub const MODEL_INVOCATION_ERROR: &str = "ModelInvocationError";
/// The failure type of a message another release wrote.
pub const WIRE_VERSION_MISMATCH: &str = "WireVersionMismatch";
/// The failure type of a request (of a tool, a session, a recording, a state) that has a readable version but not its shape.
pub const MALFORMED_REQUEST: &str = "MalformedRequest";
/// The failure type of a model request whose references lead nowhere; the workflow sends what is missing once more. Its first
/// detail is [`ConversationUnavailable`].
pub const CONVERSATION_UNAVAILABLE: &str = "ConversationUnavailable";
/// The failure type of a part of a run's state that the execution before does not have, or that cannot be read there.
pub const STATE_UNAVAILABLE: &str = "StateUnavailable";
/// The failure type of a tool that answered with an error for the model.
pub const TOOL_ERROR: &str = "ToolError";
/// The failure type of a tool that answered with an error that ends the run.
pub const TOOL_FAILS_RUN: &str = "ToolFailsRun";
/// The failure type of a tool that panicked.
pub const TOOL_PANICKED: &str = "ToolPanicked";
/// The failure type of a tool that has run and returned more than it may.
pub const TOOL_OUTPUT_TOO_LARGE: &str = "ToolOutputTooLarge";
/// The failure type of what was asked in a session with a stateful MCP server that is gone. Its first detail is [`MCP_CALL_BEGAN`] where the
/// server may have heard.
pub const MCP_SESSION_LOST: &str = "McpError.SessionLost";
/// See [`MCP_SESSION_LOST`].
pub const MCP_CALL_BEGAN: &str = "began";
/// The failure type of a run that failed for a reason of its own (not a Temporal failure).
pub const AGENTS_WORKFLOW_ERROR: &str = "AgentsWorkflowError";
/// The failure type of an agentic session that failed for a reason of its own.
pub const AGENTIC_SESSION_ERROR: &str = "AgenticSessionError";

/// What kind of failure a model call ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelFailureKind {
    /// 429: too many requests, or the quota is used up.
    RateLimit,
    /// 401: the key is missing or wrong.
    Authentication,
    /// 403: the key may not do this.
    PermissionDenied,
    /// 400 and other 4xx: the request is wrong.
    BadRequest,
    /// 404: the model does not exist, or something else that the request names.
    NotFound,
    /// The conversation that the provider keeps, or the response that the call follows, is not there any more: it has expired or was deleted.
    /// A run that has all items makes the call again in full.
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
    /// The provider answered something that is no response (a broken or empty body).
    InvalidResponse,
    /// The response is larger than a worker reads, or than history takes. It would be as large the next time, and is billed each time.
    ResponseTooLarge,
    /// The provider reports that the response failed.
    ResponseFailed,
    /// No provider of this worker serves the model.
    UnknownModel,
    /// The provider cannot do what the call asks for.
    Unsupported,
    /// A bug: the provider's code panicked, or broke its contract.
    Internal,
}

impl ModelFailureKind {
    /// The kind's name, the part after the dot of the failure type.
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

    /// The failure type in history, for example `ModelInvocationError.RateLimit`.
    pub fn failure_type(self) -> String {
        format!("{MODEL_INVOCATION_ERROR}.{}", self.name())
    }

    /// Whether Temporal retries a failure of this kind when the provider says nothing else.
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
    /// The kind's name; see [`ModelFailureKind::name`].
    pub kind: String,
    /// The agent whose call failed.
    pub agent: String,
    /// The model that was called.
    pub model: String,
    /// The HTTP status, where there was a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's own error code, for example `context_length_exceeded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The provider's id of the HTTP request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Milliseconds the provider asked to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// The first detail of a model call that could not be put together from history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationUnavailable {
    /// The version of this message.
    pub version: WireVersion,
    /// What is missing.
    pub what: ConversationPart,
    /// Why, for people.
    pub cause: String,
}

/// A part of a model call that history should hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ConversationPart {
    /// The definitions alone: a deploy has changed what replay believes that earlier calls were given.
    Definitions,
    /// Items of the conversation, or all of it. Any part that this build does not know counts as this one.
    #[serde(other)]
    Items,
}
