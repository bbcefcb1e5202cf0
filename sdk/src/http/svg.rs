//! Answers that are pictures.
//!
//! # Design
//! **A picture runs nothing.** Names in it come from models, callers and servers. They are escaped
//! where the picture is made; the headers are a second wall: an SVG image that a browser opens as a
//! page of its own has no origin, no script, and loads nothing.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::openapi::{Answer, Operation, Schemas};

/// The policy of a picture, which has a style of its own and needs nothing else.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'; sandbox";

/// An SVG image.
pub(super) struct Svg(pub(super) String);

impl IntoResponse for Svg {
    fn into_response(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, "image/svg+xml; charset=utf-8"),
            (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            // It belongs to the caller, and changes with the run.
            (header::CACHE_CONTROL, "no-store"),
        ];
        (headers, self.0).into_response()
    }
}

impl Answer for Svg {
    fn describe(operation: &mut Operation, _schemas: &mut Schemas) {
        operation.response(StatusCode::OK, "The picture.", Some(("image/svg+xml", json!({"type": "string"}))));
    }
}
