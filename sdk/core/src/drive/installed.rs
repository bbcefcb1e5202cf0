//! Whether this process has a worker that can serve the activities of runs.

use std::sync::atomic::{AtomicBool, Ordering};

static IS_INSTALLED: AtomicBool = AtomicBool::new(false);
static IS_MISSED: AtomicBool = AtomicBool::new(false);

/// Notes that a worker of this process has the plugin.
pub fn plugin_installed() {
    IS_INSTALLED.store(true, Ordering::Relaxed);
}

/// Warns, once in a process, that no worker of it has the plugin. Call it for a run that is live and
/// whose model calls stay on the queue of its workflow.
///
/// # Determinism
/// Safe: it only logs.
pub fn warn_without_plugin(workflow_id: &str, agent: &str) {
    if !IS_INSTALLED.load(Ordering::Relaxed) && !IS_MISSED.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            workflow_id,
            agent,
            "no worker of this process has the AgentsPlugin: model calls and tools of its runs wait until another \
             process takes them; install it in the options of the worker: plugin.install(&mut options)?"
        );
    }
}
