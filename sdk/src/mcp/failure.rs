//! The errors between a worker and an MCP server.

use std::error::Error;

use rmcp::{ServiceError, service::ClientInitializeError, transport::streamable_http_client::StreamableHttpError};
use temporal_agents_core::wire::{error_debug, failure::MCP_CALL_BEGAN};
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::ActivityError;

use crate::secret::worker_env::{Given, Withheld};

/// The error of an MCP request. Its message contains neither the server's address nor a header.
///
/// # Retries
/// A request that does not reach the server, or whose connection is lost, is retried under the
/// activity's retry policy. A request that the server refuses is not retried.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpFailure {
    /// The server could not be reached; it has received nothing.
    #[error("MCP server {server:?} could not be reached: {reason}")]
    NotReached {
        /// Name of the server.
        server: String,
        /// The messages of the error and its causes, without addresses.
        reason: String,
    },
    /// The connection broke; the server may have received and executed the request.
    #[error("the connection to MCP server {server:?} was lost: {reason}")]
    Lost {
        /// Name of the server.
        server: String,
        /// The messages of the error and its causes, without addresses.
        reason: String,
    },
    /// The server responded with an error.
    #[error("{message}")]
    Refused {
        /// JSON-RPC error code.
        code: i32,
        /// Error message of the server.
        message: String,
    },
    /// The session with the server is lost.
    #[error("the session with MCP server {server:?} is gone: {reason}")]
    SessionLost {
        /// Name of the server.
        server: String,
        /// `true` if the server may have received the request.
        began: bool,
        /// Description of the loss.
        reason: String,
    },
    /// The response exceeds a limit: more tools than a run can have, or more bytes than history
    /// accepts.
    #[error("MCP server {server:?} {what}")]
    TooLarge {
        /// Name of the server.
        server: String,
        /// The response and its limit, as the predicate of a sentence about the server.
        what: String,
    },
    /// The server requires or did something that this client does not support.
    #[error("MCP server {server:?} {what}")]
    Unsupported {
        /// Name of the server.
        server: String,
        /// The server's action, as the predicate of a sentence about the server.
        what: String,
    },
}

error_debug!(enum McpFailure {
    NotReached { server, reason },
    Lost { server, reason },
    Refused { code, message },
    SessionLost { server, began, reason },
    TooLarge { server, what },
    Unsupported { server, what },
});

impl McpFailure {
    /// Creates the error of a transport that refers to a variable which it may not read.
    pub(super) fn withheld(server: &str, withheld: &Withheld) -> Self {
        Self::Unsupported { server: server.to_owned(), what: withheld.told("refers", "the server") }
    }

    /// Redacts these values: a server may quote what it received.
    pub(super) fn without(mut self, given: &Given) -> Self {
        if !given.is_empty() {
            let (Self::NotReached { reason: text, .. }
            | Self::Lost { reason: text, .. }
            | Self::SessionLost { reason: text, .. }
            | Self::Refused { message: text, .. }
            | Self::TooLarge { what: text, .. }
            | Self::Unsupported { what: text, .. }) = &mut self;
            *text = given.text(text);
        }
        self
    }

    pub(super) fn from_initialize_error(server: &str, error: &ClientInitializeError) -> Self {
        Self::NotReached { server: server.to_owned(), reason: words(error) }
    }

    pub(super) fn from_service_error(server: &str, error: ServiceError) -> Self {
        let server = server.to_owned();
        match error {
            ServiceError::McpError(error) => Self::Refused { code: error.code.0, message: error.message.into_owned() },
            ServiceError::TransportSend(unsent) if was_not_received(&*unsent.error) => {
                Self::NotReached { server, reason: words(&*unsent.error) }
            }
            ServiceError::UnexpectedResponse => {
                Self::Unsupported { server, what: "answered something that is no answer to this".to_owned() }
            }
            error => Self::Lost { server, reason: words(&error) },
        }
    }

    /// `true` if the next attempt may succeed.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::NotReached { .. } | Self::Lost { .. })
    }

    /// Returns the name of the error in history, after `McpError.`.
    fn kind(&self) -> &'static str {
        match self {
            Self::NotReached { .. } => "NotReached",
            Self::Lost { .. } => "Lost",
            Self::SessionLost { .. } => "SessionLost",
            Self::Refused { .. } => "Refused",
            Self::TooLarge { .. } => "TooLarge",
            Self::Unsupported { .. } => "Unsupported",
        }
    }
}

/// Returns the failure of the activity.
pub(super) fn of_activity(failure: McpFailure) -> ActivityError {
    let (type_name, is_passing) = (format!("McpError.{}", failure.kind()), failure.is_passing());
    let began = matches!(failure, McpFailure::SessionLost { began: true, .. }).then(|| MCP_CALL_BEGAN.to_owned());
    let failure = ApplicationFailure::builder(failure).type_name(type_name).non_retryable(!is_passing);
    let failure = failure.maybe_details(began).build();
    ActivityError::Application(Box::new(failure))
}

/// `true` if the server cannot have executed any part of a request: no connection was made, the
/// pipe to it is broken, or it does not know the session that the request names.
fn was_not_received(error: &(dyn Error + 'static)) -> bool {
    type HttpError = StreamableHttpError<reqwest::Error>;
    sources(error).any(|source| {
        source.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect)
            || source.downcast_ref().is_some_and(|error| matches!(error, HttpError::SessionExpired))
            || source
                .downcast_ref::<std::io::Error>()
                .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

fn sources<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| <dyn Error>::source(*error))
}

/// Returns the messages of an error and its causes, each once, without addresses, which may hold
/// secrets.
fn words(error: &(dyn Error + 'static)) -> String {
    let mut words: Vec<String> = Vec::new();
    for error in sources(error) {
        let text = without_addresses(&error.to_string());
        if !words.iter().any(|known| known.contains(&text)) {
            words.push(text);
        }
    }
    words.join(": ")
}

fn without_addresses(text: &str) -> String {
    let hidden = |word: &str| if word.contains("://") { "(address)".to_owned() } else { word.to_owned() };
    text.split(' ').map(hidden).collect::<Vec<_>>().join(" ")
}
