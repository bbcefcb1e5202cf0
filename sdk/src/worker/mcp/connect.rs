//! Opens a connection.

use std::process::Stdio;

use futures::{FutureExt, future::BoxFuture};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rmcp::{
    RoleClient, ServiceExt,
    model::{ClientConfig, Implementation},
    service::RunningService,
    transport::{
        IntoTransport, StreamableHttpClientTransport, TokioChildProcess,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::Value;
use tokio::process::Command;

use super::{
    failure::McpFailure,
    transport::{Kind, McpHttp, McpStdio, McpTransport},
};
use crate::worker::http_client;

/// A connection to a server.
pub(super) type Running = RunningService<RoleClient, ClientConfig>;

/// How many factories may name a factory.
const MOST_FACTORIES: usize = 8;

/// Opens a connection and introduces this client.
pub(super) async fn open(
    server: &str,
    transport: &McpTransport,
    argument: Option<&Value>,
) -> Result<Running, McpFailure> {
    let mut transport = transport.clone();
    for _ in 0..MOST_FACTORIES {
        match transport.0 {
            Kind::Stdio(stdio) => return child(server, &stdio).await,
            Kind::Http(http) => return streamable_http(server, &http).await,
            Kind::InProcess(connect) => return begin(server, tokio::io::split(connect())).await,
            Kind::Factory(make) => {
                transport = make(argument.cloned()).await.map_err(|error| not_reached(server, error.to_string()))?;
            }
        }
    }
    Err(not_reached(server, "its factory makes nothing but factories".to_owned()))
}

async fn child(server: &str, stdio: &McpStdio) -> Result<Running, McpFailure> {
    let mut command = Command::new(&stdio.program);
    command.args(&stdio.arguments).envs(&stdio.environment).kill_on_drop(true);
    if let Some(directory) = &stdio.directory {
        command.current_dir(directory);
    }
    let started = TokioChildProcess::builder(command).stderr(Stdio::inherit()).spawn();
    let (process, _) = started
        .map_err(|error| not_reached(server, format!("program {} does not start: {error}", stdio.program.display())))?;
    begin(server, process).await
}

async fn streamable_http(server: &str, http: &McpHttp) -> Result<Running, McpFailure> {
    let mut headers = HeaderMap::new();
    for (name, value) in &http.headers {
        let wrong = || not_reached(server, format!("header {name:?} is none, or its value is none of a header"));
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.append(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value);
    }
    let builder = http_client::builder(http.url.starts_with("https:")).map_err(|error| error.to_string());
    let client =
        builder.and_then(|builder| builder.default_headers(headers).build().map_err(|error| error.to_string()));
    let client = client.map_err(|error| not_reached(server, error))?;
    let config = StreamableHttpClientTransportConfig::with_uri(http.url.clone());
    begin(server, StreamableHttpClientTransport::with_client(client, config)).await
}

/// Boxed: the library's future is large, and its type is not to be spelled out again.
fn begin<'s, T, E, A>(server: &'s str, transport: T) -> BoxFuture<'s, Result<Running, McpFailure>>
where
    T: IntoTransport<RoleClient, E, A> + Send + 's,
    E: std::error::Error + Send + Sync + 'static,
    A: 's,
{
    let mut client = ClientConfig::default();
    client.client_info = Implementation::new("temporal-agents", env!("CARGO_PKG_VERSION"));
    async move { client.serve(transport).await.map_err(|error| McpFailure::of_opening(server, &error)) }.boxed()
}

fn not_reached(server: &str, reason: String) -> McpFailure {
    McpFailure::NotReached { server: server.to_owned(), reason }
}
