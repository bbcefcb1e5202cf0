//! The server that the environments of a process share, each in a namespace of its own.
//!
//! # Design
//! A server takes half a second of CPU time to start, more than most tests take after it. All
//! namespaces are created when the server starts: one that is registered later is served only after
//! seconds. Idle namespaces cost nothing, because the server runs no system workers for them
//! (schedules, batch operations, worker deployments). When all are used, another server starts; a
//! server stops with the last environment that uses it.

use std::{
    ops::Range,
    sync::{Arc, Weak},
};

use tokio::sync::Mutex;

use super::{DevServer, DevServerError, DevServerOptions, RunningServer};

/// Number of namespaces of one server.
const NAMESPACES: u32 = 50;

/// Dynamic configuration that starts no system workers for namespaces.
const NO_SYSTEM_WORKERS: &str = "worker.perNamespaceWorkerCount=0";

/// The shared servers of this process.
pub(super) static SHARED: SharedServers = SharedServers::new();

/// Servers that hand out a namespace to each caller.
pub(super) struct SharedServers(Mutex<Option<Newest>>);

struct Newest {
    server: Weak<RunningServer>,
    /// Numbers of the unused namespaces.
    unused: Range<u32>,
}

impl SharedServers {
    pub(super) const fn new() -> Self {
        Self(Mutex::const_new(None))
    }

    /// Returns the newest server with an unused namespace, or starts one.
    pub(super) async fn server(&self) -> Result<DevServer, DevServerError> {
        // Held while a server starts, so that others wait for this one.
        let mut newest = self.0.lock().await;
        if let Some(Newest { server, unused }) = &mut *newest
            && let Some(running) = server.upgrade()
            && running.process.ended().is_none()
            && let Some(number) = unused.next()
        {
            return Ok(DevServer { running, namespace: namespace(number) });
        }
        let running = Arc::new(RunningServer::start(&options()).await?);
        *newest = Some(Newest { server: Arc::downgrade(&running), unused: 1..NAMESPACES });
        Ok(DevServer { running, namespace: namespace(0) })
    }
}

fn namespace(number: u32) -> String {
    format!("environment-{number}")
}

fn options() -> DevServerOptions {
    let mut extra_args = vec!["--dynamic-config-value".to_owned(), NO_SYSTEM_WORKERS.to_owned()];
    extra_args.extend((1..NAMESPACES).flat_map(|number| ["--namespace".to_owned(), namespace(number)]));
    DevServerOptions::builder().namespace(namespace(0)).extra_args(extra_args).build()
}
