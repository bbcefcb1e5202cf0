//! How a server is reached.

use std::{collections::BTreeMap, ffi::OsString, fmt, future::Future, path::PathBuf, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use super::value::McpValue;
use crate::tool::Failure;

/// How a server is reached.
///
/// ```
/// use temporal_agents::{AgentsPlugin, worker::McpTransport};
///
/// # fn example(token: String) -> AgentsPlugin {
/// AgentsPlugin::new()
///     .mcp_server("files", McpTransport::stdio("mcp-server-files", ["--read-only", "/srv"]))
///     .mcp_server("tickets", McpTransport::streamable_http("https://tickets.example.com/mcp").bearer(token))
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

type Factory = Arc<dyn Fn(Option<Value>) -> BoxFuture<'static, Result<McpTransport, Failure>> + Send + Sync>;

/// Bytes both ways: what a server in this process is reached by.
pub trait McpStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> McpStream for T {}

impl McpTransport {
    /// A child process, spoken to over its standard input and output. What it writes to standard error goes to that of the worker.
    ///
    /// Of the worker's environment, which may hold keys, it gets what a program needs to run: `PATH`, `HOME` and the like. The rest is given with
    /// [`env`](McpStdio::env), or all of it with [`inherit_env`](McpStdio::inherit_env).
    ///
    /// Credentials are better given as variables. Of the arguments, those count as credentials that are named so (`--token x`, `-e API_KEY=x`,
    /// `--header "Authorization: Bearer x"`), the password of an address, and what looks like a key: what the server quotes of them is in no
    /// history, log or error.
    pub fn stdio(program: impl Into<OsString>, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> McpStdio {
        McpStdio {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: BTreeMap::new(),
            inherits: false,
            directory: None,
        }
    }

    /// A server at this address, over streamable HTTP. Redirects are not followed.
    pub fn streamable_http(url: impl Into<String>) -> McpHttp {
        McpHttp { url: url.into(), headers: Vec::new() }
    }

    /// A server in this process: the function starts one and gives the stream to it, for example one end of a
    /// `tokio::io::duplex`.
    pub fn in_process<S: McpStream + 'static>(connect: impl Fn() -> S + Send + Sync + 'static) -> Self {
        Self(Kind::InProcess(Arc::new(move || Box::new(connect()))))
    }

    /// What this function says, of the argument that the agent's `McpServer` has: a transport for each tenant, with credentials that
    /// only the worker knows. Each argument has connections of its own. [`worker_env!`](crate::worker_env) references in the argument are filled
    /// in.
    pub fn factory<F>(make: impl Fn(Option<Value>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<McpTransport, Failure>> + Send + 'static,
    {
        Self(Kind::Factory(Arc::new(move |argument| make(argument).boxed())))
    }
}

/// A server that is a child process.
#[derive(Clone)]
pub struct McpStdio {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: BTreeMap<OsString, McpValue>,
    pub(super) inherits: bool,
    pub(super) directory: Option<PathBuf>,
}

impl McpStdio {
    /// Gives it the worker's whole environment, keys of providers and of Temporal among it. Default: what a program needs to run.
    #[must_use]
    pub fn inherit_env(mut self) -> Self {
        self.inherits = true;
        self
    }

    /// Sets a variable of its environment, to a string or a [`worker_env!`](crate::worker_env) reference. What the server quotes of it is in no
    /// history, log or error; [`McpValue`] says which values are left alone.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<McpValue>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// The directory it runs in. Default: the worker's.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }
}

/// A server that is reached over streamable HTTP.
#[derive(Clone)]
pub struct McpHttp {
    pub(super) url: String,
    pub(super) headers: Vec<(String, McpValue)>,
}

impl McpHttp {
    /// A header of every request: a string, or a [`worker_env!`](crate::worker_env) reference. Its value is in no history, log or error, also
    /// where the server quotes it; [`McpValue`] says which values are left alone.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<McpValue>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The header `Authorization: Bearer <token>`: a text, or a [`worker_env!`](crate::worker_env) reference.
    ///
    /// ```
    /// use temporal_agents::{AgentsPlugin, worker::McpTransport, worker_env};
    ///
    /// let tickets = McpTransport::streamable_http("https://tickets.example.com/mcp").bearer(worker_env!("TICKETS_TOKEN"));
    /// let plugin = AgentsPlugin::new().mcp_server("tickets", tickets).allow_env(["TICKETS_TOKEN"]);
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
    /// Without arguments and environment: either may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpStdio").field("program", &self.program).finish_non_exhaustive()
    }
}

impl fmt::Debug for McpHttp {
    /// Without the address and the values of headers: either may hold a secret.
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
