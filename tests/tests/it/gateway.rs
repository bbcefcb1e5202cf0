//! A gateway in front of the real server that refuses single calls: what a server does that has forgotten a history, or keeps it
//! from a worker.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use http_body_util::{BodyExt, Empty, combinators::BoxBody};
use hyper::{
    Request, Response, Uri,
    body::{Bytes, Incoming},
    server::conn::http2,
    service::service_fn,
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

type Body = BoxBody<Bytes, hyper::Error>;

/// A gateway; dropping it ends it.
pub(crate) struct Gateway {
    address: SocketAddr,
    refused: Arc<AtomicU32>,
    calls: watch::Sender<Calls>,
    serving: JoinHandle<()>,
}

/// The calls of each method: all, and those without an answer.
type Calls = BTreeMap<String, (u32, u32)>;

/// A gRPC status code, as it travels.
#[derive(Clone, Copy)]
pub(crate) enum Refusal {
    PermissionDenied = 7,
    Unavailable = 14,
}

impl Gateway {
    /// A gateway to `upstream` (host and port) that refuses the first `times` calls of this method.
    pub(crate) async fn start(
        upstream: String,
        method: &'static str,
        refusal: Refusal,
        times: u32,
    ) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let refused = Arc::new(AtomicU32::new(0));
        let calls = watch::Sender::new(Calls::new());
        let rule = Rule { upstream, method, refusal, times, refused: Arc::clone(&refused), calls: calls.clone() };
        let serving = tokio::spawn(serve(listener, rule));
        Ok(Self { address, refused, calls, serving })
    }

    /// A gateway that refuses nothing, and counts.
    pub(crate) async fn counting(upstream: String) -> anyhow::Result<Self> {
        Self::start(upstream, "", Refusal::Unavailable, 0).await
    }

    /// How often this method was called.
    pub(crate) fn calls(&self, method: &str) -> u32 {
        self.calls.borrow().get(method).map_or(0, |(all, _)| *all)
    }

    /// Waits until this number of calls of a method has no answer yet.
    pub(crate) async fn until_open(&self, method: &str, number: u32) {
        let is_open = |calls: &Calls| calls.get(method).map_or(0, |(_, open)| *open) == number;
        self.calls.subscribe().wait_for(is_open).await.expect("the gateway lives");
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How often it has refused.
    pub(crate) fn refused(&self) -> u32 {
        self.refused.load(Ordering::SeqCst)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

#[derive(Clone)]
struct Rule {
    upstream: String,
    method: &'static str,
    refusal: Refusal,
    times: u32,
    refused: Arc<AtomicU32>,
    calls: watch::Sender<Calls>,
}

/// A call without an answer.
struct Call<'r>(&'r Rule, String);

impl<'r> Call<'r> {
    fn new(rule: &'r Rule, method: &str) -> Self {
        rule.calls.send_modify(|calls| {
            let (all, open) = calls.entry(method.to_owned()).or_default();
            *all += 1;
            *open += 1;
        });
        Self(rule, method.to_owned())
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.calls.send_modify(|calls| calls.entry(self.1.clone()).or_default().1 -= 1);
    }
}

async fn serve(listener: TcpListener, rule: Rule) {
    let client: Client<HttpConnector, Incoming> = Client::builder(TokioExecutor::new()).http2_only(true).build_http();
    while let Ok((stream, _)) = listener.accept().await {
        let (client, rule) = (client.clone(), rule.clone());
        let answer = service_fn(move |request| answer(client.clone(), rule.clone(), request));
        tokio::spawn(http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), answer));
    }
}

async fn answer(
    client: Client<HttpConnector, Incoming>,
    rule: Rule,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
    let _call = Call::new(&rule, &method);
    let is_meant = method == rule.method;
    let has_more = |refused: u32| (refused < rule.times).then_some(refused + 1);
    if is_meant && rule.refused.fetch_update(Ordering::SeqCst, Ordering::SeqCst, has_more).is_ok() {
        return Ok(status(rule.refusal as u8));
    }
    let path = request.uri().path().to_owned();
    *request.uri_mut() = format!("http://{}{path}", rule.upstream).parse::<Uri>().expect("a path from a URI");
    match client.request(request).await {
        Ok(response) => Ok(response.map(BodyExt::boxed)),
        Err(_) => Ok(status(Refusal::Unavailable as u8)),
    }
}

/// A gRPC answer without content.
fn status(code: u8) -> Response<Body> {
    let body = Empty::new().map_err(|never: Infallible| match never {}).boxed();
    Response::builder()
        .header("content-type", "application/grpc")
        .header("grpc-status", code.to_string())
        .header("grpc-message", "refused by the test")
        .body(body)
        .expect("a response without content")
}
