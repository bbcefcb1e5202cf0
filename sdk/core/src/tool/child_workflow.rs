//! An existing workflow as a tool: of any worker, in any language, named by its type.

use std::{fmt, sync::Arc, time::Duration};

use serde_json::{Map, Value};

/// A workflow, named by its type, and the options with which it is started as a child.
/// [`ToolDef::child_workflow`](super::ToolDef::child_workflow) offers it to a model,
/// [`WorkflowToolContext::child_workflow`](super::WorkflowToolContext::child_workflow) starts it
/// from a workflow tool.
///
/// A child that no worker runs waits for a worker, as every workflow does: set
/// [`execution_timeout`](Self::execution_timeout) where it must not wait for ever.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use temporal_agents::tool::{ChildWorkflow, ParentClosePolicy};
///
/// let ship = ChildWorkflow::named("ship_order")
///     .task_queue("shipping")
///     .parent_close_policy(ParentClosePolicy::Abandon);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChildWorkflow {
    /// The type of the workflow.
    pub workflow_type: String,
    /// The task queue of the child's worker. Default: the parent's own.
    pub task_queue: Option<String>,
    /// The policy for a child whose parent ends first. Default: the child is terminated.
    pub parent_close_policy: ParentClosePolicy,
    /// The workflow id of the child. Default: derived.
    pub id: ChildId,
    /// Longest time from the child's start to its end, retries and continue-as-new included.
    /// Default: no limit.
    pub execution_timeout: Option<Duration>,
    /// The summary line in the Temporal UI. Default: tool, agent and turn.
    pub summary: Option<String>,
}

/// The policy for a child workflow whose parent ends first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParentClosePolicy {
    /// The child is terminated.
    #[default]
    Terminate,
    /// The child is requested to cancel.
    RequestCancel,
    /// The child continues.
    Abandon,
}

/// The workflow id of a child.
#[derive(Clone, Default)]
pub enum ChildId {
    /// Derived from the parent's workflow id and the id of the call: the same on replay, and
    /// different for each call.
    #[default]
    Derived,
    /// Always this id: a second call fails for as long as the first child runs.
    Fixed(String),
    /// The id that this function returns for the arguments of the call.
    Computed(ComputeId),
}

/// A function that returns a workflow id for the arguments of a call.
pub type ComputeId = Arc<dyn Fn(&Map<String, Value>) -> String + Send + Sync>;

impl ChildWorkflow {
    /// Creates the options of a child of this workflow type, with the defaults.
    pub fn named(workflow_type: impl Into<String>) -> Self {
        Self {
            workflow_type: workflow_type.into(),
            task_queue: None,
            parent_close_policy: ParentClosePolicy::default(),
            id: ChildId::default(),
            execution_timeout: None,
            summary: None,
        }
    }

    /// Sets the task queue of the child's worker.
    #[must_use]
    pub fn task_queue(mut self, task_queue: impl Into<String>) -> Self {
        self.task_queue = Some(task_queue.into());
        self
    }

    /// Sets the policy for a child whose parent ends first.
    #[must_use]
    pub fn parent_close_policy(mut self, policy: ParentClosePolicy) -> Self {
        self.parent_close_policy = policy;
        self
    }

    /// Sets a fixed workflow id.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = ChildId::Fixed(id.into());
        self
    }

    /// Computes the workflow id from the call's arguments, such as the number of the order: two
    /// calls for one order then are one child and one failed call.
    ///
    /// # Determinism
    /// The function runs in the workflow, and again on replay.
    #[must_use]
    pub fn id_from(mut self, id: impl Fn(&Map<String, Value>) -> String + Send + Sync + 'static) -> Self {
        self.id = ChildId::Computed(Arc::new(id));
        self
    }

    /// Sets the longest time from the child's start to its end.
    #[must_use]
    pub fn execution_timeout(mut self, longest: Duration) -> Self {
        self.execution_timeout = Some(longest);
        self
    }

    /// Sets the summary line in the Temporal UI.
    #[must_use]
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }
}

impl fmt::Debug for ChildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Derived => f.write_str("Derived"),
            Self::Fixed(id) => f.debug_tuple("Fixed").field(id).finish(),
            Self::Computed(_) => f.write_str("Computed"),
        }
    }
}
