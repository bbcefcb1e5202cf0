//! Opens a connection to a server.

use std::{ffi::OsString, process::Stdio};

use futures::{FutureExt, future::BoxFuture};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rmcp::{
    RoleClient, ServiceExt,
    service::RunningService,
    transport::{
        IntoTransport, StreamableHttpClientTransport, TokioChildProcess,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::Value;
use tokio::process::Command;

use super::{
    client::Client,
    credentials,
    failure::McpFailure,
    group::grouped,
    transport::{Kind, McpHttp, McpStdio, McpTransport},
    value::McpValue,
};
use crate::{
    provider::http_client,
    secret::worker_env::{AllowedEnv, Given},
};

/// A connection to a server.
pub(super) type Running = RunningService<RoleClient, Client>;

/// The variables of the worker's environment that a server's program inherits.
///
/// # Source
/// `DEFAULT_INHERITED_ENV_VARS` of the official Python SDK, for Unix and for Windows; in addition,
/// the variables for the directory of temporary files, the language and the time zone.
const INHERITED: [&str; 25] = [
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "USER",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "COMSPEC",
    "WINDIR",
];

/// The maximum number of factories that return another factory.
const MAX_FACTORIES: usize = 8;

/// The parameters of a connection.
#[derive(Clone, Copy)]
pub(super) struct Terms<'t> {
    /// The argument of the transport's factory.
    pub(super) argument: Option<&'t Value>,
    /// `true` if the server may ask a person (elicitation).
    pub(super) asks_people: bool,
    pub(super) forgotten: OnSessionExpired,
}

/// The reaction when a server over HTTP has forgotten the session of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OnSessionExpired {
    /// The connection starts a new session: no run relies on its state.
    Renewed,
    /// The connection fails: its state belonged to a run.
    Lost,
}

/// Opens a connection and initializes it. A failure does not contain the credentials of the
/// transport.
pub(super) async fn open(
    server: &str,
    transport: &McpTransport,
    terms: Terms<'_>,
    env: &AllowedEnv,
) -> Result<(Running, Given), McpFailure> {
    let (client, given) = (Client::new(terms.asks_people), Given::default());
    let mut opening = Opening { server, env, client, forgotten: terms.forgotten, given };
    match opening.open(transport, terms.argument).await {
        Ok(running) => Ok((running, opening.given)),
        Err(failure) => Err(failure.without(&opening.given)),
    }
}

struct Opening<'o> {
    server: &'o str,
    env: &'o AllowedEnv,
    client: Client,
    forgotten: OnSessionExpired,
    given: Given,
}

impl Opening<'_> {
    async fn open(&mut self, transport: &McpTransport, argument: Option<&Value>) -> Result<Running, McpFailure> {
        let server = self.server;
        let mut argument = argument.cloned();
        if let Some(argument) = &mut argument {
            let filled = self.env.fill_value(argument, &mut self.given);
            filled.map_err(|withheld| McpFailure::withheld(server, &withheld))?;
        }
        self.client.redact(&self.given);
        let mut transport = transport.clone();
        for _ in 0..MAX_FACTORIES {
            match transport.0 {
                Kind::Stdio(stdio) => return self.child(&stdio).await,
                Kind::Http(http) => return self.streamable_http(&http).await,
                Kind::InProcess(connect) => {
                    return begin(server, self.client.clone(), tokio::io::split(connect())).await;
                }
                Kind::Factory(make) => {
                    transport = make(argument.clone()).await.map_err(|error| not_reached(server, error.to_string()))?;
                }
            }
        }
        Err(not_reached(server, "its factory returns only factories".to_owned()))
    }

    /// Returns the resolved value, and remembers the credentials that `credentials` finds in it.
    fn filled(
        &mut self,
        value: &McpValue,
        credentials: impl FnOnce(&str) -> Vec<String>,
    ) -> Result<OsString, McpFailure> {
        let filled = value.filled(self.env, &mut self.given);
        let filled = filled.map_err(|withheld| McpFailure::withheld(self.server, &withheld))?;
        if value.may_be_credential() {
            self.remember(credentials(&filled.to_string_lossy()));
        }
        Ok(filled)
    }

    fn remember(&mut self, credentials: Vec<String>) {
        for credential in &credentials {
            self.given.remember(credential);
        }
    }

    async fn child(&mut self, stdio: &McpStdio) -> Result<Running, McpFailure> {
        let mut environment = Vec::with_capacity(stdio.environment.len());
        for (name, value) in &stdio.environment {
            let credentials = |value: &str| credentials::of_variable(&name.to_string_lossy(), value);
            environment.push((name, self.filled(value, credentials)?));
        }
        let arguments: Vec<_> = stdio.arguments.iter().map(|argument| argument.to_string_lossy()).collect();
        self.remember(credentials::of_arguments(arguments.iter().map(AsRef::as_ref)));
        self.client.redact(&self.given);
        child(self.server, self.client.clone(), stdio, environment).await
    }

    async fn streamable_http(&mut self, http: &McpHttp) -> Result<Running, McpFailure> {
        self.remember(credentials::of_address(&http.url));
        let mut headers = HeaderMap::new();
        for (name, value) in &http.headers {
            let value = self.filled(value, |value| credentials::of_header(name, value))?;
            let wrong = || not_reached(self.server, format!("header {name:?} has an invalid name or value"));
            let mut value = value.to_str().and_then(|text| HeaderValue::from_str(text).ok()).ok_or_else(wrong)?;
            value.set_sensitive(true);
            headers.append(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value);
        }
        self.client.redact(&self.given);
        let builder = http_client::builder(http.url.starts_with("https:")).map_err(|error| error.to_string());
        let reached =
            builder.and_then(|builder| builder.default_headers(headers).build().map_err(|error| error.to_string()));
        let reached = reached.map_err(|error| not_reached(self.server, error))?;
        let config = StreamableHttpClientTransportConfig::with_uri(http.url.clone())
            .reinit_on_expired_session(self.forgotten == OnSessionExpired::Renewed)
            // The worker's slots limit the concurrent calls: a call that waited here would time out
            // before it is sent.
            .max_concurrent_requests(usize::MAX);
        begin(self.server, self.client.clone(), StreamableHttpClientTransport::with_client(reached, config)).await
    }
}

async fn child(
    server: &str,
    client: Client,
    stdio: &McpStdio,
    environment: Vec<(&OsString, OsString)>,
) -> Result<Running, McpFailure> {
    let mut command = Command::new(&stdio.program);
    if !stdio.inherits {
        command.env_clear().envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    }
    command.args(&stdio.arguments).envs(environment).kill_on_drop(true);
    if let Some(directory) = &stdio.directory {
        command.current_dir(directory);
    }
    let started = TokioChildProcess::builder(grouped(command)).stderr(Stdio::inherit()).spawn();
    let (process, _) = started.map_err(|error| {
        // The program is logged, because it must not be in history.
        tracing::error!(server, program = %stdio.program.display(), %error, "the program of an MCP server cannot be \
                                                                             started");
        not_reached(server, format!("its program (see the worker's log) cannot be started: {error}"))
    })?;
    begin(server, client, process).await
}

/// Initializes a connection. Boxed, because the library's future is large and has a long type.
fn begin<'s, T, E, A>(server: &'s str, client: Client, transport: T) -> BoxFuture<'s, Result<Running, McpFailure>>
where
    T: IntoTransport<RoleClient, E, A> + Send + 's,
    E: std::error::Error + Send + Sync + 'static,
    A: 's,
{
    async move { client.serve(transport).await.map_err(|error| McpFailure::from_initialize_error(server, &error)) }
        .boxed()
}

fn not_reached(server: &str, reason: String) -> McpFailure {
    McpFailure::NotReached { server: server.to_owned(), reason }
}
