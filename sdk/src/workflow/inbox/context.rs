//! The inbox as a part of its workflow: how a run reads it, changes it, and waits for changes,
//! without the type of the workflow.

use futures::{FutureExt, future::LocalBoxFuture};
use temporalio_workflow::{WaitConditionOptions, WorkflowCancellationToken, WorkflowContext};

use super::AgentInbox;

/// A workflow with an inbox. `#[agent_handlers]` implements this trait.
#[diagnostic::on_unimplemented(
    message = "workflow `{Self}` has no inbox for decisions",
    label = "no inbox",
    note = "write `#[agent_handlers]` above `#[workflow_methods]`, and add the field `inbox: AgentInbox` to the \
            workflow"
)]
pub trait HasAgentInbox {
    /// Returns the inbox.
    fn agent_inbox(&self) -> &AgentInbox;

    /// Returns the inbox for modification.
    fn agent_inbox_mut(&mut self) -> &mut AgentInbox;
}

/// The operations of a workflow with an inbox that a run uses, without the workflow's type.
pub(crate) trait InboxContext {
    /// Changes the inbox, and wakes the futures that wait for a change.
    fn change(&self, change: &mut dyn FnMut(&mut AgentInbox));

    /// Reads the inbox.
    fn look(&self, look: &mut dyn FnMut(&AgentInbox));

    /// Waits until one of these ids is decided, or the stream has had this number of polls; returns
    /// `false` if the wait was cancelled.
    fn wait_until_decided(
        &self,
        ids: Vec<String>,
        max_polls: Option<u32>,
        token: WorkflowCancellationToken,
    ) -> LocalBoxFuture<'static, bool>;

    /// Waits until no poll of the stream waits, also in a workflow that is cancelled.
    fn stream_is_idle(&self) -> LocalBoxFuture<'static, ()>;
}

impl<W: HasAgentInbox + 'static> InboxContext for WorkflowContext<W> {
    fn change(&self, change: &mut dyn FnMut(&mut AgentInbox)) {
        self.state_mut(|workflow| change(workflow.agent_inbox_mut()));
    }

    fn look(&self, look: &mut dyn FnMut(&AgentInbox)) {
        self.state(|workflow| look(workflow.agent_inbox()));
    }

    fn wait_until_decided(
        &self,
        ids: Vec<String>,
        max_polls: Option<u32>,
        token: WorkflowCancellationToken,
    ) -> LocalBoxFuture<'static, bool> {
        let ctx = self.clone();
        async move {
            let options = WaitConditionOptions::builder().cancellation_token(token).build();
            let ends = |workflow: &W| {
                let inbox = workflow.agent_inbox();
                ids.iter().any(|id| inbox.is_decided(id)) || inbox.stream().polls().has_reached(max_polls)
            };
            ctx.wait_condition_with_options(ends, options).await.is_ok()
        }
        .boxed_local()
    }

    fn stream_is_idle(&self) -> LocalBoxFuture<'static, ()> {
        let ctx = self.clone();
        async move {
            let token = WorkflowCancellationToken::new();
            let options = WaitConditionOptions::builder().cancellation_token(token.clone()).build();
            let is_idle = |workflow: &W| workflow.agent_inbox().stream().polls().is_idle();
            let _ = ctx.wait_condition_with_options(is_idle, options).await;
        }
        .boxed_local()
    }
}
