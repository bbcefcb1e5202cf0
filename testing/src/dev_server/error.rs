//! The error type of starting a dev server and connecting to it.

use std::{error::Error, io, path::PathBuf, process::ExitStatus, time::Duration};

use temporal_agents::__private::error_debug;
use thiserror::Error;

use super::LocateError;

/// Parts of the operating systems' messages for a port in use.
const PORT_IN_USE: [&str; 2] = ["address already in use", "Only one usage of each socket address"];
/// Parts of the stack trace of a server that panics during start-up, as a whole or in one of its
/// services.
const PANICKED: [&str; 2] = ["go.temporal.io/server/temporal.NewServer", ".(*Service).Start"];

/// The errors of a dev server: it did not start, could not be reached, or refused a Nexus endpoint.
#[derive(Error)]
#[non_exhaustive]
pub enum DevServerError {
    /// No `temporal` binary was found or fetched.
    #[error(transparent)]
    Locate(#[from] LocateError),
    /// No free port is available.
    #[error("no free port on 127.0.0.1")]
    Port(#[source] io::Error),
    /// The temporary directory, or the log file in it, could not be created.
    #[error("cannot prepare a directory for the dev server")]
    Directory(#[source] io::Error),
    /// The binary could not be run.
    #[error("cannot run {}", cli.display())]
    Spawn {
        /// The binary that was found.
        cli: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The server ended before it was ready.
    #[error("dev server ended with {status} before it was ready; its log ends with:\n{log}")]
    Exited {
        /// Exit status of the server.
        status: ExitStatus,
        /// The last lines of the server's output.
        log: String,
    },
    /// The server runs but did not answer in time.
    #[error("dev server at {address} was not ready after {waited:?}: {last_answer}; its log ends with:\n{log}")]
    NotReady {
        /// Address of the server, as `HOST:PORT`.
        address: String,
        /// Time waited for the server.
        waited: Duration,
        /// Result of the last request.
        last_answer: String,
        /// The last lines of the server's output.
        log: String,
    },
    /// A client could not connect to the running server.
    #[error("cannot connect a client to the dev server at {address}")]
    Connect {
        /// Address of the server, as `HOST:PORT`.
        address: String,
        /// Error of the client library.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A Nexus endpoint could not be created.
    #[error("the dev server cannot create the Nexus endpoint {name:?}")]
    NexusEndpoint {
        /// Name of the endpoint.
        name: String,
        /// Error of the server.
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

    /// Returns `true` if the server ended because another process holds one of its ports. The
    /// server chooses most ports by itself, and panics if one is taken in the meantime; the end of
    /// its log is then a stack trace without the reason. A server on a busy machine may also exit without
    /// any output.
    pub(super) fn is_worth_a_retry(&self) -> bool {
        let tells = |log: &str| PORT_IN_USE.iter().chain(&PANICKED).any(|message| log.contains(message));
        matches!(self, Self::Exited { log, .. } if tells(log) || log.trim().is_empty())
    }
}
