//! The binding of a tool: the place where its body runs.

use std::sync::Arc;

use futures::future::{BoxFuture, LocalBoxFuture};
use serde_json::{Map, Value};

#[cfg(feature = "nexus")]
use super::nexus_operation::NexusOperation;
use super::{
    child_workflow::ChildWorkflow, context::ToolContext, error::ToolError, mcp::McpBinding,
    options::ToolActivityOptions, remote_activity::RemoteActivity, remote_toolset::RemoteBinding,
    workflow_context::WorkflowToolContext,
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

/// The body of an activity tool: called by the worker, with no restrictions on what it does.
pub type ActivityBody = Arc<
    dyn for<'a> Fn(&'a mut ToolContext, Map<String, Value>) -> BoxFuture<'a, Result<ToolOutput, ToolError>>
        + Send
        + Sync,
>;

/// The body of a workflow tool: called in the workflow, where it may wait for the futures that its
/// context returns.
///
/// # Determinism
/// It runs again on replay: see [`WorkflowToolContext`].
pub type WorkflowBody = Arc<
    dyn for<'a> Fn(&'a mut WorkflowToolContext, Map<String, Value>) -> LocalBoxFuture<'a, Result<ToolOutput, ToolError>>
        + Send
        + Sync,
>;

/// The place where a tool's body runs. Hooks, guardrails, approvals and the rules for failures are
/// the same for all bindings.
#[derive(Clone)]
pub enum ToolBinding {
    /// In the workflow, at once.
    Inline(InlineBody),
    /// In an activity named `agents.tool.<tool>`; a local activity if `options.local` is set.
    Activity {
        /// The body that the worker runs.
        body: ActivityBody,
        /// Timeouts, retries and task queue.
        options: ToolActivityOptions,
    },
    /// In an existing activity, named by its type.
    RemoteActivity(RemoteActivity),
    /// On a server of the Model Context Protocol, called through an activity named
    /// `agents.mcp.<server>.call_tool`.
    Mcp(McpBinding),
    /// At a provider that is reached over streams, called through an activity named
    /// `agents.remote.<transport>.call_tool`.
    Remote(RemoteBinding),
    /// In the workflow, where it may wait for timers, activities and child workflows.
    Workflow(WorkflowBody),
    /// In a child workflow, named by its type.
    ChildWorkflow(ChildWorkflow),
    /// At a Nexus endpoint (feature `nexus`).
    #[cfg(feature = "nexus")]
    Nexus(NexusOperation),
    /// In a run of another agent, inside this run.
    Agent(Arc<AgentTool>),
    /// Outside of the run, which waits until its caller has made the call and supplies the output.
    Client,
    /// In a run of another agent, in a child workflow.
    ChildAgent(Arc<ChildAgentTool>),
}

impl ToolBinding {
    /// Returns `true` if history holds a call's output as the reply of an activity of this library,
    /// so that later payloads can refer to it.
    #[doc(hidden)]
    pub fn leaves_a_reply(&self) -> bool {
        match self {
            Self::Activity { options, .. } => !options.local,
            Self::Mcp(_) | Self::Remote(_) => true,
            Self::Inline(_)
            | Self::RemoteActivity(_)
            | Self::Workflow(_)
            | Self::ChildWorkflow(_)
            | Self::Agent(_)
            | Self::Client
            | Self::ChildAgent(_) => false,
            #[cfg(feature = "nexus")]
            Self::Nexus(_) => false,
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
            Self::Remote(binding) => f.debug_tuple("Remote").field(binding).finish(),
            Self::Agent(agent) => agent.fmt(f),
            Self::Client => f.write_str("Client"),
            Self::ChildAgent(agent) => agent.fmt(f),
        }
    }
}
