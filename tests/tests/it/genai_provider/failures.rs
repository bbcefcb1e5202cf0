//! What goes wrong, as failures that say whether and when to try again, and no secret.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    provider::{Genai, ModelError},
    wire::ModelFailureKind,
};
use tokio::net::TcpListener;
use wiremock::ResponseTemplate;

use super::{CLAUDE, KEY, exchange, hello, model};

async fn failure(response: ResponseTemplate) -> ModelError {
    exchange("anthropic", CLAUDE, hello(), response).await.1.expect_err("a failure")
}

/// A failure in Anthropic's words.
fn refused(status: u16, kind: &str, message: &str) -> ResponseTemplate {
    let error = json!({"type": kind, "message": message});
    ResponseTemplate::new(status)
        .insert_header("request-id", "req_1")
        .set_body_json(json!({"type": "error", "error": error, "request_id": "req_1"}))
}

#[rstest]
#[case(400, "invalid_request_error", ModelFailureKind::BadRequest, false, "bad request (400): why")]
#[case(401, "authentication_error", ModelFailureKind::Authentication, false, "authentication failed (401): why")]
#[case(403, "permission_error", ModelFailureKind::PermissionDenied, false, "permission denied (403): why")]
#[case(404, "not_found_error", ModelFailureKind::NotFound, false, "not found (404): why")]
#[case(408, "timeout_error", ModelFailureKind::Timeout, true, "timed out (408): why")]
#[case(409, "conflict_error", ModelFailureKind::Conflict, true, "conflict (409): why")]
#[case(413, "request_too_large", ModelFailureKind::RequestTooLarge, false, "request too large (413): why")]
#[case(429, "rate_limit_error", ModelFailureKind::RateLimit, true, "rate limited (429): why")]
#[case(500, "api_error", ModelFailureKind::ServerError, true, "server error (500): why")]
#[case(529, "overloaded_error", ModelFailureKind::ServerError, true, "server error (529): why")]
#[tokio::test]
async fn a_failed_request_keeps_all_the_server_said(
    #[case] status: u16,
    #[case] code: &str,
    #[case] kind: ModelFailureKind,
    #[case] retried: bool,
    #[case] message: &str,
) {
    let error = failure(refused(status, code, "why")).await;
    assert_eq!((error.kind, error.should_retry(), error.message.as_str()), (kind, retried, message));
    assert_eq!((error.status, error.code.as_deref()), (Some(status), Some(code)));
    assert_eq!(error.request_id.as_deref(), Some("req_1"));
    assert_eq!((error.retryable, error.retry_after), (None, None));
}

#[rstest]
#[case::seconds("retry-after", "20", 20_000)]
#[case::milliseconds("retry-after-ms", "1250", 1_250)]
#[case::past_date("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT", 0)]
#[tokio::test]
async fn the_pause_the_server_asks_for_is_kept(#[case] name: &str, #[case] value: &str, #[case] milliseconds: u64) {
    let error = failure(refused(429, "rate_limit_error", "slowly").insert_header(name, value)).await;
    assert_eq!(error.retry_after, Some(Duration::from_millis(milliseconds)));
}

#[rstest]
#[case(529, "false", false)]
#[case(400, "true", true)]
#[tokio::test]
async fn the_server_decides_whether_it_is_asked_again(#[case] status: u16, #[case] value: &str, #[case] retried: bool) {
    let error = failure(refused(status, "api_error", "why").insert_header("x-should-retry", value)).await;
    assert_eq!((error.retryable, error.should_retry()), (Some(retried), retried));
}

#[tokio::test]
async fn an_echoed_key_is_redacted() {
    let error =
        failure(refused(401, "authentication_error", &format!("invalid x-api-key: {KEY}, not sk-ant-api03-abc"))).await;
    assert_eq!(error.message, "authentication failed (401): invalid x-api-key: [redacted], not [redacted]");
    assert!(!format!("{error:?}").contains(KEY));
}

#[rstest]
#[case::html("text/html", "<p>the-secret-key</p>", "invalid response (200): the body is not JSON: <p>[redacted]</p>")]
#[case::broken("application/json", "{\"content\": [", "invalid response (200): the body is not JSON: {\"content\": [")]
#[case::empty("application/json", "", "invalid response (200): the body is empty")]
#[case::no_content("application/json", "{}", "invalid response (200): the answer is not a model response")]
#[tokio::test]
async fn a_success_that_is_no_answer_is_a_failure(#[case] kind: &str, #[case] body: &str, #[case] message: &str) {
    let error = failure(ResponseTemplate::new(200).set_body_raw(body, kind)).await;
    assert_eq!((error.kind, error.should_retry()), (ModelFailureKind::InvalidResponse, true));
    assert!(error.message.starts_with(message), "{}", error.message);
    // The request is nobody's business.
    assert!(!error.message.contains("\"messages\""), "{}", error.message);
}

#[rstest]
#[case::anthropic("anthropic", CLAUDE)]
#[case::chat_completions("openai", "openai::gpt-4.1")]
#[case::google("gemini", "gemini-2.5-flash")]
#[tokio::test]
async fn an_error_in_a_success_is_a_failure(#[case] adapter: &str, #[case] name: &str) {
    let answer = json!({"error": {"message": "sorry", "code": 429}});
    let answer = ResponseTemplate::new(200).set_body_json(answer);
    let error = exchange(adapter, name, hello(), answer).await.1.expect_err("a failure");
    assert_eq!((error.kind, error.message.as_str()), (ModelFailureKind::RateLimit, "rate limited (200): sorry"));
}

#[rstest]
#[case::no_choices(json!({"id": "c"}), "invalid response (200): the completion has no choices: ")]
#[case::empty_choices(json!({"choices": []}), "invalid response (200): the completion has no choices: ")]
#[tokio::test]
async fn a_completion_without_a_choice_is_none(#[case] answer: Value, #[case] message: &str) {
    let answer = ResponseTemplate::new(200).set_body_json(answer);
    let error = exchange("openai", "openai::gpt-4.1", hello(), answer).await.1.expect_err("a failure");
    assert!(error.message.starts_with(message), "{}", error.message);
}

#[tokio::test]
async fn a_key_that_is_not_there_is_named() {
    let builder = Genai::builder().base_url("genai_7", "http://localhost:1").base_url("together", "http://localhost:1");
    let error = model(builder, "together::llama").await.call(hello()).await.expect_err("no key");
    assert_eq!(
        error.message,
        "authentication failed: TOGETHER_API_KEY is not set; set it in the worker's environment, or set a key with \
         `Genai::builder().api_key(..)`"
    );
    assert_eq!((error.kind, error.should_retry()), (ModelFailureKind::Authentication, false));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let error = failure(ResponseTemplate::new(307).insert_header("location", "/elsewhere")).await;
    assert_eq!((error.kind, error.status), (ModelFailureKind::BadRequest, Some(307)));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_failed_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound port");
    drop(listener);
    let builder = Genai::builder().api_key("anthropic", KEY).base_url("anthropic", format!("http://{address}"));
    let error = model(builder, CLAUDE).await.call(hello()).await.expect_err("nobody listens");
    assert_eq!((error.kind, error.status, error.should_retry()), (ModelFailureKind::Connection, None, true));
    assert!(error.message.starts_with("connection failed: "), "{}", error.message);
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_a_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound port");
    let builder = Genai::builder()
        .api_key("anthropic", KEY)
        .base_url("anthropic", format!("http://{address}"))
        .timeout(Duration::from_millis(50));
    let error = model(builder, CLAUDE).await.call(hello()).await.expect_err("nobody answers");
    assert_eq!((error.kind, error.should_retry()), (ModelFailureKind::Timeout, true));
    drop(listener);
}
