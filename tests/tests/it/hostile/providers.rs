//! Providers of models that never finish their answer, or send one that does not fit into memory.

use std::{io, time::Duration};

use anyhow::Context;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, RunError,
    agentic_session::AgenticSession,
    inline::InlineRunner,
    provider::{Genai, ModelDeltas, ModelError, ModelProvider, OpenAi, OpenAiApi},
    wire::{Definitions, Item, ModelCall, ModelFailureKind, ModelSettings},
};
use temporal_agents_testing::{SessionEnvironment, session_environment::AttemptError};
use tokio::runtime::Runtime;

use super::{
    server::{self, Connection},
    victim::attack,
};
use crate::agentic_session::desk::Desk;

/// The number of bytes of a body.
const BYTES: usize = 1_000_000_000;
/// A JSON object begins like this, and one that does is read to its end.
const BEGINNING: &[u8] = b"{\"id\":\"resp_1\",\"status\":\"completed\",\"output\":[],\"padding\":\"";

/// Answers with status and headers, and then never again.
fn headers_only(connection: &mut Connection) -> io::Result<()> {
    while connection.request()?.is_some() {
        connection.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n")?;
    }
    Ok(())
}

#[test]
fn a_provider_that_answers_headers_only_ends_in_a_timeout_inline() -> anyhow::Result<()> {
    attack("headers only, inline", &server::start(headers_only)?)
}

#[test]
fn a_provider_that_answers_headers_only_ends_in_a_timeout_in_a_session() -> anyhow::Result<()> {
    attack("headers only, in a session", &server::start(headers_only)?)
}

#[test]
fn a_body_of_a_gigabyte_is_a_typed_error() -> anyhow::Result<()> {
    let url = server::start(|connection| {
        connection.request()?;
        connection.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n")?;
        connection.send(BEGINNING)?;
        let part = vec![b'x'; 1 << 16];
        (0..BYTES / part.len()).try_for_each(|_| connection.send(&part))?;
        connection.send(b"\"}")
    })?;
    attack("a body of 1 GB", &url)
}

#[test]
fn a_body_that_becomes_a_gigabyte_when_it_is_decompressed_is_a_typed_error() -> anyhow::Result<()> {
    let bomb = gzip_bomb();
    let url = server::start(move |connection| {
        connection.request()?;
        let headers = "content-type: application/json\r\ncontent-encoding: gzip\r\nconnection: close";
        connection.send(format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n").as_bytes())?;
        connection.send(&bomb)
    })?;
    attack("a body that becomes 1 GB", &url)
}

/// Sends the head of a stream and its start, and then this part of it without end.
fn endless(start: &'static str, part: impl Into<String>) -> anyhow::Result<String> {
    let part = part.into();
    server::start(move |connection| {
        connection.request()?;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        connection.send(format!("{head}{start}").as_bytes())?;
        let parts = part.repeat(((1 << 16) / part.len()).max(1));
        (0..BYTES / parts.len()).try_for_each(|_| connection.send(parts.as_bytes()))
    })
}

#[test]
fn an_event_of_a_gigabyte_is_a_typed_error() -> anyhow::Result<()> {
    attack("an endless stream", &endless("data: {\"padding\":\"", "x")?)
}

/// A part of a text, of half a kilobyte.
fn text() -> String {
    format!("data: {}\n\n", json!({"choices": [{"delta": {"content": "x".repeat(512)}}]}))
}

#[test]
fn a_text_of_a_gigabyte_in_small_events_is_a_typed_error() -> anyhow::Result<()> {
    attack("an endless stream", &endless("", text())?)
}

#[test]
fn items_of_a_gigabyte_are_a_typed_error() -> anyhow::Result<()> {
    let item = json!({"type": "message", "text": "x".repeat(100)});
    let done = json!({"type": "response.output_item.done", "item": item});
    attack("an endless stream of items", &endless("", format!("data: {done}\n\n"))?)
}

#[test]
fn a_gigabyte_of_signs_of_life_is_a_typed_error() -> anyhow::Result<()> {
    attack("an endless stream", &endless("", ": still there\n\n")?)
}

#[test]
fn a_text_of_a_gigabyte_is_a_typed_error_through_genai() -> anyhow::Result<()> {
    attack("an endless stream through genai", &endless("", text())?)
}

/// A gzip stream of a JSON object that begins, and then repeats its last letter: 7 MB that become
/// 1 GB. Its end is missing: no reader may arrive there.
fn gzip_bomb() -> Vec<u8> {
    let mut stream = Bits { bytes: vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff], pending: 0, count: 0 };
    // One block with the fixed codes of RFC 1951.
    stream.number(0b010, 3);
    for byte in BEGINNING.iter().chain(b"x") {
        stream.code(0x30 + u32::from(*byte), 8);
    }
    // 258 bytes, which begin one byte ago.
    for _ in 0..BYTES / 258 {
        stream.code(0b1100_0101, 8);
        stream.code(0, 5);
    }
    stream.bytes
}

/// Bits in the order of RFC 1951.
struct Bits {
    bytes: Vec<u8>,
    pending: u32,
    count: u32,
}

impl Bits {
    /// A number, its lowest bit first.
    fn number(&mut self, number: u32, bits: u32) {
        self.pending |= number << self.count;
        self.count += bits;
        while self.count >= 8 {
            self.bytes.push(self.pending.to_le_bytes()[0]);
            self.pending >>= 8;
            self.count -= 8;
        }
    }

    /// A Huffman code, its highest bit first.
    fn code(&mut self, code: u32, bits: u32) {
        self.number(code.reverse_bits() >> (32 - bits), bits);
    }
}

/// A runner with the provider at this address.
fn runner(url: &str) -> anyhow::Result<InlineRunner> {
    let provider = OpenAi::builder().api_key("a-long-secret-key").base_url(format!("{url}/v1")).build()?;
    Ok(InlineRunner::new(provider).first_pause(Duration::from_millis(1)))
}

fn hasty() -> Agent {
    let settings = ModelSettings::builder().timeout(0.2).build();
    Agent::new("clerk").model("gpt-5").settings(settings)
}

pub(super) fn headers_only_inline(url: &str) -> anyhow::Result<String> {
    let runner = runner(url)?;
    let failure = Runtime::new()?.block_on(runner.run(&hasty(), "hi").into_future()).expect_err("there is no answer");
    let RunError::Model { source, .. } = &failure.error else { anyhow::bail!("{failure:?}") };
    let kind = source.downcast_ref::<ModelError>().map(|error| error.kind);
    anyhow::ensure!(kind == Some(ModelFailureKind::Timeout), "it is no timeout: {failure:?}");
    Ok(failure.to_string())
}

pub(super) fn headers_only_in_a_session(url: &str) -> anyhow::Result<String> {
    let runner = runner(url)?;
    let desk = Desk::new(move |ctx, _| {
        let runner = runner.clone();
        async move {
            AgenticSession::run(&ctx, async |session| {
                Ok(json!(session.runner(&runner).run(&hasty(), "hi").await?.final_output))
            })
            .await
        }
    });
    let env = SessionEnvironment::new().register_activities(move || desk.clone());
    let ended = Runtime::new()?.block_on(env.attempt().run(Desk::work, Value::Null));
    let error = ended.result.expect_err("there is no answer");
    let AttemptError::Failed(failure) = &error else { anyhow::bail!("it is no failure: {error}") };
    let kind = failure.type_name().unwrap_or_default();
    anyhow::ensure!(kind == "ModelInvocationError.Timeout", "it is no timeout: {kind}: {error}");
    Ok(error.to_string())
}

pub(super) fn large_body(url: &str) -> anyhow::Result<String> {
    let runner = runner(url)?;
    let agent = Agent::new("clerk").model("gpt-5");
    let failure = Runtime::new()?.block_on(runner.run(&agent, "hi").into_future()).expect_err("too much to hold");
    anyhow::ensure!(matches!(failure.error, RunError::Model { .. }), "{failure:?}");
    Ok(failure.to_string())
}

pub(super) fn endless_stream(url: &str) -> anyhow::Result<String> {
    streamed(url, OpenAiApi::ChatCompletions)
}

pub(super) fn endless_items(url: &str) -> anyhow::Result<String> {
    streamed(url, OpenAiApi::Responses)
}

/// A streamed call, of which only the sum of its deltas is kept.
fn streamed(url: &str, api: OpenAiApi) -> anyhow::Result<String> {
    streamed_by(&OpenAi::builder().api_key("a-long-secret-key").base_url(format!("{url}/v1")).api(api).build()?)
}

pub(super) fn endless_stream_through_genai(url: &str) -> anyhow::Result<String> {
    let builder = Genai::builder().api_key("openai", "a-long-secret-key").base_url("openai", format!("{url}/v1"));
    streamed_by(&builder.build()?)
}

fn streamed_by(provider: &impl ModelProvider) -> anyhow::Result<String> {
    let call = ModelCall::new("clerk", "openai::gpt-5", Definitions::default(), vec![Item::user("hi")]);
    let failure = Runtime::new()?.block_on(async {
        let model = provider.model("openai::gpt-5").await?.context("every name is served")?;
        anyhow::Ok(model.stream(call, ModelDeltas::new(drop)).await.expect_err("too much to hold"))
    })?;
    anyhow::ensure!(failure.kind == ModelFailureKind::ResponseTooLarge && !failure.should_retry(), "{failure:?}");
    Ok(failure.to_string())
}
