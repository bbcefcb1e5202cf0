//! What a workflow tool works with: timers, activities, child workflows, the workflow's own time and randomness.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    rc::Rc,
    time::{Duration, SystemTime},
};

use futures::future::LocalBoxFuture;
use serde_json::Value;

use super::{
    child_workflow::ChildWorkflow, context::ToolContext, remote_activity::RemoteActivity, run_context::RunContext,
    workflow_error::WorkflowToolError,
};

/// What a workflow tool knows of its call, and its handle on the workflow it runs in. It is a [`ToolContext`], too: call, run context (a
/// copy of all of it; what the tool sets is merged after all calls of the turn, in call order).
///
/// Nothing happens before a future is awaited. Several at once: [`join_in_order`](crate::drive::join::join_in_order).
///
/// # Determinism
/// The body runs in the workflow, again on replay. It awaits what this handle gives and nothing else: tokio, channels and futures with
/// wakers of their own stop the workflow. It has no clock but [`now`](Self::now), and no randomness but [`random`](Self::random) and
/// [`uuid`](Self::uuid).
pub struct WorkflowToolContext {
    call: ToolContext,
    effects: Rc<dyn WorkflowEffects>,
}

/// What a host does for a workflow tool.
pub trait WorkflowEffects {
    /// Waits so long.
    fn sleep(&self, duration: Duration) -> LocalBoxFuture<'static, Result<(), WorkflowToolError>>;

    /// Calls an activity; gives its result as JSON.
    fn activity(
        &self,
        activity: RemoteActivity,
        input: Value,
    ) -> LocalBoxFuture<'static, Result<Value, WorkflowToolError>>;

    /// Starts a child workflow and awaits its end; gives its result as JSON.
    fn child_workflow(
        &self,
        child: ChildWorkflow,
        input: Value,
    ) -> LocalBoxFuture<'static, Result<Value, WorkflowToolError>>;

    /// The time.
    fn now(&self) -> SystemTime;

    /// A random number.
    fn random(&self) -> u64;

    /// Whether the call was cancelled.
    fn is_cancelled(&self) -> bool;
}

impl WorkflowToolContext {
    /// The context of a call; unit tests of tools make one, too, with effects of their own.
    pub fn new(call: ToolContext, effects: Rc<dyn WorkflowEffects>) -> Self {
        Self { call, effects }
    }

    /// Waits so long, by a timer of the workflow: days cost nothing.
    ///
    /// # Errors
    /// [`WorkflowToolError::Cancelled`].
    pub fn sleep(&self, duration: Duration) -> LocalBoxFuture<'static, Result<(), WorkflowToolError>> {
        self.effects.sleep(duration)
    }

    /// Calls an activity with this input, its only argument; gives its result as JSON, `null` where it has none.
    ///
    /// # Errors
    /// [`WorkflowToolError`].
    ///
    /// # Retries
    /// As the options say.
    pub fn activity(
        &self,
        activity: RemoteActivity,
        input: impl Into<Value>,
    ) -> LocalBoxFuture<'static, Result<Value, WorkflowToolError>> {
        self.effects.activity(activity, input.into())
    }

    /// Starts a child workflow with this input, its only argument, and awaits its end; gives its result as JSON, `null` where it has none.
    ///
    /// # Errors
    /// [`WorkflowToolError`].
    pub fn child_workflow(
        &self,
        child: ChildWorkflow,
        input: impl Into<Value>,
    ) -> LocalBoxFuture<'static, Result<Value, WorkflowToolError>> {
        self.effects.child_workflow(child, input.into())
    }

    /// The workflow's time: that of the event it has got to, the same on replay.
    pub fn now(&self) -> SystemTime {
        self.effects.now()
    }

    /// A random number, the same on replay. Each call of a tool has a stream of its own.
    pub fn random(&self) -> u64 {
        self.effects.random()
    }

    /// A random UUID (version 4) in lower case with hyphens, the same on replay.
    pub fn uuid(&self) -> String {
        let (high, low) = (self.random(), self.random());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            ((low >> 48) & 0x3fff) | 0x8000,
            low & 0xffff_ffff_ffff,
        )
    }

    /// Whether the call was cancelled. What it awaits then ends with [`WorkflowToolError::Cancelled`].
    pub fn is_cancelled(&self) -> bool {
        self.effects.is_cancelled()
    }

    /// Gives the run context back.
    pub fn into_run(self) -> RunContext {
        self.call.into_run()
    }
}

impl Deref for WorkflowToolContext {
    type Target = ToolContext;

    fn deref(&self) -> &ToolContext {
        &self.call
    }
}

impl DerefMut for WorkflowToolContext {
    fn deref_mut(&mut self) -> &mut ToolContext {
        &mut self.call
    }
}

impl fmt::Debug for WorkflowToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkflowToolContext").field("call", &self.call).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
