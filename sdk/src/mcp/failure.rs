//! What goes wrong between a worker and a server.

use std::error::Error;

use rmcp::{ServiceError, service::ClientInitializeError, transport::streamable_http_client::StreamableHttpError};
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::ActivityError;

use crate::{
    secret::worker_env::{Given, Withheld},
    wire::{error_debug, failure::MCP_CALL_BEGAN},
};

/// Why a server gave no answer. Neither its address nor a header is in the message.
///
/// # Retries
/// A server that is not reached, or is lost, is asked again, after the policy of the activity; what it refuses is not.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpFailure {
    /// It could not be reached; it has heard nothing.
    #[error("MCP server {server:?} could not be reached: {reason}")]
    NotReached {
        /// The server.
        server: String,
        /// Why.
        reason: String,
    },
    /// The connection broke; the server may have heard, and done, what it was asked.
    #[error("the connection to MCP server {server:?} was lost: {reason}")]
    Lost {
        /// The server.
        server: String,
        /// Why.
        reason: String,
    },
    /// The server answered with an error.
    #[error("{message}")]
    Refused {
        /// The JSON-RPC code.
        code: i32,
        /// The server's own words.
        message: String,
    },
    /// The session with it is gone.
    #[error("the session with MCP server {server:?} is gone: {reason}")]
    SessionLost {
        /// The server.
        server: String,
        /// Whether it may have heard what it was asked.
        began: bool,
        /// Why.
        reason: String,
    },
    /// The server answers with more than is taken of it: more tools than a run can have, or more bytes than history takes.
    #[error("MCP server {server:?} {what}")]
    TooLarge {
        /// The server.
        server: String,
        /// Which answer it is, and its limit.
        what: String,
    },
    /// The server wants what this client does not do.
    #[error("MCP server {server:?} {what}")]
    Unsupported {
        /// The server.
        server: String,
        /// What it wants, or did.
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
    /// A variable that the way to the server refers to is not given away.
    pub(super) fn withheld(server: &str, withheld: &Withheld) -> Self {
        Self::Unsupported { server: server.to_owned(), what: withheld.told("refers", "the server") }
    }

    /// The same without these values: a server may quote what it was given.
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

    pub(super) fn of_opening(server: &str, error: &ClientInitializeError) -> Self {
        Self::NotReached { server: server.to_owned(), reason: words(error) }
    }

    pub(super) fn of_asking(server: &str, error: ServiceError) -> Self {
        let server = server.to_owned();
        match error {
            ServiceError::McpError(error) => Self::Refused { code: error.code.0, message: error.message.into_owned() },
            ServiceError::TransportSend(unsent) if was_not_taken(&*unsent.error) => {
                Self::NotReached { server, reason: words(&*unsent.error) }
            }
            ServiceError::UnexpectedResponse => {
                Self::Unsupported { server, what: "answered something that is no answer to this".to_owned() }
            }
            error => Self::Lost { server, reason: words(&error) },
        }
    }

    /// Whether the next attempt may succeed.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::NotReached { .. } | Self::Lost { .. })
    }

    /// The name in history, after `McpError.`.
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

/// What the activity fails with.
pub(super) fn of_activity(failure: McpFailure) -> ActivityError {
    let (type_name, is_passing) = (format!("McpError.{}", failure.kind()), failure.is_passing());
    let began = matches!(failure, McpFailure::SessionLost { began: true, .. }).then(|| MCP_CALL_BEGAN.to_owned());
    let failure = ApplicationFailure::builder(failure).type_name(type_name).non_retryable(!is_passing);
    let failure = failure.maybe_details(began).build();
    ActivityError::Application(Box::new(failure))
}

/// Whether the server cannot have done anything of a request: no connection was made, the pipe to it is broken, or it does not know the
/// session that the request names.
fn was_not_taken(error: &(dyn Error + 'static)) -> bool {
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

/// The messages of an error and its causes, each once, without addresses: they may hold what is secret.
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
