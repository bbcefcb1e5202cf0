//! Streams that end, break, stop or fail, and limits.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    provider::{ModelDelta, ModelDeltas, ModelError, OpenAi, OpenAiApi},
    wire::ModelFailureKind::{self, *},
};

use super::{
    KEY, builder, failure, hello, model, model_of,
    server::{Answer, Server},
    streamed,
};

const BOTH: [OpenAiApi; 2] = [OpenAiApi::Responses, OpenAiApi::ChatCompletions];

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// The start of an answer: a text.
fn start(api: OpenAiApi) -> String {
    match api {
        OpenAiApi::Responses => {
            event(&json!({"type": "response.created", "response": {"status": "in_progress", "output": []}}))
                + &event(&json!({"type": "response.output_text.delta", "output_index": 0, "delta": "Hel"}))
        }
        _ => event(&json!({"id": "c1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}]})),
    }
}

async fn failed(api: OpenAiApi, answer: Answer) -> anyhow::Result<ModelError> {
    Ok(failure(&model(&Server::start([answer])?, api).await?).await)
}

#[tokio::test]
async fn a_stream_that_ends_early_is_an_invalid_response() -> anyhow::Result<()> {
    for api in BOTH {
        for stream in [start(api), start(api) + "data: {\"type\": \"respo", start(api) + "data: {\"choices\":"] {
            let error = failed(api, Answer::stream(stream)).await?;
            let message = "invalid response (200): the stream ended before the answer was complete";
            assert_eq!((error.kind, error.message.as_str()), (InvalidResponse, message));
            assert_eq!((error.should_retry(), error.status), (true, Some(200)));
            assert_eq!(error.request_id.as_deref(), Some("req_1"));
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_connection_that_breaks_is_a_failed_connection() -> anyhow::Result<()> {
    for api in BOTH {
        let error = failed(api, Answer::stream(start(api)).broken()).await?;
        assert_eq!((error.kind, error.should_retry()), (Connection, true));
        assert!(error.message.starts_with("connection failed: "), "{}", error.message);
    }
    Ok(())
}

#[tokio::test]
async fn an_answer_is_whole_without_the_end_of_its_body() -> anyhow::Result<()> {
    let response = json!({"id": "r1", "status": "completed", "output": []});
    let streams = [
        (OpenAiApi::Responses, event(&json!({"type": "response.completed", "response": response}))),
        (OpenAiApi::ChatCompletions, start(OpenAiApi::ChatCompletions) + "data: [DONE]\n\n"),
    ];
    for (api, stream) in streams {
        let server = Server::start([Answer::stream(stream).silent()])?;
        streamed(&model(&server, api).await?, hello()).await.0?;
    }
    Ok(())
}

#[rstest]
#[case::garbage("data: <html>\n\n", "invalid response (200): an event of the stream is not a JSON object: <html>")]
#[case::a_list("data: [1]\n\n", "invalid response (200): an event of the stream is not a JSON object: [1]")]
#[case::nothing("", "invalid response (200): the body is empty")]
#[case::only_comments(": hi\n\n: hi\n\n", "invalid response (200): the stream has no events")]
#[tokio::test]
async fn what_is_no_stream_is_an_invalid_response(#[case] body: &str, #[case] message: &str) -> anyhow::Result<()> {
    for api in BOTH {
        let error = failed(api, Answer::stream(body)).await?;
        assert_eq!((error.kind, error.message.as_str(), error.should_retry()), (InvalidResponse, message, true));
    }
    Ok(())
}

#[tokio::test]
async fn a_page_with_a_success_status_is_quoted() -> anyhow::Result<()> {
    for api in BOTH {
        let error = failed(api, Answer::of("200 OK", "text/html", format!("<html>{KEY}</html>"))).await?;
        assert_eq!(error.message, "invalid response (200): the body is not JSON: <html>[redacted]</html>");
    }
    Ok(())
}

#[tokio::test]
async fn garbage_in_the_middle_is_quoted_without_secrets() -> anyhow::Result<()> {
    for api in BOTH {
        let error = failed(api, Answer::stream(format!("{}data: {KEY}\n\n", start(api)))).await?;
        assert!(error.message.ends_with("not a JSON object: [redacted]"), "{}", error.message);
        assert!(!format!("{error:?}").contains(KEY));
    }
    Ok(())
}

/// Forms in which servers report an error within a stream.
#[rstest]
#[case::openai(
    json!({
        "type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": null, "sequence_number": 3,
    }),
    RateLimit, "rate limited (200): slow down", Some("rate_limit_exceeded"), true
)]
#[case::openai_nested(
    json!({"type": "error", "error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "pay"}}),
    RateLimit, "rate limited (200): pay", Some("insufficient_quota"), false
)]
#[case::no_code(
    json!({"type": "error", "error": {"type": "server_error", "code": null, "message": "Sorry."}}),
    ServerError, "server error (200): Sorry.", None, true
)]
#[case::too_long(
    json!({"error": {"type": "invalid_request_error", "code": "context_length_exceeded", "message": "too long"}}),
    RequestTooLarge, "request too large (200): too long", Some("context_length_exceeded"), false
)]
#[case::too_many(
    json!({"type": "error", "error": {"type": "too_many_requests", "code": "too_many_requests", "message": "later"}}),
    RateLimit, "rate limited (200): later", Some("too_many_requests"), true
)]
#[case::status(
    json!({"error": {"message": "overloaded", "code": 503}}),
    ServerError, "server error (200): overloaded", Some("503"), true
)]
#[case::text(
    json!({"error": "the-secret-key is wrong"}),
    ResponseFailed, "response failed (200): [redacted] is wrong", None, true
)]
#[tokio::test]
async fn an_error_within_a_stream_is_that_error(
    #[case] data: Value,
    #[case] kind: ModelFailureKind,
    #[case] message: &str,
    #[case] code: Option<&str>,
    #[case] retried: bool,
) -> anyhow::Result<()> {
    for api in BOTH {
        for name in ["", "event: error\n"] {
            if data["error"].is_null() && api == OpenAiApi::ChatCompletions && name.is_empty() {
                continue;
            }
            let answer = Answer::stream(format!("{}{name}{}", start(api), event(&data)));
            let error = failed(api, answer.header("x-should-retry", "")).await?;
            assert_eq!((error.kind, error.message.as_str()), (kind, message));
            assert_eq!((error.code.as_deref(), error.should_retry()), (code, retried));
            assert_eq!((error.status, error.request_id.as_deref()), (Some(200), Some("req_1")));
        }
    }
    Ok(())
}

#[rstest]
#[case(json!({"code": "server_error", "message": "sorry"}), ServerError, "server error (200): sorry")]
#[case(Value::Null, ResponseFailed, "response failed (200): the response is failed")]
#[tokio::test]
async fn a_failed_response_fails_as_without_a_stream(
    #[case] error: Value,
    #[case] kind: ModelFailureKind,
    #[case] message: &str,
) -> anyhow::Result<()> {
    let mut response = json!({"id": "r1", "status": "failed", "error": error, "output": []});
    let whole = Answer::json("200 OK", &response);
    let last = event(&json!({"type": "response.failed", "response": response}));
    response.as_object_mut().expect("an object").remove("status");
    let without_status = event(&json!({"type": "response.failed", "response": response}));
    let streams = [last, without_status].map(|last| Answer::stream(start(OpenAiApi::Responses) + &last));
    let server = Server::start([whole].into_iter().chain(streams))?;
    let model = model(&server, OpenAiApi::Responses).await?;
    let called = model.call(hello()).await.expect_err("a failure");
    assert_eq!((called.kind, called.message.as_str()), (kind, message));
    for _ in 0..2 {
        let error = failure(&model).await;
        assert_eq!((error.kind, error.message, error.code), (called.kind, called.message.clone(), called.code.clone()));
    }
    Ok(())
}

#[tokio::test]
async fn a_failed_status_keeps_the_advice_of_the_server() -> anyhow::Result<()> {
    for api in BOTH {
        let body = json!({"error": {"message": "slow down", "code": "rate_limit_exceeded"}});
        let answer = Answer::json("429 Too Many Requests", &body).header("retry-after", "20");
        let error = failed(api, answer.header("x-should-retry", "false")).await?;
        assert_eq!((error.kind, error.message.as_str()), (RateLimit, "rate limited (429): slow down"));
        assert_eq!((error.retry_after, error.should_retry()), (Some(Duration::from_secs(20)), false));
        assert_eq!((error.request_id.as_deref(), error.address().is_some()), (Some("req_1"), true));
    }
    Ok(())
}

#[tokio::test]
async fn a_first_chunk_that_is_late_is_a_timeout() -> anyhow::Result<()> {
    for api in BOTH {
        let server = Server::start([Answer::stream("").silent()])?;
        let builder = builder(&server, api).first_chunk_timeout(Duration::from_millis(50));
        let error = failure(&model_of(builder).await?).await;
        assert_eq!((error.kind, error.should_retry()), (Timeout, true));
        let message = "no part of the answer arrived within 50ms, the limit of first_chunk_timeout";
        assert!(error.message.ends_with(message), "{}", error.message);
    }
    Ok(())
}

#[tokio::test]
async fn headers_that_are_late_are_a_timeout() -> anyhow::Result<()> {
    let url = crate::hostile::server::start(|connection| {
        while connection.request()?.is_some() {}
        Ok(())
    })?;
    let provider = OpenAi::builder().api_key(KEY).base_url(format!("{url}/v1"));
    let error = failure(&model_of(provider.first_chunk_timeout(Duration::from_millis(50))).await?).await;
    let message = "timed out: no part of the answer arrived within 50ms, the limit of first_chunk_timeout";
    assert_eq!((error.kind, error.message.as_str(), error.status), (Timeout, message, None));
    Ok(())
}

#[tokio::test]
async fn a_stream_that_stops_is_a_timeout() -> anyhow::Result<()> {
    for api in BOTH {
        let server = Server::start([Answer::stream(start(api)).silent()])?;
        let model = model_of(builder(&server, api).chunk_timeout(Duration::from_millis(50))).await?;
        let (outcome, deltas) = streamed(&model, hello()).await;
        let error = outcome.expect_err("a timeout");
        let message = "timed out (200): the answer stopped for 50ms, the limit of chunk_timeout";
        assert_eq!((error.kind, error.message.as_str(), error.should_retry()), (Timeout, message, true));
        assert_eq!(deltas, [ModelDelta::Text { index: 0, delta: "Hel".into() }]);
    }
    Ok(())
}

#[tokio::test]
async fn a_limit_may_be_as_long_as_it_likes() -> anyhow::Result<()> {
    for api in BOTH {
        let server = Server::start([Answer::stream(start(api))])?;
        let builder = builder(&server, api).first_chunk_timeout(Duration::MAX).chunk_timeout(Duration::MAX);
        assert_eq!(failure(&model_of(builder).await?).await.kind, InvalidResponse);
    }
    Ok(())
}

#[tokio::test]
async fn the_limit_of_the_whole_request_also_holds() -> anyhow::Result<()> {
    let server = Server::start([Answer::stream(start(OpenAiApi::Responses)).silent()])?;
    let model = model_of(builder(&server, OpenAiApi::Responses).timeout(Duration::from_millis(50))).await?;
    assert_eq!(failure(&model).await.kind, Timeout);
    Ok(())
}

#[tokio::test]
async fn dropping_a_streamed_call_closes_the_connection() -> anyhow::Result<()> {
    let (sender, mut closed) = tokio::sync::mpsc::unbounded_channel();
    let url = crate::hostile::server::start(move |connection| {
        connection.request()?;
        let start = start(OpenAiApi::ChatCompletions);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        connection.send(format!("{head}{start}").as_bytes())?;
        // Ends when the client closes the connection.
        let closed = connection.request()?.is_none();
        sender.send(closed).map_err(std::io::Error::other)
    })?;
    let provider = OpenAi::builder().api_key(KEY).base_url(format!("{url}/v1"));
    let model = model_of(provider.api(OpenAiApi::ChatCompletions)).await?;
    let (sender, mut arrived) = tokio::sync::mpsc::unbounded_channel();
    let deltas = ModelDeltas::new(move |delta| drop(sender.send(delta)));
    {
        let mut call = model.stream(hello(), deltas);
        tokio::select! {
            delta = arrived.recv() => assert!(delta.is_some()),
            outcome = &mut call => panic!("the stream did not end, but: {outcome:?}"),
        }
    }
    let closed = tokio::time::timeout(Duration::from_secs(10), closed.recv()).await?;
    assert_eq!(closed, Some(true));
    Ok(())
}
