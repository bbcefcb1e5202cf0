//! The options of a dev server, and their conversion to a command line.

use bon::Builder;

use super::ports::{LOOPBACK, Ports};

/// Dynamic configuration that lifts the server's limits on how often its queues read their tasks:
/// at the defaults, a burst of short workflows and timers waits for these limits, and tests are
/// such bursts.
const LIFTED_POLL_LIMITS: [&str; 2] =
    ["history.transferProcessorMaxPollRPS=100000", "history.timerProcessorMaxPollRPS=100000"];

/// Dynamic configuration that shortens the delay of timers. By default the server delays timers by
/// up to one second, in case the clocks of its hosts differ. There is only one host here, and the
/// delay would affect every timer, retry and timeout of a test.
const TIMER_SHIFT_LIMIT: &str = r#"history.timerProcessorMaxTimeShift="10ms""#;

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
    /// The namespace to create. Default `default`.
    #[builder(default = "default".to_owned())]
    pub namespace: String,
    /// Serves the web UI, on a free port. Default `false`.
    #[builder(default)]
    pub ui: bool,
    /// The gRPC port. Default: a free port.
    pub port: Option<u16>,
    /// Lifts the server's limits on reading its task queues, so that bursts of workflows do not
    /// wait for them. Default `true`.
    #[builder(default = true)]
    pub lift_poll_limits: bool,
    /// Fires timers and retries within milliseconds of their time, and not within a second as in
    /// production. Default `true`.
    #[builder(default = true)]
    pub prompt_timers: bool,
    /// The lowest severity of the server's log, whose end is part of a start-up error. Default
    /// [`ServerLogLevel::Error`].
    #[builder(default)]
    pub log_level: ServerLogLevel,
    /// Further arguments of `temporal server start-dev`, appended unchanged.
    #[builder(default)]
    pub extra_args: Vec<String>,
}

impl Default for DevServerOptions {
    fn default() -> Self {
        Self::builder().build()
    }
}

impl DevServerOptions {
    /// Returns the arguments of the CLI. `birthmark` is an additional namespace, by which this
    /// server is recognized.
    pub(super) fn arguments(&self, ports: &Ports, birthmark: &str) -> Vec<String> {
        let mut arguments: Vec<String> = ["server", "start-dev", "--ip", LOOPBACK].map(Into::into).into();
        let mut flag = |name: &str, value: &str| arguments.extend([name.to_owned(), value.to_owned()]);
        flag("--port", &ports.grpc.to_string());
        flag("--namespace", &self.namespace);
        flag("--namespace", birthmark);
        flag("--log-level", self.log_level.name());
        let limits = LIFTED_POLL_LIMITS.iter().filter(|_| self.lift_poll_limits);
        let timers = std::iter::once(&TIMER_SHIFT_LIMIT).filter(|_| self.prompt_timers);
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
    /// Start and stop of the server's components, and all of the following levels.
    Info,
    /// Unexpected but handled events, and failures.
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
