//! A server over streamable HTTP whose answers are a function of the test: plain JSON, no streams.

use std::{convert::Infallible, future::Future, net::SocketAddr, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use http_body_util::{BodyExt, Collected, Full};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use temporal_agents::mcp::{McpHttp, McpTransport};
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};

/// The header that names a session.
const SESSION: &str = "mcp-session-id";

/// A request to the server.
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) params: Value,
    /// The session that it names; `initialize` names none.
    pub(crate) session: Option<String>,
    pub(crate) authorization: Option<String>,
}

/// The answer to a request.
pub(crate) enum Answer {
    /// This result.
    Result(Value),
    /// The result of a call: one text.
    Text(String),
    /// This session, as the answer to `initialize`.
    Session(String),
    /// A JSON-RPC error with this message.
    Refusal(String),
    /// An HTTP response with this status and this text.
    Http(u16, String),
}

type Answering = Arc<dyn Fn(Asked) -> BoxFuture<'static, Answer> + Send + Sync>;

/// A server; dropping it ends it.
pub(crate) struct AnsweringServer {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl AnsweringServer {
    /// A server that answers requests, but no notifications, with this function.
    pub(crate) async fn start<F>(answer: impl Fn(Asked) -> F + Send + Sync + 'static) -> anyhow::Result<Self>
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let answer: Answering = Arc::new(move |asked| answer(asked).boxed());
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let serving = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let answer = Arc::clone(&answer);
                let service = service_fn(move |request| respond(Arc::clone(&answer), request));
                connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Ok(Self { address, serving })
    }

    pub(crate) fn transport(&self) -> McpHttp {
        McpTransport::streamable_http(format!("http://{}/mcp", self.address))
    }
}

impl Drop for AnsweringServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The tools of a list, without parameters.
pub(crate) fn tools<'n>(names: impl IntoIterator<Item = &'n str>) -> Value {
    names.into_iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect()
}

async fn respond(answer: Answering, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let header = |name: &str| request.headers().get(name)?.to_str().ok().map(str::to_owned);
    let (session, authorization) = (header(SESSION), header("authorization"));
    match *request.method() {
        Method::POST => {}
        Method::DELETE => return Ok(response(StatusCode::OK, "text/plain", String::new())),
        _ => return Ok(response(StatusCode::METHOD_NOT_ALLOWED, "text/plain", String::new())),
    }
    let bytes = request.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
    let message: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let (id, method) = (message["id"].clone(), message["method"].as_str().unwrap_or_default().to_owned());
    if id.is_null() {
        return Ok(response(StatusCode::ACCEPTED, "text/plain", String::new()));
    }
    let asked = Asked { method, params: message["params"].clone(), session, authorization };
    let result = |result: Value| {
        let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        response(StatusCode::OK, "application/json", body)
    };
    Ok(match answer(asked).await {
        Answer::Result(value) => result(value),
        Answer::Text(text) => result(json!({"content": [{"type": "text", "text": text}]})),
        Answer::Session(session) => {
            let mut response = result(json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                "serverInfo": {"name": "answering", "version": "1"},
            }));
            let named = session.parse().expect("a session that a header can name");
            response.headers_mut().insert(SESSION, named);
            response
        }
        Answer::Refusal(message) => {
            let error = json!({"code": -32000, "message": message});
            let body = json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string();
            response(StatusCode::OK, "application/json", body)
        }
        Answer::Http(status, text) => response(StatusCode::from_u16(status).expect("a status"), "text/plain", text),
    })
}

fn response(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let response = Response::builder().status(status).header("content-type", kind);
    response.body(Full::new(body.into())).expect("a response")
}
