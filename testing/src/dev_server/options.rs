//! What a caller can choose about a dev server, and the command line it becomes.

use bon::Builder;

use super::ports::{LOOPBACK, Ports};

/// The server's own limits on how often its queues may read their tasks, lifted: at their defaults a burst of short
/// workflows and timers waits on them, and tests are such bursts.
const LIFTED_POLL_LIMITS: [&str; 2] =
    ["history.transferProcessorMaxPollRPS=100000", "history.timerProcessorMaxPollRPS=100000"];

/// The server lets timers wait up to this long, one second by default, in case the clocks of its hosts differ. There is
/// only one host here, and every timer, retry and timeout of a test would pay for it.
const PROMPT_TIMERS: &str = r#"history.timerProcessorMaxTimeShift="10ms""#;

/// Options of [`DevServer::start_with`](super::DevServer::start_with).
///
/// ```
/// use temporal_agents_testing::DevServerOptions;
///
/// let options = DevServerOptions::builder().ui(true).namespace("agents").build();
/// assert_eq!(options.namespace, "agents");
/// ```
#[derive(Debug, Clone, Builder)]
#[builder(on(String, into))]
#[non_exhaustive]
pub struct DevServerOptions {
    /// The namespace to create; `default` unless set.
    #[builder(default = "default".to_owned())]
    pub namespace: String,
    /// Whether to serve the web UI, on a free port.
    #[builder(default)]
    pub ui: bool,
    /// The gRPC port; a free one unless set.
    pub port: Option<u16>,
    /// Whether to lift the server's limits on reading its task queues, so that bursts of workflows do not wait on them.
    #[builder(default = true)]
    pub lift_poll_limits: bool,
    /// Whether timers and retries come within milliseconds of their time, rather than within a second as in production.
    #[builder(default = true)]
    pub prompt_timers: bool,
    /// What the server writes to its log, whose end is part of a start-up error.
    #[builder(default)]
    pub log_level: ServerLogLevel,
    /// Further arguments of `temporal server start-dev`, appended as they are.
    #[builder(default)]
    pub extra_args: Vec<String>,
}

impl Default for DevServerOptions {
    fn default() -> Self {
        Self::builder().build()
    }
}

impl DevServerOptions {
    /// The arguments of the CLI. `birthmark` is one more namespace, by which the server is recognised as this one.
    pub(super) fn arguments(&self, ports: &Ports, birthmark: &str) -> Vec<String> {
        let mut arguments: Vec<String> = ["server", "start-dev", "--ip", LOOPBACK].map(Into::into).into();
        let mut flag = |name: &str, value: &str| arguments.extend([name.to_owned(), value.to_owned()]);
        flag("--port", &ports.grpc.to_string());
        flag("--namespace", &self.namespace);
        flag("--namespace", birthmark);
        flag("--log-level", self.log_level.name());
        let limits = LIFTED_POLL_LIMITS.iter().filter(|_| self.lift_poll_limits);
        let timers = std::iter::once(&PROMPT_TIMERS).filter(|_| self.prompt_timers);
        for setting in limits.chain(timers) {
            flag("--dynamic-config-value", setting);
        }
        match ports.ui {
            Some(port) => flag("--ui-port", &port.to_string()),
            None => arguments.push("--headless".to_owned()),
        }
        arguments.extend(self.extra_args.iter().cloned());
        arguments
    }
}

/// The lowest severity that a dev server logs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerLogLevel {
    /// Everything.
    Debug,
    /// Start and stop of its parts, and what follows.
    Info,
    /// Unexpected but handled.
    Warn,
    /// Failures only.
    #[default]
    Error,
    /// Nothing.
    Never,
}

impl ServerLogLevel {
    fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
            Self::Never => "never",
        }
    }
}
