//! The connections of a service that listens by itself.
//!
//! # Design
//! **A connection that says nothing costs little, and not for long.** One without a request under
//! way must send the headers of its next request within 30 seconds. If more than 256 connections are
//! idle, the one that has been idle for longest is closed for the next: whoever opens connections
//! and sends nothing keeps nobody else out. Connections with a request under way, such as event
//! streams, are not limited here; a proxy in front of the service limits them by caller.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    future::Future,
    io,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes, HttpBody},
};
use hyper::{
    body::{Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// The pause after a connection that could not be accepted, for example because the process has no
/// file descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// The limits of connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum number of connections without a request under way.
    pub(super) max_idle: usize,
    /// Time in which the headers of a request must come.
    pub(super) header_timeout: Duration,
    /// Time that open requests have when the service stops.
    pub(super) grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_idle: 256, header_timeout: Duration::from_secs(30), grace: Duration::from_secs(10) }
    }
}

/// Answers requests until `stop` ends. Then cancels `stopping`, takes no new connection, and gives
/// open requests their grace.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    stop: impl Future<Output = ()>,
    stopping: CancellationToken,
) {
    let idle = Arc::new(IdleConnections { max: limits.max_idle, oldest_first: Mutex::default() });
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            biased;
            () = &mut stop => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let connection = Connection::open(&idle);
                    connections.spawn(answer(stream, router.clone(), connection, limits, stopping.clone()));
                }
                Err(error) if is_of_the_client(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection cannot be accepted");
                    idle.close_oldest();
                    sleep(PAUSE).await;
                }
            },
        }
    }
    stopping.cancel();
    let ended = async { while connections.join_next().await.is_some() {} };
    // Those that remain are closed.
    let _ = timeout(limits.grace, ended).await;
}

/// Returns `true` if a connection has ended before it was accepted.
fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Answers the requests of one connection.
async fn answer(
    stream: TcpStream,
    router: Router,
    connection: Arc<Connection>,
    limits: Limits,
    stopping: CancellationToken,
) {
    // The parts of an event stream are sent as they come.
    let _ = stream.set_nodelay(true);
    let closed = connection.closed.clone();
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let under_way = UnderWay::begin(&connection);
        let answer = router.clone().oneshot(request.map(Body::new));
        async move {
            let Ok(response) = answer.await;
            Ok::<_, Infallible>(response.map(|body| Answer { body, _under_way: under_way }))
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.header_timeout);
    let mut served = pin!(builder.serve_connection(TokioIo::new(stream), service).with_upgrades());
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = closed.cancelled() => return,
        () = stopping.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection has ended");
    }
}

/// The connections without a request under way.
#[derive(Debug)]
struct IdleConnections {
    max: usize,
    oldest_first: Mutex<Ages>,
}

/// The connections in the order in which they have become idle.
#[derive(Debug, Default)]
struct Ages {
    next: u64,
    connections: BTreeMap<u64, CancellationToken>,
}

impl IdleConnections {
    /// Adds a connection, and returns its place. Closes the oldest one if there are too many.
    fn add(&self, connection: &CancellationToken) -> u64 {
        let mut ages = self.lock();
        let place = ages.next;
        ages.next += 1;
        ages.connections.insert(place, connection.clone());
        let is_over = ages.connections.len() > self.max;
        drop(ages);
        if is_over {
            self.close_oldest();
        }
        place
    }

    fn remove(&self, place: u64) {
        self.lock().connections.remove(&place);
    }

    fn close_oldest(&self) {
        if let Some((_, oldest)) = self.lock().connections.pop_first() {
            oldest.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Ages> {
        self.oldest_first.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection.
#[derive(Debug)]
struct Connection {
    idle: Arc<IdleConnections>,
    closed: CancellationToken,
    /// Its place among those without a request; `None` while it has one.
    place: Mutex<Option<u64>>,
}

impl Connection {
    fn open(idle: &Arc<IdleConnections>) -> Arc<Self> {
        let closed = CancellationToken::new();
        let place = Mutex::new(Some(idle.add(&closed)));
        Arc::new(Self { idle: Arc::clone(idle), closed, place })
    }

    fn place(&self) -> MutexGuard<'_, Option<u64>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(place) = self.place().take() {
            self.idle.remove(place);
        }
    }
}

/// A request, from its headers to the end of its answer. A connection has one at a time.
#[derive(Debug)]
struct UnderWay(Arc<Connection>);

impl UnderWay {
    fn begin(connection: &Arc<Connection>) -> Self {
        if let Some(place) = connection.place().take() {
            connection.idle.remove(place);
        }
        Self(Arc::clone(connection))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        *self.0.place() = Some(self.0.idle.add(&self.0.closed));
    }
}

/// The body of an answer. Dropping it ends the request.
struct Answer {
    body: Body,
    _under_way: UnderWay,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::{Router, routing::get};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::{TcpListener, TcpStream},
        time::timeout,
    };
    use tokio_util::sync::CancellationToken;

    use super::{Limits, serve};

    const PATIENCE: Duration = Duration::from_secs(30);

    async fn start(limits: Limits) -> (std::net::SocketAddr, CancellationToken) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(|| async { "hello" }));
        let stop = CancellationToken::new();
        tokio::spawn(serve(listener, router, limits, stop.clone().cancelled_owned(), CancellationToken::new()));
        (address, stop)
    }

    async fn ask(stream: &mut TcpStream) -> String {
        stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"hello") {
            let mut part = [0; 1024];
            let length = timeout(PATIENCE, stream.read(&mut part)).await.unwrap().unwrap();
            assert!(length > 0, "the connection was closed");
            answer.extend_from_slice(&part[..length]);
        }
        String::from_utf8(answer).unwrap()
    }

    /// Waits until the server closes the connection.
    async fn is_closed(stream: &mut TcpStream) {
        let mut rest = Vec::new();
        // A reset is an end, too.
        let _ = timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("the connection is closed");
    }

    #[tokio::test]
    async fn idle_connections_make_room_for_others() {
        let limits = Limits { max_idle: 2, header_timeout: Duration::from_hours(1), ..Limits::default() };
        let (address, _stop) = start(limits).await;
        let mut silent = Vec::new();
        for _ in 0..5 {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        let mut other = TcpStream::connect(address).await.unwrap();
        assert!(ask(&mut other).await.starts_with("HTTP/1.1 200"));
        for stream in &mut silent[..3] {
            is_closed(stream).await;
        }
        // One that was answered may send the next request.
        assert!(ask(&mut other).await.starts_with("HTTP/1.1 200"));
    }

    #[tokio::test]
    async fn headers_that_never_end_time_out() {
        let (address, _stop) = start(Limits { header_timeout: Duration::from_millis(50), ..Limits::default() }).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: local").await.unwrap();
        is_closed(&mut stream).await;
        let mut silent = TcpStream::connect(address).await.unwrap();
        is_closed(&mut silent).await;
    }

    #[tokio::test]
    async fn connections_end_with_the_service() {
        let (address, stop) = start(Limits::default()).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        ask(&mut stream).await;
        stop.cancel();
        is_closed(&mut stream).await;
    }
}
