//! Where a tool's body runs.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::{context::ToolContext, error::ToolError, options::ToolActivityOptions};
use crate::{agent::AgentTool, wire::ToolOutput};

/// The body of an inline tool: synchronous and pure, called in the workflow.
///
/// # Determinism
/// It runs again on replay: no clock, no randomness, no I/O.
pub type InlineBody = Arc<dyn Fn(&mut ToolContext, Map<String, Value>) -> Result<ToolOutput, ToolError> + Send + Sync>;

/// The body of an activity tool: called by the worker, free to do what it likes.
pub type ActivityBody = Arc<
    dyn for<'a> Fn(&'a mut ToolContext, Map<String, Value>) -> BoxFuture<'a, Result<ToolOutput, ToolError>>
        + Send
        + Sync,
>;

/// Where a tool's body runs.
#[derive(Clone)]
#[non_exhaustive]
pub enum ToolBinding {
    /// In the workflow, at once.
    Inline(InlineBody),
    /// In an activity named `agents.tool.<tool>`.
    Activity {
        /// What the worker runs.
        body: ActivityBody,
        /// Timeouts, retries, task queue.
        options: ToolActivityOptions,
    },
    /// In a run of another agent.
    Agent(Arc<AgentTool>),
    /// Nowhere here: the run waits until a caller has made the call and supplies its output.
    Client,
}

impl std::fmt::Debug for ToolBinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Inline(_) => f.write_str("Inline"),
            Self::Activity { options, .. } => f.debug_tuple("Activity").field(options).finish(),
            Self::Agent(agent) => agent.fmt(f),
            Self::Client => f.write_str("Client"),
        }
    }
}
