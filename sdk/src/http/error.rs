//! The errors of the service: a status and `{"error": {"code": .., "message": ..}}`.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::json;

use crate::client::{AgentHandleError, NotStarted, ProcessRunError, RunEventsError, StartRunError};

/// A refused request.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    pub(super) fn no_run(id: &str) -> Self {
        let message = format!("there is no run {id:?} of this service");
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(super) fn no_question(id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "unknown_question", format!("no call with the id {id:?} waits"))
    }

    pub(super) fn other_run(id: &str) -> Self {
        Self::conflict(format!("the id {id:?} is that of another run; choose another one"))
    }

    pub(super) fn no_worker() -> Self {
        let message = "no worker has answered in time; send the same request again";
        Self::new(StatusCode::GATEWAY_TIMEOUT, "no_worker", message)
    }

    pub(super) fn no_agent(name: &str) -> Self {
        let message = format!("there is no agent {name:?}; GET /agents lists them");
        Self::new(StatusCode::NOT_FOUND, "unknown_agent", message)
    }

    pub(super) fn forbidden(what: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", format!("the caller may not {what}"))
    }

    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    /// Returns the error of a server or a store that is unavailable or refuses.
    pub(super) fn server(source: impl std::fmt::Display) -> Self {
        tracing::warn!(error = %source, "a request to the server of the runs has failed");
        Self::new(StatusCode::BAD_GATEWAY, "server_unavailable", "the server of the runs has refused the request")
    }

    /// Returns the error of a database that is unavailable.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(super) fn database(source: impl std::fmt::Display) -> Self {
        tracing::warn!(error = %source, "a request to the database has failed");
        Self::new(StatusCode::BAD_GATEWAY, "database_unavailable", "the database cannot be read")
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn code(&self) -> &'static str {
        self.code
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Self { status, code, message } = self;
        (status, Json(json!({"error": {"code": code, "message": message}}))).into_response()
    }
}

impl From<AgentHandleError> for ApiError {
    fn from(error: AgentHandleError) -> Self {
        match error {
            AgentHandleError::NotFound { workflow_id } => Self::conflict(format!("run {workflow_id:?} has ended")),
            AgentHandleError::Refused { message, .. } => Self::invalid(message),
            other => Self::server(other),
        }
    }
}

impl From<RunEventsError> for ApiError {
    fn from(error: RunEventsError) -> Self {
        match error {
            RunEventsError::NotFound { workflow_id, .. } => Self::no_run(&workflow_id),
            RunEventsError::Cursor { .. } => Self::invalid(error.to_string()),
            other @ RunEventsError::Server { .. } => Self::server(other),
        }
    }
}

impl From<ProcessRunError> for ApiError {
    fn from(error: ProcessRunError) -> Self {
        match error {
            ProcessRunError::NotFound(id) => Self::no_run(&id),
            ProcessRunError::Ended(id) => Self::conflict(format!("run {id:?} has ended")),
            ProcessRunError::Unanswered(_) => Self::no_worker(),
            ProcessRunError::Invalid(message) => Self::invalid(message),
            other @ ProcessRunError::Store(_) => Self::server(other),
        }
    }
}

impl From<StartRunError> for ApiError {
    fn from(error: StartRunError) -> Self {
        match error.reason {
            NotStarted::Invalid => Self::invalid(error.source.to_string()),
            NotStarted::Exists => Self::conflict(format!("the run {:?} exists", error.id)),
            NotStarted::Foreign => Self::other_run(&error.id),
            NotStarted::Ended => Self::conflict(format!("run {:?} has ended", error.id)),
            NotStarted::Server => Self::server(error),
        }
    }
}
