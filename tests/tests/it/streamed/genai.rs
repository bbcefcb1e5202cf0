//! Streamed model calls of the provider over the crate genai.

use std::{sync::Arc, time::Duration};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    provider::{Genai, GenaiBuilder, Model, ModelDelta, ModelProvider, OpenAiApi},
    wire::ModelFailureKind::{self, *},
};

use super::{
    KEY, failure, hello, hello_with,
    pairs::{Pair, assert_deltas_become_items, pairs_of},
    server::{Answer, Server},
    streamed,
};
use crate::{hostile, logs};

const CLAUDE: (&str, &str) = ("anthropic", "claude-sonnet-4-6");
const GPT: (&str, &str) = ("openai", "openai::gpt-4.1");
const BOTH: [(&str, &str); 2] = [CLAUDE, GPT];

fn builder(adapter: &str, url: &str) -> GenaiBuilder {
    Genai::builder().api_key(adapter, KEY).base_url(adapter, format!("{url}/v1"))
}

async fn model_of(builder: GenaiBuilder, name: &str) -> anyhow::Result<Arc<dyn Model>> {
    builder.build()?.model(name).await?.ok_or_else(|| anyhow::anyhow!("the name is served"))
}

async fn model(server: &Server, (adapter, name): (&str, &str)) -> anyhow::Result<Arc<dyn Model>> {
    model_of(builder(adapter, &server.url), name).await
}

/// Checks that both forms of an answer become the same response; returns `false` if the crate does
/// not read the whole one.
async fn is_equal(pair: &Pair, model_name: (&str, &str)) -> anyhow::Result<bool> {
    let Pair { name, whole, stream, .. } = pair;
    let settings = json!({"preserve_raw_usage": true});
    let cuts: Vec<usize> = (0..stream.len()).step_by(3).collect();
    let server = Server::start([Answer::json("200 OK", whole), Answer::stream(stream).cut(&cuts)])?;
    let model = model(&server, model_name).await?;
    let Ok(called) = model.call(hello_with(settings.clone())).await else { return Ok(false) };
    let (outcome, deltas) = streamed(&model, hello_with(settings)).await;
    let response = outcome.map_err(|error| anyhow::anyhow!("{name}: {error:?}"))?;
    assert_eq!(serde_json::to_value(&response)?, serde_json::to_value(&called)?, "{name}");
    assert_deltas_become_items(name, &deltas, &response.output);
    let sent = server.requests();
    let [mut whole, mut asked] = [sent[0].clone(), sent[1].clone()];
    assert_eq!(asked["stream"], true, "{name}");
    for request in [&mut whole, &mut asked] {
        let members = request.as_object_mut().expect("an object");
        members.remove("stream");
        members.remove("stream_options");
    }
    assert_eq!(asked, whole, "{name}");
    Ok(true)
}

#[tokio::test]
async fn both_forms_of_a_message_become_the_same_response() -> anyhow::Result<()> {
    let pairs = pairs_of("anthropic", OpenAiApi::Responses);
    assert!(pairs.len() >= 10, "{}", pairs.len());
    for pair in &pairs {
        assert!(is_equal(pair, CLAUDE).await?, "{}", pair.name);
    }
    Ok(())
}

#[tokio::test]
async fn both_forms_of_a_completion_become_the_same_response() -> anyhow::Result<()> {
    let mut unread = Vec::new();
    for pair in pairs_of("chat", OpenAiApi::ChatCompletions) {
        if !is_equal(&pair, GPT).await? {
            unread.push(pair.name.rsplit_once('/').expect("a path").1.to_owned());
        }
    }
    // A custom tool is not a call for the crate.
    assert_eq!(unread, ["unknown.json"]);
    Ok(())
}

#[tokio::test]
async fn a_text_arrives_in_its_parts() -> anyhow::Result<()> {
    for (directory, name) in [("anthropic", CLAUDE), ("chat", GPT)] {
        let pairs = pairs_of(directory, OpenAiApi::Responses);
        let pair = pairs.iter().find(|pair| pair.name.ends_with("/text.json")).expect("it is there");
        let server = Server::start([Answer::stream(&pair.stream)])?;
        let (_, deltas) = streamed(&model(&server, name).await?, hello()).await;
        assert!(deltas.len() > 8, "{deltas:?}");
        assert!(deltas.iter().all(|delta| matches!(delta, ModelDelta::Text { index: 0, .. })), "{deltas:?}");
    }
    Ok(())
}

#[tokio::test]
async fn the_usage_of_groq_is_in_a_member_of_its_own() -> anyhow::Result<()> {
    let usage = json!({"queue_time": 0.1, "prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7});
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}],
        "x_groq": {"id": "req_1", "usage": usage}});
    let server = Server::start([Answer::stream(format!("data: {chunk}\n\ndata: [DONE]\n\n"))])?;
    let model = model(&server, ("groq", "groq::llama")).await?;
    let response = streamed(&model, hello_with(json!({"preserve_raw_usage": true}))).await.0?;
    assert_eq!((response.usage.total_tokens, response.raw_usage), (7, Some(usage)));
    Ok(())
}

/// The start of an answer: a text.
fn start(adapter: &str) -> String {
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or("message"));
    if adapter == "openai" {
        return event(json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}]}));
    }
    event(json!({"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 1}}}))
        + &event(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}))
        + &event(json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}}))
}

#[tokio::test]
async fn a_stream_that_ends_early_is_an_invalid_response() -> anyhow::Result<()> {
    for name in BOTH {
        let cut = format!("{}event: message\ndata: {{\"type\": \"mess", start(name.0));
        let ended = "the stream ended before the answer was complete";
        // The crate does not tell that an event is cut off.
        let of_cut = if name == GPT { "an event of the stream is not a JSON object: {\"type\": \"mess" } else { ended };
        let streams = [(start(name.0), ended), (cut, of_cut)];
        for (stream, what) in streams {
            let error = failure(&model(&Server::start([Answer::stream(stream)])?, name).await?).await;
            assert_eq!((error.kind, error.should_retry()), (InvalidResponse, true));
            assert_eq!(error.message, format!("invalid response (200): {what}"));
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_connection_that_breaks_is_a_failed_connection() -> anyhow::Result<()> {
    for name in BOTH {
        let error = failure(&model(&Server::start([Answer::stream(start(name.0)).broken()])?, name).await?).await;
        assert_eq!((error.kind, error.should_retry()), (Connection, true), "{error:?}");
        assert!(error.message.starts_with("connection failed: "), "{}", error.message);
    }
    Ok(())
}

#[rstest]
#[case::overloaded(
    json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    ServerError, "server error (200): Overloaded", Some("overloaded_error")
)]
#[case::limited(
    json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}),
    RateLimit, "rate limited (200): slow down", Some("rate_limit_error")
)]
#[case::wrong(
    json!({"error": {"type": "invalid_request_error", "message": "key the-secret-key"}}),
    BadRequest, "bad request (200): key [redacted]", Some("invalid_request_error")
)]
#[case::code(json!({"error": {"code": 503, "message": "busy"}}), ServerError, "server error (200): busy", Some("503"))]
#[tokio::test]
async fn an_error_within_a_stream_is_that_error(
    #[case] data: Value,
    #[case] kind: ModelFailureKind,
    #[case] message: &str,
    #[case] code: Option<&str>,
) -> anyhow::Result<()> {
    for name in BOTH {
        let stream = format!("{}event: error\ndata: {data}\n\n", start(name.0));
        let error = failure(&model(&Server::start([Answer::stream(stream)])?, name).await?).await;
        assert_eq!((error.kind, error.message.as_str(), error.code.as_deref()), (kind, message, code));
    }
    Ok(())
}

#[tokio::test]
async fn garbage_is_quoted_without_secrets() -> anyhow::Result<()> {
    for name in BOTH {
        let stream = format!("{}event: message_delta\ndata: {KEY}\n\n", start(name.0));
        let error = failure(&model(&Server::start([Answer::stream(stream)])?, name).await?).await;
        let message = "invalid response (200): an event of the stream is not a JSON object: [redacted]";
        assert_eq!((error.kind, error.message.as_str()), (InvalidResponse, message));
    }
    Ok(())
}

#[tokio::test]
async fn a_failed_status_keeps_the_advice_of_the_server() -> anyhow::Result<()> {
    let body = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}});
    for name in BOTH {
        let answer = Answer::json("429 Too Many Requests", &body).header("retry-after", "20");
        let error = failure(&model(&Server::start([answer.header("x-should-retry", "false")])?, name).await?).await;
        assert_eq!((error.kind, error.message.as_str()), (RateLimit, "rate limited (429): slow down"));
        assert_eq!((error.retry_after, error.should_retry()), (Some(Duration::from_secs(20)), false));
        assert_eq!((error.code.as_deref(), error.request_id.as_deref()), (Some("rate_limit_error"), Some("req_1")));
        assert!(error.address().is_some());
    }
    Ok(())
}

#[tokio::test]
async fn a_late_chunk_is_a_timeout() -> anyhow::Result<()> {
    for (adapter, name) in BOTH {
        let server = Server::start([Answer::stream(start(adapter)).silent()])?;
        let builder = builder(adapter, &server.url).chunk_timeout(Duration::from_millis(50));
        let error = failure(&model_of(builder, name).await?).await;
        // The crate tells no status of a stream.
        let status = if name == GPT.1 { "" } else { " (200)" };
        let message = format!("timed out{status}: the answer stopped for 50ms, the limit of chunk_timeout");
        assert_eq!((error.kind, error.message.as_str(), error.should_retry()), (Timeout, message.as_str(), true));
    }
    Ok(())
}

#[tokio::test]
async fn a_late_answer_is_a_timeout() -> anyhow::Result<()> {
    let url = hostile::server::start(|connection| {
        while connection.request()?.is_some() {}
        Ok(())
    })?;
    for (adapter, name) in BOTH {
        let builder = builder(adapter, &url).first_chunk_timeout(Duration::from_millis(50));
        let error = failure(&model_of(builder, name).await?).await;
        let message = "timed out: no part of the answer arrived within 50ms, the limit of first_chunk_timeout";
        assert_eq!((error.kind, error.message.as_str()), (Timeout, message));
    }
    Ok(())
}

fn whole(adapter: &str) -> Value {
    if adapter == "openai" {
        let message = json!({"role": "assistant", "content": "hi"});
        return json!({"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"total_tokens": 7}});
    }
    json!({"id": "m", "role": "assistant", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 4}})
}

/// The member `stream` of each request, and the presence of `stream_options`.
fn asked(server: &Server) -> Vec<(Value, bool)> {
    let asked = |request: &Value| (request["stream"].clone(), request.get("stream_options").is_some());
    server.requests().iter().map(asked).collect()
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_asked_again_and_that_is_remembered() -> anyhow::Result<()> {
    let refusal = json!({"error": {"message": "`stream` is not supported"}});
    let first = |name| [Answer::json("400 Bad Request", &refusal), Answer::json("200 OK", &whole(name))];
    for (adapter, name) in BOTH {
        for (place, first) in first(adapter).into_iter().enumerate() {
            let server = Server::start([first, Answer::json("200 OK", &whole(adapter))])?;
            let model = model(&server, (adapter, name)).await?;
            // Without the crate, a whole answer to the request for a stream is read.
            let reads_whole = place == 1 && (adapter, name) == CLAUDE;
            let expected = if reads_whole { [vec![true], vec![true]] } else { [vec![true, false], vec![false]] };
            for expected in expected {
                let (outcome, deltas) = streamed(&model, hello()).await;
                assert_eq!((outcome?.usage.total_tokens, deltas.len()), (7, 0));
                assert_eq!(asked(&server).into_iter().map(|(stream, _)| stream == true).collect::<Vec<_>>(), expected);
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn refused_options_are_left_out() -> anyhow::Result<()> {
    let refusal = json!({"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]});
    let chunk =
        json!({"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}], "usage": {"total_tokens": 7}});
    let stream = Answer::stream(format!("data: {chunk}\n\ndata: [DONE]\n\n"));
    let server = Server::start([Answer::json("422 Unprocessable Entity", &refusal), stream])?;
    let model = model(&server, GPT).await?;
    for expected in [vec![(json!(true), true), (json!(true), false)], vec![(json!(true), false)]] {
        assert_eq!(streamed(&model, hello()).await.0?.usage.total_tokens, 7);
        assert_eq!(asked(&server), expected);
    }
    Ok(())
}

#[tokio::test]
async fn an_api_whose_streams_are_not_joined_is_called_and_says_so_once() -> anyhow::Result<()> {
    logs::keep();
    let answer = json!({"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}]});
    let server = Server::start([Answer::json("200 OK", &answer)])?;
    let model = model(&server, ("gemini", "gemini-unstreamed")).await?;
    for _ in 0..2 {
        let (outcome, deltas) = streamed(&model, hello()).await;
        assert_eq!((outcome?.output[0].text().as_deref(), deltas.len()), (Some("hi"), 0));
    }
    assert_eq!(logs::with("gemini-unstreamed").len(), 1, "{:?}", logs::with("gemini-unstreamed"));
    Ok(())
}
