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

static NEWEST: Mutex<Option<Shared>> = Mutex::const_new(None);

struct Shared {
    server: Weak<RunningServer>,
    /// Numbers of the unused namespaces.
    unused: Range<u32>,
}

/// Returns the newest shared server with an unused namespace, or starts one.
pub(super) async fn server() -> Result<DevServer, DevServerError> {
    // Held while a server starts, so that others wait for this one.
    let mut newest = NEWEST.lock().await;
    if let Some(shared) = &mut *newest
        && let Some(running) = shared.server.upgrade()
        && running.process.ended().is_none()
        && let Some(number) = shared.unused.next()
    {
        return Ok(DevServer { running, namespace: namespace(number) });
    }
    let running = Arc::new(RunningServer::start(&options()).await?);
    *newest = Some(Shared { server: Arc::downgrade(&running), unused: 1..NAMESPACES });
    Ok(DevServer { running, namespace: namespace(0) })
}

fn namespace(number: u32) -> String {
    format!("environment-{number}")
}

fn options() -> DevServerOptions {
    let mut extra_args = vec!["--dynamic-config-value".to_owned(), NO_SYSTEM_WORKERS.to_owned()];
    extra_args.extend((1..NAMESPACES).flat_map(|number| ["--namespace".to_owned(), namespace(number)]));
    DevServerOptions::builder().namespace(namespace(0)).extra_args(extra_args).build()
}
