//! An agent that other agents call like a function, and that runs in a child workflow.

use std::fmt;

use super::as_tool::AgentTool;
use crate::{
    tool::{ChildWorkflow, ParentClosePolicy, Tool, ToolBinding, ToolDef},
    wire::ready_made::AGENT_WORKFLOW,
};

/// Options for an agent that runs as a tool in a child workflow: its task queue, its id, its
/// timeout, and the policy for the case that its parent ends first.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use temporal_agents::{Agent, agent::ChildAgent, tool::ParentClosePolicy};
///
/// let researcher =
///     Agent::new("researcher").model("gpt-5").instructions("You research at length.");
/// let child = ChildAgent::new()
///     .task_queue("research")
///     .parent_close_policy(ParentClosePolicy::Abandon);
/// let editor =
///     Agent::new("editor").model("gpt-5").tool(researcher.as_tool().in_child_workflow(child));
/// # let _: Agent<String> = editor;
/// ```
#[derive(Clone, Debug)]
pub struct ChildAgent {
    child: ChildWorkflow,
}

impl ChildAgent {
    /// Returns the defaults: the task queue of the parent, and termination with the parent.
    pub fn new() -> Self {
        Self { child: ChildWorkflow::named(AGENT_WORKFLOW) }
    }

    /// Sets the task queue of the child workflow. A worker of that queue must have an
    /// `AgentWorkflow` with this agent.
    #[must_use]
    pub fn task_queue(mut self, task_queue: impl Into<String>) -> Self {
        self.child = self.child.task_queue(task_queue);
        self
    }

    /// Sets what happens to the child workflow if the parent ends first.
    #[must_use]
    pub fn parent_close_policy(mut self, policy: ParentClosePolicy) -> Self {
        self.child = self.child.parent_close_policy(policy);
        self
    }

    /// Sets the function that returns the workflow id for the question of a call. Default: an id
    /// made of the parent's workflow id and the id of the call.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay.
    #[must_use]
    pub fn id_from(mut self, id: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.child = self.child.id_from(move |arguments| {
            id(arguments.get("input").and_then(serde_json::Value::as_str).unwrap_or_default())
        });
        self
    }

    /// Sets the longest time from the start of the child workflow to its end. Default: no limit.
    #[must_use]
    pub fn execution_timeout(mut self, longest: std::time::Duration) -> Self {
        self.child = self.child.execution_timeout(longest);
        self
    }
}

impl Default for ChildAgent {
    fn default() -> Self {
        Self::new()
    }
}

/// An agent as a tool, each call of which is a child workflow: the ready-made `AgentWorkflow`.
///
/// The worker of the child needs that workflow with this agent in its agent set, which also
/// configures the run; a worker on the parent's own task queue can have both workflows. The turn
/// limit is that of [`AgentTool::max_turns`], otherwise that of the set. The run is independent of
/// the parent's: of the run context it receives the keys that the tool names
/// ([`ToolDef::with_context`]), and its changes to them do not return to the parent; it continues
/// as new independently; calls in it that need approval wait in the child, where an `AgentHandle`
/// of its workflow id decides about them. Its usage counts into the caller's, also if it fails; the
/// usage of a run that is cancelled or times out does not.
#[derive(Clone)]
pub struct ChildAgentTool {
    agent: AgentTool,
    child: ChildWorkflow,
}

impl AgentTool {
    /// Runs the agent in a child workflow. An output extractor runs in the caller's workflow; for
    /// it, the items of the run are returned to the caller, so they must be less than 2 MB of JSON.
    #[must_use]
    pub fn in_child_workflow(self, child: ChildAgent) -> ChildAgentTool {
        ChildAgentTool { agent: self, child: child.child }
    }
}

impl ChildAgentTool {
    /// Name of the agent that the tool runs.
    pub fn agent(&self) -> &str {
        &self.agent.agent().name
    }

    /// Returns the agent as a tool.
    #[doc(hidden)]
    pub fn tool(&self) -> &AgentTool {
        &self.agent
    }

    /// The options with which the child workflow is started.
    pub fn child(&self) -> &ChildWorkflow {
        &self.child
    }
}

impl Tool for ChildAgentTool {
    fn definition(&self) -> ToolDef {
        self.agent.bound(ToolBinding::ChildAgent(std::sync::Arc::new(self.clone())))
    }
}

impl fmt::Debug for ChildAgentTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildAgentTool").field("agent", &self.agent()).field("child", &self.child).finish()
    }
}
