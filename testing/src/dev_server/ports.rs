//! Free ports for one dev server.

use std::io;

use super::DevServerOptions;
pub(super) use crate::child_server::ports::LOOPBACK;
use crate::child_server::ports::hold;

/// The ports of one server on the loopback interface.
#[derive(Debug)]
pub(super) struct Ports {
    pub(super) grpc: u16,
    pub(super) ui: Option<u16>,
}

impl Ports {
    pub(super) fn choose(options: &DevServerOptions) -> io::Result<Self> {
        // Both listeners are held until both ports are known, so that the ports differ.
        let grpc = hold()?;
        let ui = hold()?;
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
