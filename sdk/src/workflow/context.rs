//! An object-safe view of the workflow context, so that nothing else here is generic over the author's workflow type.

use std::time::Duration;

use futures::{FutureExt, future::LocalBoxFuture};
use serde_json::Value;
use temporalio_workflow::{
    ActivityExecutionError, ActivityOptions, LocalActivityOptions, TimerOptions, WaitConditionOptions,
    WorkflowCancellationToken, WorkflowContext, common::ActivityDefinition,
};

use super::json::Json;
use crate::wire::{MODEL_ACTIVITY, ModelRequest, RECORD_ACTIVITY, RecordRequest, SessionRequest, ToolRequest};

pub(super) type ActivityResult = Result<Json, ActivityExecutionError>;

/// What the durable host needs of a workflow context. Calls are lazy: a command is pushed at the first poll.
pub(super) trait DurableContext {
    fn model_activity(
        &self,
        request: ModelRequest,
        options: ActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult>;
    fn local_model_activity(
        &self,
        request: ModelRequest,
        options: LocalActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult>;
    fn record_activity(
        &self,
        request: RecordRequest,
        options: ActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult>;
    fn tool_activity(
        &self,
        activity_type: String,
        request: ToolRequest,
        options: ActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult>;
    fn session_activity(
        &self,
        activity_type: String,
        request: SessionRequest,
        options: ActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult>;
    /// Keeps or loads a chunk of a state.
    fn state_activity(
        &self,
        activity_type: &'static str,
        request: Value,
        options: ActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult>;
    /// Waits so long, whether or not the workflow is cancelled.
    fn pause(&self, duration: Duration, token: WorkflowCancellationToken) -> LocalBoxFuture<'static, ()>;
    fn patched(&self, slug: &str) -> bool;
    fn is_replaying(&self) -> bool;
    /// The next number of the stream this library draws its ids from; the author's own draws are not shifted by it.
    fn next_run_number(&self) -> u64;
    fn cancellation_token(&self) -> WorkflowCancellationToken;
    fn task_queue(&self) -> String;
    /// The id of this execution.
    fn run_id(&self) -> String;
    /// How many events its history has, as of the workflow task under way.
    fn history_length(&self) -> u32;
    /// Whether the server finds that history long enough.
    fn continue_as_new_suggested(&self) -> bool;
    fn has_handlers_at_work(&self) -> bool;
    /// Waits until no handler is at work; false when the wait was cancelled.
    fn handlers_finish(&self, token: WorkflowCancellationToken) -> LocalBoxFuture<'static, bool>;
    fn show(&self, details: String);
}

impl<W: 'static> DurableContext for WorkflowContext<W> {
    fn model_activity(
        &self,
        request: ModelRequest,
        options: ActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult> {
        let ctx = self.clone();
        async move { ctx.execute_activity(ModelActivity, request, options).await }.boxed_local()
    }

    fn local_model_activity(
        &self,
        request: ModelRequest,
        options: LocalActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult> {
        let ctx = self.clone();
        async move { ctx.execute_local_activity(ModelActivity, request, options).await }.boxed_local()
    }

    fn record_activity(
        &self,
        request: RecordRequest,
        options: ActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult> {
        let ctx = self.clone();
        async move { ctx.execute_activity(RecordActivity, request, options).await }.boxed_local()
    }

    fn tool_activity(
        &self,
        activity_type: String,
        request: ToolRequest,
        options: ActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult> {
        let ctx = self.clone();
        async move { ctx.execute_activity(ToolActivity(activity_type), request, options).await }.boxed_local()
    }

    fn session_activity(
        &self,
        activity_type: String,
        request: SessionRequest,
        options: ActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult> {
        let ctx = self.clone();
        async move { ctx.execute_activity(SessionActivity(activity_type), request, options).await }.boxed_local()
    }

    fn state_activity(
        &self,
        activity_type: &'static str,
        request: Value,
        options: ActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult> {
        let ctx = self.clone();
        async move { ctx.execute_activity(StateActivity(activity_type), request, options).await }.boxed_local()
    }

    fn pause(&self, duration: Duration, token: WorkflowCancellationToken) -> LocalBoxFuture<'static, ()> {
        let ctx = self.clone();
        let options = TimerOptions::builder(duration).cancellation_token(token).build();
        async move {
            let _ = ctx.timer(options).await;
        }
        .boxed_local()
    }

    fn patched(&self, slug: &str) -> bool {
        WorkflowContext::patched(self, slug)
    }

    fn is_replaying(&self) -> bool {
        self.is_replaying_history_events()
    }

    fn next_run_number(&self) -> u64 {
        self.random_stream("temporal-agents/run").random()
    }

    fn cancellation_token(&self) -> WorkflowCancellationToken {
        WorkflowContext::cancellation_token(self)
    }

    fn task_queue(&self) -> String {
        WorkflowContext::task_queue(self).to_owned()
    }

    fn run_id(&self) -> String {
        WorkflowContext::run_id(self).to_owned()
    }

    fn history_length(&self) -> u32 {
        WorkflowContext::history_length(self)
    }

    fn continue_as_new_suggested(&self) -> bool {
        WorkflowContext::continue_as_new_suggested(self)
    }

    fn has_handlers_at_work(&self) -> bool {
        !self.all_handlers_finished()
    }

    fn handlers_finish(&self, token: WorkflowCancellationToken) -> LocalBoxFuture<'static, bool> {
        let ctx = self.clone();
        async move {
            let options = WaitConditionOptions::builder().cancellation_token(token).build();
            ctx.wait_condition_with_options(|_| ctx.all_handlers_finished(), options).await.is_ok()
        }
        .boxed_local()
    }

    fn show(&self, details: String) {
        self.set_current_details(details);
    }
}

/// The caller's side of the model activity. The result is read as JSON first, so that its version can be checked.
struct ModelActivity;

impl ActivityDefinition for ModelActivity {
    type Input = ModelRequest;
    type Output = Json;

    fn name(&self) -> &str {
        MODEL_ACTIVITY
    }
}

/// The caller's side of the activity that records items.
struct RecordActivity;

impl ActivityDefinition for RecordActivity {
    type Input = RecordRequest;
    type Output = Json;

    fn name(&self) -> &str {
        RECORD_ACTIVITY
    }
}

/// The caller's side of a tool's activity.
struct ToolActivity(String);

impl ActivityDefinition for ToolActivity {
    type Input = ToolRequest;
    type Output = Json;

    fn name(&self) -> &str {
        &self.0
    }
}

/// The caller's side of a session's activity.
struct SessionActivity(String);

impl ActivityDefinition for SessionActivity {
    type Input = SessionRequest;
    type Output = Json;

    fn name(&self) -> &str {
        &self.0
    }
}

/// The caller's side of the activities that keep and load states.
struct StateActivity(&'static str);

impl ActivityDefinition for StateActivity {
    type Input = Value;
    type Output = Json;

    fn name(&self) -> &str {
        self.0
    }
}
