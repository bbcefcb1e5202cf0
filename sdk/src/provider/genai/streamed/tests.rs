use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
};

use serde_json::json;
use temporal_agents_core::wire::{Definitions, Item, ModelCall, ModelResponse};

use super::*;
use crate::provider::{Genai, ModelProvider};

/// The limits of the tests.
const LIMIT: Duration = Duration::from_millis(400);

/// Streams a call of Chat Completions against a server that writes what `serve` does.
async fn streamed(
    serve: impl FnOnce(&mut TcpStream) -> std::io::Result<()> + Send + 'static,
) -> Result<ModelResponse, ModelError> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let server = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept()?;
        let mut lines = BufReader::new(connection.try_clone()?).lines();
        while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
        serve(&mut connection)
    });
    let provider = Genai::builder()
        .api_key("openai", "a-key")
        .base_url("openai", format!("http://{address}/v1/"))
        .first_chunk_timeout(LIMIT)
        .chunk_timeout(LIMIT)
        .build()
        .expect("a configuration");
    let model = provider.model("openai::gpt-5").await.expect("a provider").expect("the name is served");
    let call = ModelCall::new("agent", "openai::gpt-5", Definitions::default(), vec![Item::user("hi")]);
    let outcome = model.stream(call, ModelDeltas::new(drop)).await;
    // An error means that the client has closed the connection.
    drop(server.join().expect("no panic"));
    outcome
}

/// Writes this six times, and takes longer for it than the limit.
fn repeat(connection: &mut TcpStream, frame: &str) -> std::io::Result<()> {
    for _ in 0..6 {
        connection.write_all(frame.as_bytes())?;
        std::thread::sleep(LIMIT / 4);
    }
    Ok(())
}

fn finish(connection: &mut TcpStream) -> std::io::Result<()> {
    let chunk = json!({
        "id": "c1", "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    });
    connection.write_all(format!("data: {chunk}\n\ndata: [DONE]\n\n").as_bytes())
}

#[tokio::test]
async fn comments_and_events_that_are_skipped_are_signs_of_life() {
    for frame in [": still there\n\n", "event: ping\n\n", "data: {\"choices\": []}\n\n", "data: {\"x\": 1}\n\n"] {
        let outcome = streamed(move |connection| repeat(connection, frame).and_then(|()| finish(connection))).await;
        assert_eq!(outcome.expect("an answer").output[0].text().as_deref(), Some("hi"), "{frame}");
    }
}

#[tokio::test]
async fn a_stream_that_falls_silent_fails_in_time() {
    for (frame, limit) in [(": still there\n\n", "chunk_timeout"), ("", "first_chunk_timeout")] {
        let outcome = streamed(move |connection| {
            connection.write_all(frame.as_bytes())?;
            std::thread::sleep(2 * LIMIT);
            finish(connection)
        });
        let error = outcome.await.expect_err("the stream is silent");
        assert_eq!(error.kind, ModelFailureKind::Timeout);
        assert!(error.to_string().ends_with(&format!("the limit of {limit}")), "{error}");
    }
}
