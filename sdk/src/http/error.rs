//! The errors of the service: a status and `{"error": {"code": .., "message": ..}}`.

use axum::{
    Json,
    body::to_bytes,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;
use temporal_agents_core::wire::RunProblem;

use crate::client::{AgentHandleError, NotStarted, ProcessRunError, RunEventsError, StartRunError};

/// Maximum bytes of a message of axum that is passed on.
const MAX_MESSAGE_BYTES: usize = 4 * 1024;
/// Seconds after which a request that was refused for a passing reason may be sent again.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");

/// Code of the refusal of a message to a run that is stuck.
const RUN_STUCK: &str = "run_stuck";

/// A refused request.
#[derive(Clone, Debug)]
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

    /// Returns the error of a message to a run whose queue has no worker.
    pub(super) fn no_worker_because(problem: &RunProblem) -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, "no_worker", format!("{problem}; then send the same request again"))
    }

    /// Returns the error of a message to a run that cannot take any.
    pub(super) fn run_stuck(problem: &RunProblem) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, RUN_STUCK, problem.to_string())
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

    /// Returns the error of a message that a chat does not accept.
    pub(super) fn refused(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "refused", reason)
    }

    /// Returns the error of a run whose mode this service does not have.
    pub(super) fn no_mode(message: &str) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, "mode_unavailable", message)
    }

    /// Returns the error of a Temporal server that is unavailable or refuses.
    pub(super) fn server(source: impl std::fmt::Display) -> Self {
        tracing::warn!(error = %source, "a request to the Temporal server has failed");
        let message = "the Temporal server cannot be reached, or has refused the request; send the same request again";
        Self::unavailable("server_unavailable", message)
    }

    /// Returns the error of a database that is unavailable.
    pub(super) fn database(source: impl std::fmt::Display) -> Self {
        tracing::warn!(error = %source, "a request to the database has failed");
        let message = "the database cannot be reached, or has too many requests; send the same request again";
        Self::unavailable("database_unavailable", message)
    }

    /// Returns the error of a request that was refused because there are too many, before any work.
    pub(super) fn overloaded(message: impl Into<String>) -> Self {
        Self::unavailable("overloaded", message)
    }

    /// Returns a refusal for a passing reason: its answer says when to come back.
    fn unavailable(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn code(&self) -> &'static str {
        self.code
    }
}

/// The body of the answer to a refused request.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ErrorBody {
    error: ErrorInfo,
}

/// The reason for which a request was refused.
#[derive(Debug, Serialize, JsonSchema)]
struct ErrorInfo {
    /// A word for programs, for example `not_found`.
    code: &'static str,
    /// A message for people.
    message: String,
}

impl ErrorBody {
    pub(super) fn of(error: &ApiError) -> Self {
        Self { error: ErrorInfo { code: error.code, message: error.message.clone() } }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(ErrorBody::of(&self))).into_response();
        // A stuck run needs a deploy, not another request.
        if self.status == StatusCode::SERVICE_UNAVAILABLE && self.code != RUN_STUCK {
            response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        response
    }
}

/// Gives the refusals of axum and tower-http the form of all others.
pub(super) async fn in_json(response: Response) -> Response {
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if !(status.is_client_error() || status.is_server_error()) || kind.is_some_and(|kind| kind.contains("json")) {
        return response;
    }
    let (code, message) = match status {
        StatusCode::NOT_FOUND => ("not_found", "there is no such path"),
        StatusCode::METHOD_NOT_ALLOWED => ("method_not_allowed", "the path has no such method"),
        StatusCode::PAYLOAD_TOO_LARGE => ("too_large", "the body of the request is too large"),
        StatusCode::GATEWAY_TIMEOUT => ("timeout", "the request has taken too long; send the same request again"),
        _ => ("invalid_request", "the request is invalid"),
    };
    let (parts, body) = response.into_parts();
    let text = to_bytes(body, MAX_MESSAGE_BYTES).await.ok().and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
    let message = text.filter(|text| !text.is_empty()).unwrap_or_else(|| message.to_owned());
    // A body that is not of the expected shape is as invalid as one that is no JSON.
    let status = if status == StatusCode::UNPROCESSABLE_ENTITY { StatusCode::BAD_REQUEST } else { status };
    let mut json = ApiError::new(status, code, message).into_response();
    for (name, value) in &parts.headers {
        if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
            json.headers_mut().insert(name, value.clone());
        }
    }
    json
}

impl From<AgentHandleError> for ApiError {
    fn from(error: AgentHandleError) -> Self {
        match error {
            AgentHandleError::NotFound { workflow_id } => Self::conflict(format!("run {workflow_id:?} has ended")),
            AgentHandleError::Refused { message, .. } => Self::invalid(message),
            AgentHandleError::Stuck { problem, .. } => Self::run_stuck(&problem),
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
            ProcessRunError::NotStarted(error) => error.into(),
            ProcessRunError::Invalid(message) => Self::invalid(message),
            other @ ProcessRunError::Store(_) => Self::database(other),
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
            NotStarted::Database => Self::database(error),
            NotStarted::Overloaded => Self::overloaded(error.source.to_string()),
        }
    }
}
