//! Model providers that fail: the real OpenAI provider, pointed at servers of the test.

use serde_json::{Value, json};
use temporal_agents::provider::OpenAi;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use wiremock::{Mock, MockBuilder, MockServer, ResponseTemplate, matchers};

use crate::PATIENCE;

/// The provider at this address (`http://host:port`).
pub(super) fn open_ai(address: &str) -> OpenAi {
    let builder = OpenAi::builder().api_key("a-key-that-no-one-checks").base_url(format!("{address}/v1"));
    builder.build().expect("a complete configuration")
}

/// What is answered to requests for this model.
pub(super) fn asked_for(model: &str) -> MockBuilder {
    Mock::given(matchers::body_partial_json(json!({"model": model})))
}

/// How many requests there were for this model.
pub(super) async fn requests_for(server: &MockServer, model: &str) -> usize {
    let requests = server.received_requests().await.expect("requests are recorded");
    requests.iter().filter(|request| request.body_json::<Value>().is_ok_and(|body| body["model"] == *model)).count()
}

/// An answer with this text.
pub(super) fn answer(text: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(response(text))
}

/// A failure as OpenAI words it.
pub(super) fn failure(status: u16, message: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(json!({"error": {"message": message}}))
}

fn response(text: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    json!({
        "id": "resp_1",
        "status": "completed",
        "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}],
    })
}

/// A server that takes requests and answers only when the test says so.
pub(super) struct SilentServer {
    listener: TcpListener,
}

/// A request that waits for its answer.
pub(super) struct Waiting {
    socket: TcpStream,
}

impl SilentServer {
    pub(super) async fn start() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").await.expect("a free port") }
    }

    pub(super) fn provider(&self) -> OpenAi {
        open_ai(&format!("http://{}", self.listener.local_addr().expect("a bound port")))
    }

    /// The next request, once it is there as a whole.
    pub(super) async fn request(&self) -> Waiting {
        let arrival = async {
            let (mut socket, _) = self.listener.accept().await.expect("a connection");
            let mut received = Vec::new();
            while !is_whole(&received) {
                let read = socket.read_buf(&mut received).await.expect("a connection");
                assert_ne!(read, 0, "the request breaks off");
            }
            Waiting { socket }
        };
        timeout(PATIENCE, arrival).await.expect("a request")
    }
}

/// Whether these bytes are the head of a request and all of its body.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.map_or(0, |length| length.trim().parse().expect("a length"));
    body.len() >= length
}

impl Waiting {
    /// Waits until the caller has closed the connection.
    pub(super) async fn given_up(mut self) {
        let closed = async { while self.socket.read(&mut [0; 4096]).await.is_ok_and(|read| read > 0) {} };
        timeout(PATIENCE, closed).await.expect("the request is given up");
    }

    pub(super) async fn answer(mut self, text: &str) {
        let body = response(text).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        self.socket.write_all(format!("{head}{body}").as_bytes()).await.expect("the answer is sent");
        self.given_up().await;
    }
}
