//! Free ports on the loopback interface.
//!
//! A free port is found by binding to it and releasing it, so another process may take it before
//! the server does; the caller then starts again with another port.

use std::{io, net::TcpListener};

pub(crate) const LOOPBACK: &str = "127.0.0.1";

/// Holds a free port until the listener is dropped.
pub(crate) fn hold() -> io::Result<TcpListener> {
    TcpListener::bind((LOOPBACK, 0))
}
