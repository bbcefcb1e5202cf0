//! Where a tool's body runs.

use std::sync::Arc;

use futures::future::{BoxFuture, LocalBoxFuture};
use serde_json::{Map, Value};

#[cfg(feature = "nexus")]
use super::nexus_operation::NexusOperation;
use super::{
    child_workflow::ChildWorkflow, context::ToolContext, error::ToolError, mcp::McpBinding,
    options::ToolActivityOptions, remote_activity::RemoteActivity, workflow_context::WorkflowToolContext,
};
use crate::{
    agent::{AgentTool, ChildAgentTool},
    wire::ToolOutput,
};

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

/// The body of a workflow tool: called in the workflow, and may wait there for what its context gives.
///
/// # Determinism
/// It runs again on replay: see [`WorkflowToolContext`].
pub type WorkflowBody = Arc<
    dyn for<'a> Fn(&'a mut WorkflowToolContext, Map<String, Value>) -> LocalBoxFuture<'a, Result<ToolOutput, ToolError>>
        + Send
        + Sync,
>;

/// Where a tool's body runs. Whatever it is, hooks, guardrails, approvals and the rules for failures are the same.
#[derive(Clone)]
#[non_exhaustive]
pub enum ToolBinding {
    /// In the workflow, at once.
    Inline(InlineBody),
    /// In an activity named `agents.tool.<tool>`; with `options.local` in a local one.
    Activity {
        /// What the worker runs.
        body: ActivityBody,
        /// Timeouts, retries, task queue.
        options: ToolActivityOptions,
    },
    /// In an activity that exists already, by its type.
    RemoteActivity(RemoteActivity),
    /// At a server of the Model Context Protocol, through an activity named `agents.mcp.<server>.call_tool`.
    Mcp(McpBinding),
    /// In the workflow, where it may wait for timers, activities and child workflows.
    Workflow(WorkflowBody),
    /// In a child workflow, by its type.
    ChildWorkflow(ChildWorkflow),
    /// At a Nexus endpoint (feature `nexus`).
    #[cfg(feature = "nexus")]
    Nexus(NexusOperation),
    /// In a run of another agent, inside this run.
    Agent(Arc<AgentTool>),
    /// Nowhere here: the run waits until a caller has made the call and supplies its output.
    Client,
    /// In a run of another agent, in a child workflow.
    ChildAgent(Arc<ChildAgentTool>),
}

impl ToolBinding {
    /// Whether history holds what a call gives as the reply of an activity of ours, so that others can refer to it.
    pub(crate) fn leaves_a_reply(&self) -> bool {
        match self {
            Self::Activity { options, .. } => !options.local,
            Self::Mcp(_) => true,
            _ => false,
        }
    }
}

impl std::fmt::Debug for ToolBinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Inline(_) => f.write_str("Inline"),
            Self::Activity { options, .. } => f.debug_tuple("Activity").field(options).finish(),
            Self::RemoteActivity(remote) => remote.fmt(f),
            Self::Workflow(_) => f.write_str("Workflow"),
            Self::ChildWorkflow(child) => child.fmt(f),
            #[cfg(feature = "nexus")]
            Self::Nexus(operation) => operation.fmt(f),
            Self::Mcp(binding) => f.debug_tuple("Mcp").field(binding).finish(),
            Self::Agent(agent) => agent.fmt(f),
            Self::Client => f.write_str("Client"),
            Self::ChildAgent(agent) => agent.fmt(f),
        }
    }
}
