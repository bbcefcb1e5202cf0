//! The context of a workflow tool: timers, activities, child workflows, the workflow's own time and
//! randomness.

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

/// The context of a workflow tool's call, and its handle on the workflow that it runs in. It is
/// also a [`ToolContext`]: call, run context (a copy of all of it; the values that the tool sets
/// are merged after all calls of the turn, in call order).
///
/// Nothing is started before a future is awaited. To await several at once, use
/// `temporalio_workflow::join_all`.
///
/// # Determinism
/// The body runs in the workflow, and again on replay. It must await only the futures that this
/// handle returns: tokio, channels and futures with wakers of their own stop the workflow. Its only
/// clock is [`now`](Self::now), and its only sources of randomness are [`random`](Self::random) and
/// [`uuid`](Self::uuid).
pub struct WorkflowToolContext {
    call: ToolContext,
    effects: Rc<dyn WorkflowEffects>,
}

/// The effects that a host provides for a workflow tool.
pub trait WorkflowEffects {
    /// Waits for this duration.
    fn sleep(&self, duration: Duration) -> LocalBoxFuture<'static, Result<(), WorkflowToolError>>;

    /// Calls an activity; returns its result as JSON.
    fn activity(
        &self,
        activity: RemoteActivity,
        input: Value,
    ) -> LocalBoxFuture<'static, Result<Value, WorkflowToolError>>;

    /// Starts a child workflow and waits for its end; returns its result as JSON.
    fn child_workflow(
        &self,
        child: ChildWorkflow,
        input: Value,
    ) -> LocalBoxFuture<'static, Result<Value, WorkflowToolError>>;

    /// Returns the current time of the workflow.
    fn now(&self) -> SystemTime;

    /// Returns a random number.
    fn random(&self) -> u64;

    /// Returns `true` if the call was cancelled.
    fn is_cancelled(&self) -> bool;
}

impl WorkflowToolContext {
    /// Creates the context of a call. Unit tests of tools also create one, with effects of their
    /// own.
    pub fn new(call: ToolContext, effects: Rc<dyn WorkflowEffects>) -> Self {
        Self { call, effects }
    }

    /// Waits for this duration, by a timer of the workflow, so that waiting for days costs nothing.
    ///
    /// # Errors
    /// [`WorkflowToolError::Cancelled`] if the call is cancelled first.
    pub fn sleep(&self, duration: Duration) -> LocalBoxFuture<'static, Result<(), WorkflowToolError>> {
        self.effects.sleep(duration)
    }

    /// Calls an activity with this input, its only argument; returns its result as JSON, `null` if
    /// it has none.
    ///
    /// # Errors
    /// [`WorkflowToolError`] if the activity returns no result.
    ///
    /// # Retries
    /// According to the options of the activity.
    pub fn activity(
        &self,
        activity: RemoteActivity,
        input: impl Into<Value>,
    ) -> LocalBoxFuture<'static, Result<Value, WorkflowToolError>> {
        self.effects.activity(activity, input.into())
    }

    /// Starts a child workflow with this input, its only argument, and waits for its end; returns
    /// its result as JSON, `null` if it has none.
    ///
    /// # Errors
    /// [`WorkflowToolError`] if the child workflow returns no result.
    pub fn child_workflow(
        &self,
        child: ChildWorkflow,
        input: impl Into<Value>,
    ) -> LocalBoxFuture<'static, Result<Value, WorkflowToolError>> {
        self.effects.child_workflow(child, input.into())
    }

    /// Returns the workflow's time: that of the event that it has reached, the same on replay.
    pub fn now(&self) -> SystemTime {
        self.effects.now()
    }

    /// Returns a random number, the same on replay. Each call of a tool has a stream of its own.
    pub fn random(&self) -> u64 {
        self.effects.random()
    }

    /// Returns a random UUID (version 4) in lower case with hyphens, the same on replay.
    pub fn uuid(&self) -> String {
        // The bits of version and variant are fixed; all others are random.
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

    /// Returns `true` if the call was cancelled. A future that the tool awaits then ends with
    /// [`WorkflowToolError::Cancelled`].
    pub fn is_cancelled(&self) -> bool {
        self.effects.is_cancelled()
    }

    /// Returns the run context, consuming this context.
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
