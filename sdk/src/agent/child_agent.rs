//! An agent that other agents call like a function, and that runs in a child workflow.

use std::fmt;

use super::as_tool::AgentTool;
use crate::{
    tool::{ChildWorkflow, ParentClose, Tool, ToolBinding, ToolDef},
    wire::ready_made::AGENT_WORKFLOW,
};

/// How an agent used as a tool runs in a child workflow: where, and what becomes of it when its
/// parent ends first.
///
/// ```
/// use temporal_agents::{Agent, agent::ChildAgent, tool::ParentClose};
///
/// let researcher = Agent::new("researcher").model("gpt-5").instructions("You research at length.");
/// let child = ChildAgent::new().task_queue("research").parent_close_policy(ParentClose::Abandon);
/// let editor = Agent::new("editor").model("gpt-5").tool(researcher.as_tool().in_child_workflow(child));
/// # let _: Agent<String> = editor;
/// ```
#[derive(Clone, Debug)]
pub struct ChildAgent {
    child: ChildWorkflow,
}

impl ChildAgent {
    /// On the parent's task queue, and terminated with its parent.
    pub fn new() -> Self {
        Self { child: ChildWorkflow::named(AGENT_WORKFLOW) }
    }

    /// Sets the task queue of its worker, which has an `AgentWorkflow` with this agent.
    #[must_use]
    pub fn task_queue(mut self, task_queue: impl Into<String>) -> Self {
        self.child = self.child.task_queue(task_queue);
        self
    }

    /// Says what becomes of it when the parent ends first.
    #[must_use]
    pub fn parent_close_policy(mut self, policy: ParentClose) -> Self {
        self.child = self.child.parent_close_policy(policy);
        self
    }

    /// Gives it a workflow id made of the question. Default: made of the parent's workflow id and
    /// the id of the call.
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

    /// Sets the longest time from its start to its end. Default: no limit.
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
/// Its worker needs that workflow with this agent in its set, which also says how it runs; a worker
/// on the parent's own task queue can have both. Its turn limit is that of
/// [`AgentTool::max_turns`], or else the set's. Its run is its own: of the run context it gets the
/// keys that the tool names ([`ToolDef::with_context`]), and what it changes of them stays there;
/// it continues as new by itself; calls in it that need approval wait there, where an `AgentHandle`
/// of its workflow id decides about them. Its usage counts into the caller's, also when it fails;
/// that of a run that is cancelled or out of time does not.
#[derive(Clone)]
pub struct ChildAgentTool {
    agent: AgentTool,
    child: ChildWorkflow,
}

impl AgentTool {
    /// The same tool, in a child workflow. An output extractor runs at the caller's; for it, the
    /// items of the run travel there, which must be less than 2 MB of JSON then.
    #[must_use]
    pub fn in_child_workflow(self, child: ChildAgent) -> ChildAgentTool {
        ChildAgentTool { agent: self, child: child.child }
    }
}

impl ChildAgentTool {
    /// The name of the agent.
    pub fn agent(&self) -> &str {
        &self.agent.agent().name
    }

    pub(crate) fn tool(&self) -> &AgentTool {
        &self.agent
    }

    /// How the child workflow is started.
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
