//! The one error type of starting and reaching a dev server.

use std::{error::Error, io, path::PathBuf, process::ExitStatus, time::Duration};

use temporal_agents::__private::error_debug;
use thiserror::Error;

use super::LocateError;

/// What the operating systems' messages for a taken port contain.
const PORT_TAKEN: [&str; 2] = ["address already in use", "Only one usage of each socket address"];
/// What stands in the stack trace of a server that panics while it starts, as a whole or one of its services.
const PANICKED: [&str; 2] = ["go.temporal.io/server/temporal.NewServer", ".(*Service).Start"];

/// Why a dev server did not start, or could not be reached.
#[derive(Error)]
#[non_exhaustive]
pub enum DevServerError {
    /// No `temporal` binary was found or fetched.
    #[error(transparent)]
    Locate(#[from] LocateError),
    /// No free port could be had.
    #[error("no free port on 127.0.0.1")]
    Port(#[source] io::Error),
    /// The temporary directory or the log file in it could not be made.
    #[error("cannot prepare a directory for the dev server")]
    Directory(#[source] io::Error),
    /// The binary could not be run.
    #[error("cannot run {}", cli.display())]
    Spawn {
        /// The binary that was found.
        cli: PathBuf,
        /// Why it did not run.
        source: io::Error,
    },
    /// The server ended before it was ready.
    #[error("dev server ended with {status} before it was ready; its log ends with:\n{log}")]
    Exited {
        /// How it ended.
        status: ExitStatus,
        /// The last lines of its output.
        log: String,
    },
    /// The server runs but did not answer in time.
    #[error("dev server at {address} was not ready after {waited:?}: {last_answer}; its log ends with:\n{log}")]
    NotReady {
        /// Where it was asked.
        address: String,
        /// How long it was given.
        waited: Duration,
        /// What the last question led to.
        last_answer: String,
        /// The last lines of its output.
        log: String,
    },
    /// A client could not connect to the running server.
    #[error("cannot connect a client to the dev server at {address}")]
    Connect {
        /// Where it was tried.
        address: String,
        /// What the client library said.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A Nexus endpoint could not be made.
    #[error("the dev server does not make the Nexus endpoint {name:?}")]
    NexusEndpoint {
        /// Its name.
        name: String,
        /// What the server said.
        source: Box<dyn Error + Send + Sync>,
    },
}

error_debug!(enum DevServerError {
    Locate(source),
    Port(source),
    Directory(source),
    Spawn { cli, source },
    Exited { status, log },
    NotReady { address, waited, last_answer, log },
    Connect { address, source },
    NexusEndpoint { name, source },
});

impl DevServerError {
    pub(super) fn connect(address: &str, source: impl Error + Send + Sync + 'static) -> Self {
        Self::Connect { address: address.to_owned(), source: Box::new(source) }
    }

    /// Whether the server ended because another process holds one of its ports. It chooses most of them by itself, and panics
    /// when one is taken meanwhile; the end of its log is a stack trace then, without the reason.
    pub(super) fn is_port_conflict(&self) -> bool {
        let tells = |log: &str| PORT_TAKEN.iter().chain(&PANICKED).any(|message| log.contains(message));
        matches!(self, Self::Exited { log, .. } if tells(log))
    }
}
