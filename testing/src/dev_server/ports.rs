//! Free ports for one dev server.
//!
//! A free port is found by binding to it and releasing it, so another process may take it before
//! the server does; the caller then starts again with other ports.

use std::{io, net::TcpListener};

use super::DevServerOptions;

pub(super) const LOOPBACK: &str = "127.0.0.1";

/// The ports of one server on the loopback interface.
#[derive(Debug)]
pub(super) struct Ports {
    pub(super) grpc: u16,
    pub(super) ui: Option<u16>,
}

impl Ports {
    pub(super) fn choose(options: &DevServerOptions) -> io::Result<Self> {
        // Both listeners are held until both ports are known, so that the ports differ.
        let grpc = TcpListener::bind((LOOPBACK, 0))?;
        let ui = TcpListener::bind((LOOPBACK, 0))?;
        let ui = ui.local_addr()?.port();
        Ok(Self {
            grpc: options.port.map_or_else(|| Ok::<_, io::Error>(grpc.local_addr()?.port()), Ok)?,
            ui: options.ui.then_some(ui),
        })
    }

    pub(super) fn grpc_address(&self) -> String {
        format!("{LOOPBACK}:{}", self.grpc)
    }

    pub(super) fn ui_address(&self) -> Option<String> {
        self.ui.map(|port| format!("{LOOPBACK}:{port}"))
    }
}
