//! The error type of starting a PostgreSQL server.

use std::{io, process::ExitStatus, time::Duration};

use temporal_agents::__private::error_debug;
use thiserror::Error;

/// Part of the server's message for a port in use.
const PORT_IN_USE: &str = "Address already in use";

/// The errors of a PostgreSQL server that did not start.
#[derive(Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The server could not be fetched, for example because there is none for the platform.
    #[error("no PostgreSQL server: {reason}")]
    Install {
        /// The reason, with the places that were searched.
        reason: String,
    },
    /// The test process is root, and there is no user that the server could run as.
    #[error("PostgreSQL does not run as root, and /etc/passwd has no user `nobody`")]
    NoUser,
    /// No free port is available.
    #[error("no free port on 127.0.0.1")]
    Port(#[source] io::Error),
    /// The temporary directory could not be prepared.
    #[error("cannot prepare a directory for PostgreSQL")]
    Directory(#[source] io::Error),
    /// A program could not be run.
    #[error("cannot run {program}")]
    Spawn {
        /// Name of the program: `initdb` or `postgres`.
        program: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The cluster could not be created.
    #[error("initdb ended with {status}:\n{output}")]
    InitDb {
        /// Exit status of `initdb`.
        status: ExitStatus,
        /// Its output.
        output: String,
    },
    /// The server ended before it was ready.
    #[error("PostgreSQL ended with {status} before it was ready; its log ends with:\n{log}")]
    Exited {
        /// Exit status of the server.
        status: ExitStatus,
        /// The last lines of the server's output.
        log: String,
    },
    /// The server runs but was not ready in time.
    #[error("PostgreSQL was not ready after {waited:?}; its log ends with:\n{log}")]
    NotReady {
        /// Time waited for the server.
        waited: Duration,
        /// The last lines of the server's output.
        log: String,
    },
}

error_debug!(enum PostgresError {
    Install { reason },
    NoUser,
    Port(source),
    Directory(source),
    Spawn { program, source },
    InitDb { status, output },
    Exited { status, log },
    NotReady { waited, log },
});

impl PostgresError {
    /// Returns `true` if the server ended because another process holds its port.
    pub(super) fn is_port_conflict(&self) -> bool {
        matches!(self, Self::Exited { log, .. } if log.contains(PORT_IN_USE))
    }
}
