//! The transports of MCP servers.

use std::{collections::BTreeMap, ffi::OsString, fmt, future::Future, path::PathBuf, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;
use temporal_agents_core::tool::BoxError;
use tokio::io::{AsyncRead, AsyncWrite};

use super::value::McpValue;

/// The transport of an MCP server.
///
/// ```
/// use temporal_agents::{Resources, mcp::McpTransport};
///
/// # fn example(token: String) -> Resources {
/// Resources::new()
///     .mcp_server("files", McpTransport::stdio("mcp-server-files", ["--read-only", "/srv"]))
///     .mcp_server(
///         "tickets",
///         McpTransport::streamable_http("https://tickets.example.com/mcp").bearer(token),
///     )
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct McpTransport(pub(super) Kind);

#[derive(Clone)]
pub(super) enum Kind {
    Stdio(McpStdio),
    Http(McpHttp),
    InProcess(Arc<dyn Fn() -> Box<dyn McpStream> + Send + Sync>),
    Factory(Factory),
}

type Factory = Arc<dyn Fn(Option<Value>) -> BoxFuture<'static, Result<McpTransport, BoxError>> + Send + Sync>;

/// A bidirectional byte stream, which connects a server in this process.
pub(crate) trait McpStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> McpStream for T {}

impl McpTransport {
    /// Creates the transport to a child process, over its standard input and output. Its standard
    /// error goes to that of the worker.
    ///
    /// The process inherits only the variables of the worker's environment that a program needs to
    /// run (`PATH`, `HOME` and similar), because the environment may hold keys. Other variables are
    /// set with [`env`](McpStdio::env), or all inherited with
    /// [`inherit_env`](McpStdio::inherit_env).
    ///
    /// Pass credentials as variables rather than as arguments. An argument counts as a credential
    /// if its name says so (`--token x`, `-e API_KEY=x`, `--header "Authorization: Bearer x"`), if
    /// it is the password of an address, or if it looks like a key: it is redacted in history, log
    /// and errors where the server quotes it.
    pub fn stdio(program: impl Into<OsString>, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> McpStdio {
        McpStdio {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: BTreeMap::new(),
            inherits: false,
            directory: None,
        }
    }

    /// Creates the transport to a server at this address, over streamable HTTP. Redirects are not
    /// followed.
    pub fn streamable_http(url: impl Into<String>) -> McpHttp {
        McpHttp { url: url.into(), headers: Vec::new() }
    }

    /// Creates the transport to a server in this process. `connect` starts a server and returns the
    /// stream to it, for example one end of a `tokio::io::duplex`.
    pub fn in_process<S>(connect: impl Fn() -> S + Send + Sync + 'static) -> Self
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        Self(Kind::InProcess(Arc::new(move || Box::new(connect()))))
    }

    /// Creates a transport that `make` selects by the argument of the agent's `McpServer`: for
    /// example one for each tenant, with credentials that only the worker knows. Each argument has
    /// separate connections. [`worker_env!`](crate::worker_env) references in the argument are
    /// resolved.
    pub fn factory<F>(make: impl Fn(Option<Value>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<McpTransport, BoxError>> + Send + 'static,
    {
        Self(Kind::Factory(Arc::new(move |argument| make(argument).boxed())))
    }
}

/// The transport to a server that is a child process.
#[derive(Clone)]
pub struct McpStdio {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: BTreeMap<OsString, McpValue>,
    pub(super) inherits: bool,
    pub(super) directory: Option<PathBuf>,
}

impl McpStdio {
    /// Passes the worker's entire environment to the process, including keys of providers and of
    /// Temporal. Default: only the variables that a program needs to run.
    #[must_use]
    pub fn inherit_env(mut self) -> Self {
        self.inherits = true;
        self
    }

    /// Sets a variable of the process, to a string or a [`worker_env!`](crate::worker_env)
    /// reference. Where the server quotes it, it is redacted in history, log and errors;
    /// [`McpValue`] lists the values that are not.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<McpValue>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// Sets the working directory of the process. Default: the worker's.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }
}

/// The transport to a server over streamable HTTP.
#[derive(Clone)]
pub struct McpHttp {
    pub(super) url: String,
    pub(super) headers: Vec<(String, McpValue)>,
}

impl McpHttp {
    /// Adds a header to every request: a string, or a [`worker_env!`](crate::worker_env) reference.
    /// Its value is never in history, log or errors, and is redacted where the server quotes it;
    /// [`McpValue`] lists the values that are not.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<McpValue>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds the header `Authorization: Bearer <token>`: a string, or a
    /// [`worker_env!`](crate::worker_env) reference.
    ///
    /// ```
    /// use temporal_agents::{Resources, mcp::McpTransport, worker::Destination, worker_env};
    ///
    /// let tickets = McpTransport::streamable_http("https://tickets.example.com/mcp")
    ///     .bearer(worker_env!("TICKETS_TOKEN"));
    /// let resources = Resources::new()
    ///     .mcp_server("tickets", tickets)
    ///     .allow_env_for(Destination::mcp_server("tickets"), ["TICKETS_TOKEN"]);
    /// ```
    #[must_use]
    pub fn bearer(self, token: impl Into<McpValue>) -> Self {
        self.header("authorization", token.into().after("Bearer "))
    }
}

impl From<McpStdio> for McpTransport {
    fn from(stdio: McpStdio) -> Self {
        Self(Kind::Stdio(stdio))
    }
}

impl From<McpHttp> for McpTransport {
    fn from(http: McpHttp) -> Self {
        Self(Kind::Http(http))
    }
}

impl fmt::Debug for McpStdio {
    /// Leaves out arguments and environment, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpStdio").field("program", &self.program).finish_non_exhaustive()
    }
}

impl fmt::Debug for McpHttp {
    /// Leaves out the address and the values of headers, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("McpHttp").field("headers", &headers).finish_non_exhaustive()
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio(stdio) => stdio.fmt(f),
            Self::Http(http) => http.fmt(f),
            Self::InProcess(_) => f.write_str("InProcess(..)"),
            Self::Factory(_) => f.write_str("Factory(..)"),
        }
    }
}
