//! Providers that answer with more than a worker should hold: how much of it is read, and what the failure says.

use std::{fmt::Write, net::SocketAddr};

use rstest::rstest;
use temporal_agents::{
    Agent, Runner,
    provider::{Genai, ModelError, ModelProvider, OpenAi},
    wire::{Definitions, Item, ModelCall, ModelFailureKind},
};
use temporal_agents_testing::{AgentEnvironment, FakeModel, fake_model::text};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

const MIB: usize = 1024 * 1024;

/// What a server saw and did: the request's head, and how many bytes of the body it could send.
struct Served {
    request: String,
    sent: usize,
}

/// A server of one request. The body is this piece so many times, without its length before it.
async fn server(head: &str, piece: Vec<u8>, pieces: usize) -> (SocketAddr, JoinHandle<Served>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let head = format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n");
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let request = request_head(&mut stream).await;
        let mut sent = 0;
        if stream.write_all(head.as_bytes()).await.is_ok() {
            for _ in 0..pieces {
                if stream.write_all(&piece).await.is_err() {
                    break;
                }
                sent += piece.len();
            }
        }
        Served { request, sent }
    });
    (address, serving)
}

async fn request_head(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    while !read.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut some = [0; 4096];
        let count = stream.read(&mut some).await.expect("a request");
        assert_ne!(count, 0, "the request ends early");
        read.extend_from_slice(&some[..count]);
    }
    String::from_utf8_lossy(&read).to_lowercase()
}

async fn call(provider: impl ModelProvider, name: &str) -> ModelError {
    let model = provider.model(name).await.expect("no credentials to fetch").expect("the name is served");
    let call = ModelCall::new("desk", name, Definitions::default(), vec![Item::user("hi")]);
    model.call(call).await.expect_err("a failure")
}

fn openai(address: SocketAddr) -> OpenAi {
    OpenAi::builder().api_key("none").base_url(format!("http://{address}/v1")).build().expect("a configuration")
}

/// The bits of a deflate stream, lowest first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    count: usize,
}

impl Bits {
    fn push(&mut self, bits: &str) {
        for bit in bits.bytes() {
            if self.count.is_multiple_of(8) {
                self.bytes.push(0);
            }
            if bit == b'1' {
                *self.bytes.last_mut().expect("pushed") |= 1 << (self.count % 8);
            }
            self.count += 1;
        }
    }
}

/// A gzip file, without its end, that stands for so many spaces: one deflate block with fixed codes, of a literal and of matches of
/// length 258 at distance 1.
fn bomb(spaces: usize) -> Vec<u8> {
    let mut bits = Bits { bytes: vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], count: 80 };
    bits.push("110");
    bits.push("01010000");
    for _ in 0..spaces / 258 {
        bits.push("1100010100000");
    }
    bits.push("0000000");
    bits.bytes
}

fn check(error: &ModelError) {
    let mut expected = String::from("response too large (200): the body is over the limit of 32 MiB");
    let _ = write!(expected, "; it is not requested again (agent \"desk\", model \"gpt-5\")");
    assert_eq!(error.message, expected);
    assert_eq!((error.kind.name(), error.should_retry(), error.status), ("ResponseTooLarge", false, Some(200)));
}

#[tokio::test]
async fn an_answer_without_end_is_read_up_to_the_limit() {
    let (address, serving) = server("200 OK\r\ncontent-type: application/json", vec![b' '; MIB], 1024).await;
    let error = call(openai(address), "gpt-5").await;
    let sent = serving.await.expect("it ends").sent;
    assert!(sent < 64 * MIB, "{sent} bytes were read");
    check(&error);
}

#[tokio::test]
async fn a_length_over_the_limit_is_believed_at_once() {
    let head = format!("200 OK\r\ncontent-length: {}", 1024 * MIB);
    let (address, serving) = server(&head, vec![b' '; MIB], 1024).await;
    let error = call(openai(address), "gpt-5").await;
    let sent = serving.await.expect("it ends").sent;
    assert!(sent < 32 * MIB, "{sent} bytes were read");
    check(&error);
}

#[tokio::test]
async fn a_compressed_answer_is_measured_as_it_is_decompressed() {
    let bomb = bomb(1024 * MIB);
    assert!(bomb.len() < 8 * MIB);
    let head = "200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip";
    let (address, _serving) = server(head, bomb, 1).await;
    check(&call(openai(address), "gpt-5").await);
}

#[rstest]
#[case::client_error("400 Bad Request", ModelFailureKind::BadRequest)]
#[case::server_error("503 Service Unavailable", ModelFailureKind::ServerError)]
#[tokio::test]
async fn of_a_long_error_the_start_is_read(#[case] status: &str, #[case] kind: ModelFailureKind) {
    let (address, serving) = server(status, b"x ".repeat(MIB / 2), 1024).await;
    let error = call(openai(address), "gpt-5").await;
    let sent = serving.await.expect("it ends").sent;
    assert!(sent < 32 * MIB, "{sent} bytes were read");
    assert_eq!(error.kind, kind);
    assert!(error.message.contains("): x x x "), "{}", error.message);
    assert!(error.message.len() < 300, "{}", error.message);
}

#[tokio::test]
async fn genai_asks_for_no_compression_and_decompresses_nothing() {
    let head = "200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip";
    let (address, serving) = server(head, bomb(256 * MIB), 1).await;
    let genai = Genai::builder().api_key("anthropic", "none").base_url("anthropic", format!("http://{address}/v1"));
    let error = call(genai.build().expect("a configuration"), "claude-sonnet-4-6").await;
    let request = serving.await.expect("it ends").request;
    assert!(!request.contains("accept-encoding"), "{request}");
    assert_eq!(error.kind, ModelFailureKind::InvalidResponse);
    assert!(error.message.len() < 1000, "{}", error.message);
}

fn talker() -> Agent {
    Agent::new("talker").model("fake")
}

#[workflow]
#[derive(Default)]
pub(crate) struct Talk;

#[workflow_methods]
impl Talk {
    #[run(name = "talk at length")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&talker(), request).await?.final_output)
    }
}

#[tokio::test]
async fn a_reply_that_no_message_holds_fails_the_call_once_and_says_so() -> anyhow::Result<()> {
    let model = FakeModel::script([text("x".repeat(5 * MIB))]);
    let env = AgentEnvironment::builder().workflow::<Talk>()?.model(&model).agents((talker,)).start().await?;
    let run = env.run(Talk::run, "Talk.".to_owned()).await?;
    let chain = run.failure_chain();
    let is_named = |(kind, message): &(String, String)| {
        kind == "ModelInvocationError.ResponseTooLarge"
            && message.starts_with(
                "response too large: the model's reply is 5.24 MB of JSON, 5.24 MB when it is sent, over the limit of \
                 4.00 MB",
            )
    };
    assert!(chain.iter().any(is_named), "{chain:?}");
    assert_eq!((run.activities()[0].attempts, model.calls().len()), (1, 1));
    env.finish().await?;
    Ok(())
}
