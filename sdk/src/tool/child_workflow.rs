//! A workflow that exists already, as a tool: of any worker, in any language, known by its type.

use std::{fmt, sync::Arc, time::Duration};

use serde_json::{Map, Value};

/// A workflow by its type, and how it is started as a child. [`ToolDef::child_workflow`](super::ToolDef::child_workflow) offers it to a
/// model, [`WorkflowToolContext::child_workflow`](super::WorkflowToolContext::child_workflow) starts it from a workflow tool.
///
/// A child that nobody runs waits for a worker, as every workflow does: set [`execution_timeout`](Self::execution_timeout) where that must
/// not be for ever.
///
/// ```
/// use temporal_agents::tool::{ChildWorkflow, ParentClose};
///
/// let ship = ChildWorkflow::named("ship_order").task_queue("shipping").parent_close_policy(ParentClose::Abandon);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChildWorkflow {
    /// The workflow's type.
    pub workflow_type: String,
    /// The task queue of its worker. Default: the parent's own.
    pub task_queue: Option<String>,
    /// What becomes of it when the parent ends first. Default: it is terminated.
    pub parent_close_policy: ParentClose,
    /// Its workflow id. Default: derived.
    pub id: ChildId,
    /// Longest time from its start to its end, retries and continue-as-new included. Default: no limit.
    pub execution_timeout: Option<Duration>,
    /// The line the Temporal UI shows. Default: tool, agent and turn.
    pub summary: Option<String>,
}

/// What becomes of a child workflow whose parent ends first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParentClose {
    /// It is terminated.
    #[default]
    Terminate,
    /// It is asked to cancel.
    RequestCancel,
    /// It goes on.
    Abandon,
}

/// The workflow id of a child.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum ChildId {
    /// Made of the parent's workflow id and the id of the call: the same on replay, another one for each call.
    #[default]
    Derived,
    /// Always this one: a second call fails for as long as the first child runs.
    Fixed(String),
    /// What this function makes of the arguments.
    Computed(ComputeId),
}

/// A function that makes a workflow id of a call's arguments.
pub type ComputeId = Arc<dyn Fn(&Map<String, Value>) -> String + Send + Sync>;

impl ChildWorkflow {
    /// The workflow of this type, with the defaults.
    pub fn named(workflow_type: impl Into<String>) -> Self {
        Self {
            workflow_type: workflow_type.into(),
            task_queue: None,
            parent_close_policy: ParentClose::default(),
            id: ChildId::default(),
            execution_timeout: None,
            summary: None,
        }
    }

    /// Sets the task queue of its worker.
    #[must_use]
    pub fn task_queue(mut self, task_queue: impl Into<String>) -> Self {
        self.task_queue = Some(task_queue.into());
        self
    }

    /// Says what becomes of it when the parent ends first.
    #[must_use]
    pub fn parent_close_policy(mut self, policy: ParentClose) -> Self {
        self.parent_close_policy = policy;
        self
    }

    /// Gives it this workflow id.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = ChildId::Fixed(id.into());
        self
    }

    /// Gives it a workflow id made of the call's arguments, such as the number of the order: calling twice for one order then is one child
    /// and one failed call.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay.
    #[must_use]
    pub fn id_from(mut self, id: impl Fn(&Map<String, Value>) -> String + Send + Sync + 'static) -> Self {
        self.id = ChildId::Computed(Arc::new(id));
        self
    }

    /// Sets the longest time from its start to its end.
    #[must_use]
    pub fn execution_timeout(mut self, longest: Duration) -> Self {
        self.execution_timeout = Some(longest);
        self
    }

    /// Sets the line the Temporal UI shows.
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
