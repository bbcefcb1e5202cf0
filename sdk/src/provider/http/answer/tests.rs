//! Tests that a response becomes its object, or a failure of the right kind with all known details.

use std::{sync::Arc, time::Duration};

use reqwest::{
    StatusCode,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use rstest::rstest;
use serde_json::json;
use temporal_agents_core::wire::ModelFailureKind::{self, *};

use super::{Answer, Redactor};
use crate::provider::ModelError;

fn answer(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Answer {
    Answer {
        status: StatusCode::from_u16(status).expect("a valid status"),
        headers: headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect::<HeaderMap>(),
        body: body.as_bytes().to_vec(),
        redactor: Arc::new(Redactor::new(vec!["the-key".into()])),
        place: None,
    }
}

fn failure(status: u16, body: &str) -> ModelError {
    answer(status, &[], body).object().expect_err("a failure")
}

#[rstest]
#[case(400, BadRequest, "bad request (400): no")]
#[case(401, Authentication, "authentication failed (401): no")]
#[case(402, BadRequest, "bad request (402): no")]
#[case(403, PermissionDenied, "permission denied (403): no")]
#[case(404, NotFound, "not found (404): no")]
#[case(408, Timeout, "timed out (408): no")]
#[case(409, Conflict, "conflict (409): no")]
#[case(413, RequestTooLarge, "request too large (413): no")]
#[case(422, BadRequest, "bad request (422): no")]
#[case(429, RateLimit, "rate limited (429): no")]
#[case(500, ServerError, "server error (500): no")]
#[case(503, ServerError, "server error (503): no")]
#[case(529, ServerError, "server error (529): no")]
fn a_status_decides_the_kind(#[case] status: u16, #[case] kind: ModelFailureKind, #[case] message: &str) {
    let error = failure(status, r#"{"error": {"message": "no", "type": "t", "code": "c", "param": null}}"#);
    assert_eq!((error.kind, error.message.as_str()), (kind, message));
    assert_eq!((error.status, error.code.as_deref()), (Some(status), Some("c")));
    assert_eq!(error.retryable, None);
}

#[rstest]
#[case::openai(r#"{"error": {"message": "no", "code": null}}"#, "no", None)]
#[case::text(r#"{"error": "no"}"#, "no", None)]
#[case::vllm(r#"{"object": "error", "message": "no", "code": 400}"#, "no", Some("400"))]
#[case::fastapi(r#"{"detail": "no"}"#, "no", None)]
#[case::list(r#"[{"error": {"message": "no", "code": 400}}]"#, "no", Some("400"))]
#[case::html("<html>\n <b>no</b>", "<html> <b>no</b>", None)]
#[case::other_json(r#"{"a": 1}"#, r#"{"a": 1}"#, None)]
fn the_forms_of_compatible_servers_are_read(#[case] body: &str, #[case] message: &str, #[case] code: Option<&str>) {
    let error = failure(400, body);
    assert_eq!(error.message, format!("bad request (400): {message}"));
    assert_eq!(error.code.as_deref(), code);
}

#[test]
fn an_empty_failure_is_its_status() {
    assert_eq!(failure(502, "").message, "server error (502)");
    assert_eq!(failure(308, "").message, "bad request (308): the provider redirects; configure its final address");
}

#[rstest]
#[case::used_up_quota(&[], Some(false))]
#[case::the_header_wins(&[("x-should-retry", "true")], Some(true))]
fn a_used_up_quota_is_not_retried(#[case] headers: &[(&'static str, &'static str)], #[case] retryable: Option<bool>) {
    let body = r#"{"error": {"message": "pay", "type": "insufficient_quota", "code": "insufficient_quota"}}"#;
    let error = answer(429, headers, body).object().expect_err("a failure");
    assert_eq!((error.kind, error.retryable), (RateLimit, retryable));
}

#[test]
fn a_locked_conversation_is_a_conflict() {
    let error = failure(400, r#"{"error": {"message": "busy", "code": "conversation_locked"}}"#);
    assert_eq!((error.kind, error.should_retry()), (Conflict, true));
}

#[test]
fn headers_come_with_the_failure() {
    let headers = [("x-request-id", "req_1"), ("retry-after", "7"), ("x-should-retry", "false")];
    let error = answer(503, &headers, "").object().expect_err("a failure");
    assert_eq!(error.request_id.as_deref(), Some("req_1"));
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    assert!(!error.should_retry());
}

#[test]
fn no_secret_is_repeated() {
    let body = r#"{"error": {"message": "wrong: the-key, sk-abcdef", "code": "the-key"}}"#;
    let error = failure(401, body);
    assert_eq!(error.message, "authentication failed (401): wrong: [redacted], [redacted]");
    assert_eq!(error.code.as_deref(), Some("[redacted]"));
}

#[rstest]
#[case::empty("", "invalid response (200): the body is empty")]
#[case::blank(" \n", "invalid response (200): the body is empty")]
#[case::html("<p>the-key</p>", "invalid response (200): the body is not JSON: <p>[redacted]</p>")]
#[case::cut(r#"{"a": "#, r#"invalid response (200): the body is not JSON: {"a":"#)]
#[case::list("[1]", "invalid response (200): the body is not a JSON object: [1]")]
fn a_body_that_is_no_object_is_quoted(#[case] body: &str, #[case] message: &str) {
    let error = failure(200, body);
    assert_eq!((error.kind, error.message.as_str(), error.status), (InvalidResponse, message, Some(200)));
}

#[test]
fn a_quote_is_short() {
    let error = failure(200, &"x ".repeat(1000));
    let quote = error.message.strip_prefix("invalid response (200): the body is not JSON: ").expect("the prefix");
    assert_eq!(quote.chars().count(), 200);
}

#[rstest]
#[case(json!({"code": "server_error", "message": "m"}), ServerError, None)]
#[case(json!({"code": "rate_limit_exceeded", "message": "m"}), RateLimit, None)]
#[case(json!({"code": "invalid_prompt", "message": "m"}), ResponseFailed, Some(false))]
#[case(json!({"code": "vector_store_timeout", "message": "m"}), ResponseFailed, None)]
#[case(json!({"code": 429, "message": "m"}), RateLimit, None)]
#[case(json!("m"), ResponseFailed, None)]
fn an_error_in_a_successful_answer_is_a_failure(
    #[case] error: serde_json::Value,
    #[case] kind: ModelFailureKind,
    #[case] retryable: Option<bool>,
) {
    let error = failure(200, &json!({"status": "failed", "error": error, "output": []}).to_string());
    assert_eq!((error.kind, error.retryable), (kind, retryable));
    assert!(error.message.ends_with(" (200): m"), "{}", error.message);
}

#[test]
fn debug_shows_no_body() {
    assert_eq!(format!("{:?}", answer(200, &[], "private")), "Answer { status: 200, .. }");
}
