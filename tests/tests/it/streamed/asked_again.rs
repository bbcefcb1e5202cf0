//! Servers that ignore a stream, refuse it, or need another form, and calls that are not streamed.

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    provider::{ModelDelta, OpenAiApi},
    wire::ModelFailureKind,
};

use super::{
    builder, hello, hello_with, model, named,
    server::{Answer, Server},
    streamed,
};
use crate::logs;

fn completion(text: &str) -> Value {
    json!({
        "id": "c1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    })
}

fn chunks(text: &str, usage: bool) -> Answer {
    let chunk = json!({"id": "c1", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]});
    let usage = if usage {
        format!("data: {}\n\n", json!({"choices": [], "usage": completion("")["usage"]}))
    } else {
        String::new()
    };
    Answer::stream(format!("data: {chunk}\n\n{usage}data: [DONE]\n\n"))
}

fn response(text: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    json!({"id": "r1", "status": "completed", "output": [{"type": "message", "role": "assistant", "content": content}]})
}

fn refusal(parameter: &str) -> Answer {
    let message = format!("Unrecognized request argument supplied: {parameter}");
    Answer::json("400 Bad Request", &json!({"error": {"message": message, "param": parameter}}))
}

/// The presence of `stream` and of `stream_options` in each request.
fn asked(server: &Server) -> Vec<(bool, bool)> {
    let has = |request: &Value, name: &str| request.get(name).is_some();
    server.requests().iter().map(|request| (has(request, "stream"), has(request, "stream_options"))).collect()
}

#[rstest]
#[case::json("application/json")]
#[case::the_content_type_of_a_stream("text/event-stream; charset=utf-8")]
#[case::no_known_type("application/x-unknown")]
#[tokio::test]
async fn a_server_that_ignores_the_stream_is_read_whole(#[case] content_type: &str) -> anyhow::Result<()> {
    let bodies = [(OpenAiApi::Responses, response("hi")), (OpenAiApi::ChatCompletions, completion("hi"))];
    for (api, body) in bodies {
        let body = format!(" \n{body:#}");
        let server = Server::start([Answer::of("200 OK", content_type, &body).cut(&[1, 2, 3, 40])])?;
        let model = model(&server, api).await?;
        let (outcome, deltas) = streamed(&model, hello()).await;
        assert_eq!(outcome?.output[0].text().as_deref(), Some("hi"));
        assert_eq!(deltas, []);
        assert_eq!(server.requests().len(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn a_stream_under_another_content_type_is_a_stream() -> anyhow::Result<()> {
    let chunk =
        json!({"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}], "usage": {"total_tokens": 1}});
    let server = Server::start([Answer::of("200 OK", "text/plain", format!("data: {chunk}\n\ndata: [DONE]\n\n"))])?;
    let (outcome, deltas) = streamed(&model(&server, OpenAiApi::ChatCompletions).await?, hello()).await;
    assert_eq!(outcome?.output[0].text().as_deref(), Some("hi"));
    assert_eq!(deltas, [ModelDelta::Text { index: 0, delta: "hi".into() }]);
    Ok(())
}

#[tokio::test]
async fn refused_options_are_left_out_and_that_is_remembered() -> anyhow::Result<()> {
    let server = Server::start([refusal("stream_options"), chunks("hi", true)])?;
    let provider = builder(&server, OpenAiApi::ChatCompletions).build()?;
    for expected in [vec![(true, true), (true, false)], vec![(true, false)]] {
        let (outcome, deltas) = streamed(&named(&provider, "gpt-5").await?, hello()).await;
        assert_eq!((outcome?.usage.total_tokens, deltas.len()), (7, 1));
        assert_eq!(asked(&server), expected);
    }
    // Another model may be another server, behind a gateway.
    streamed(&named(&provider, "gpt-6").await?, hello()).await.0?;
    assert_eq!(asked(&server), [(true, true)]);
    Ok(())
}

#[rstest]
#[case::one_after_the_other(
    vec![refusal("stream_options"), refusal("stream")],
    vec![(true, true), (true, false), (false, false)]
)]
#[case::together(vec![refusal("stream")], vec![(true, true), (false, false)])]
#[tokio::test]
async fn a_refused_stream_is_asked_for_once(
    #[case] refusals: Vec<Answer>,
    #[case] expected: Vec<(bool, bool)>,
) -> anyhow::Result<()> {
    logs::keep();
    let name = format!("unstreamed-{}", refusals.len());
    let whole = Answer::json("200 OK", &completion("hi"));
    let server = Server::start(refusals.into_iter().chain([whole]))?;
    let provider = builder(&server, OpenAiApi::ChatCompletions).build()?;
    for expected in [expected, vec![(false, false)]] {
        let (outcome, deltas) = streamed(&named(&provider, &name).await?, hello()).await;
        assert_eq!(outcome?.output[0].text().as_deref(), Some("hi"));
        assert_eq!(deltas, []);
        assert_eq!(asked(&server), expected);
    }
    assert_eq!(logs::with(&name).len(), 1, "{:?}", logs::with(&name));
    Ok(())
}

#[tokio::test]
async fn a_refused_stream_of_the_responses_api_is_asked_for_once() -> anyhow::Result<()> {
    let server = Server::start([refusal("stream"), Answer::json("200 OK", &response("hi"))])?;
    let model = model(&server, OpenAiApi::Responses).await?;
    for expected in [vec![(true, false), (false, false)], vec![(false, false)]] {
        streamed(&model, hello()).await.0?;
        assert_eq!(asked(&server), expected);
    }
    Ok(())
}

#[tokio::test]
async fn a_request_that_is_wrong_anyway_says_nothing_about_streams() -> anyhow::Result<()> {
    let server = Server::start([refusal("stream")])?;
    let model = model(&server, OpenAiApi::Responses).await?;
    for _ in 0..2 {
        let error = streamed(&model, hello()).await.0.expect_err("a refusal");
        assert_eq!(error.kind, ModelFailureKind::BadRequest);
        assert_eq!(asked(&server), [(true, false), (false, false)]);
    }
    Ok(())
}

#[tokio::test]
async fn streams_without_usage_are_given_up() -> anyhow::Result<()> {
    let server = Server::start([chunks("hi", false), Answer::json("200 OK", &completion("hi"))])?;
    let model = model(&server, OpenAiApi::ChatCompletions).await?;
    assert_eq!(streamed(&model, hello()).await.0?.usage.total_tokens, 0);
    assert_eq!(streamed(&model, hello()).await.0?.usage.total_tokens, 7);
    assert_eq!(asked(&server), [(true, true), (false, false)]);
    Ok(())
}

#[rstest]
#[case::not_streamed(json!({"extra_args": {"stream": false}}))]
#[case::several_choices(json!({"extra_body": {"n": 2}}))]
#[case::audio(json!({"extra_args": {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}}}))]
#[case::no_usage(json!({"extra_args": {"stream_options": {"include_usage": false}}}))]
#[tokio::test]
async fn a_call_whose_streamed_answer_may_differ_is_not_streamed(#[case] settings: Value) -> anyhow::Result<()> {
    let server = Server::start([Answer::json("200 OK", &completion("hi"))])?;
    let model = model(&server, OpenAiApi::ChatCompletions).await?;
    for _ in 0..2 {
        let (outcome, deltas) = streamed(&model, hello_with(settings.clone())).await;
        assert_eq!((outcome?.output[0].text().as_deref(), deltas.len()), (Some("hi"), 0));
    }
    for request in server.requests() {
        assert_ne!(request.get("stream"), Some(&json!(true)));
        assert_eq!(request.get("stream_options"), None);
    }
    // Only these calls: others of the model are streamed.
    server.answer([chunks("hi", true)]);
    assert_eq!(streamed(&model, hello()).await.1.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_background_response_is_refused_as_without_a_stream() -> anyhow::Result<()> {
    let queued = json!({"id": "r1", "status": "queued", "output": []});
    let server = Server::start([Answer::json("200 OK", &queued)])?;
    let call = hello_with(json!({"extra_args": {"background": true}}));
    let error = streamed(&model(&server, OpenAiApi::Responses).await?, call).await.0.expect_err("a refusal");
    assert_eq!((error.kind, asked(&server)), (ModelFailureKind::Unsupported, vec![(false, false)]));
    Ok(())
}

#[tokio::test]
async fn options_of_the_user_are_sent_with_the_usage() -> anyhow::Result<()> {
    let settings = json!({"extra_args": {"stream_options": {"include_obfuscation": false}}});
    let server = Server::start([chunks("hi", true), Answer::json("200 OK", &completion("hi"))])?;
    let model = model(&server, OpenAiApi::ChatCompletions).await?;
    streamed(&model, hello_with(settings.clone())).await.0?;
    model.call(hello_with(settings)).await?;
    let requests = server.requests();
    assert_eq!(requests[0]["stream_options"], json!({"include_obfuscation": false, "include_usage": true}));
    assert_eq!(requests[1].get("stream_options"), None);
    Ok(())
}
