//! Answers with the version of an agent as their `ETag`, and the precondition that names one.

use axum::{
    Json,
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::{
    error::ApiError,
    openapi::{Answer, Header, Operation, Read, Schemas},
};

/// An answer whose `ETag` is a version.
pub(in crate::http) struct Tagged<T> {
    pub(super) version: u32,
    pub(super) body: T,
}

impl<T: Serialize> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        ([(header::ETAG, format!("\"{}\"", self.version))], Json(self.body)).into_response()
    }
}

impl<T: JsonSchema> Answer for Tagged<T> {
    fn describe(operation: &mut Operation, schemas: &mut Schemas) {
        <Json<T> as Answer>::describe(operation, schemas);
    }
}

/// The headers with which a request names the version that it follows: `If-Match` with an `ETag`,
/// or `If-None-Match: *` for the first version.
#[derive(Debug)]
pub(in crate::http) struct Follows(HeaderMap);

impl<S: Sync> FromRequestParts<S> for Follows {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(parts.headers.clone()))
    }
}

impl Read for Follows {
    fn describe(operation: &mut Operation, _schemas: &mut Schemas) {
        let if_match = "The ETag of the version that this one follows.";
        operation.header(&Header { name: "If-Match", description: if_match });
        let if_none_match = "`*`: there is no version of this agent yet.";
        operation.header(&Header { name: "If-None-Match", description: if_none_match });
    }
}

impl Follows {
    /// Returns the version after which the caller wants to store: 0 for the first.
    ///
    /// # Errors
    /// 428 without a header, 400 for one that is not the `ETag` of one version.
    pub(super) fn version(&self) -> Result<u32, ApiError> {
        let header = |name: HeaderName| self.0.get(name).map(|value| value.to_str().unwrap_or_default().trim());
        match (header(header::IF_MATCH), header(header::IF_NONE_MATCH)) {
            (None, Some("*")) => Ok(0),
            (Some(tag), None) => {
                let version =
                    tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).and_then(|tag| tag.parse().ok());
                let message = "If-Match must be the ETag of one version, such as \"3\" with its quotes";
                version.filter(|version| *version > 0).ok_or_else(|| ApiError::invalid(message))
            }
            _ => {
                let message =
                    "send the version that you have read: If-Match: \"3\", or If-None-Match: * for a new agent";
                Err(ApiError::new(StatusCode::PRECONDITION_REQUIRED, "precondition_required", message))
            }
        }
    }
}
