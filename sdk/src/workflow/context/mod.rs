//! An object-safe view of the workflow context, so that nothing else here is generic over the
//! author's workflow type.

mod author_span;
mod definitions;
mod sdk;

use std::{
    rc::Rc,
    time::{Duration, SystemTime},
};

pub use author_span::span;
use futures::future::LocalBoxFuture;
use serde_json::Value;
#[cfg(feature = "nexus")]
use temporal_agents_core::wire::nexus_endpoint::NexusEndpointRequest;
use temporal_agents_core::{
    drive::watch::RunWatch,
    wire::{
        ModelRequest, ToolRequest, TraceSettings, conversation::RecordRequest, mcp_call::McpRequest,
        session_call::SessionRequest, tool_batch::ToolBatchRequest,
    },
};
use temporalio_workflow::{
    ActivityExecutionError, ActivityOptions, ChildWorkflowOptions, LocalActivityOptions, TimerOptions,
    WorkflowCancellationToken,
    common::error::{ChildWorkflowExecutionError, ChildWorkflowStartError},
};
#[cfg(feature = "nexus")]
use temporalio_workflow::{
    NexusOperationOptions,
    common::{data_converters::PayloadConversionError, protos::temporal::api::failure::v1::Failure},
};

use super::{continuing::NotContinued, effect::json::Foreign, replay_journal::ReplayJournal};
use crate::workflow::{effect::json::JsonPayload, headers::ScheduledBy};

pub(super) type ActivityResult = Result<JsonPayload, ActivityExecutionError>;

/// A request to an MCP server, with the type of the activity that sends it.
pub(super) struct McpCall {
    pub(super) activity_type: String,
    pub(super) request: McpRequest,
}

/// The search attributes of a run.
pub(super) struct RunIndex {
    /// Name of the agent; `None` leaves that of before.
    pub(super) agent: Option<String>,
    pub(super) status: &'static str,
    /// Those for whom the run waits.
    pub(super) waits_for: Vec<&'static str>,
}

/// The reason why a child workflow has no result.
pub(super) enum ChildWorkflowError {
    /// The child workflow was not started.
    NotStarted(ChildWorkflowStartError),
    /// The child workflow ended without a result.
    Ended(ChildWorkflowExecutionError),
}

/// The reason why a Nexus operation has no result.
#[cfg(feature = "nexus")]
pub(super) enum NexusError {
    /// The input or the result of the operation could not be converted.
    Conversion(PayloadConversionError),
    /// The operation ended without a result, or did not start.
    Failed(Box<Failure>),
}

/// The operations of a workflow context that the durable host uses. Calls are lazy: they push their
/// command at the first poll.
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
    /// Makes several tool calls in one activity.
    fn tool_batch_activity(
        &self,
        request: ToolBatchRequest,
        options: ActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult>;
    fn local_tool_activity(
        &self,
        activity_type: String,
        request: ToolRequest,
        options: LocalActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult>;
    /// Calls an activity that does not belong to this library.
    fn foreign_activity(
        &self,
        activity_type: String,
        input: Value,
        options: ActivityOptions,
        by: ScheduledBy,
    ) -> LocalBoxFuture<'static, Result<Foreign, ActivityExecutionError>>;
    fn child_workflow(
        &self,
        workflow_type: String,
        input: Value,
        options: ChildWorkflowOptions,
        by: ScheduledBy,
    ) -> LocalBoxFuture<'static, Result<Foreign, ChildWorkflowError>>;
    /// Starts a Nexus operation with `input`, which replaces the input in `options`.
    #[cfg(feature = "nexus")]
    fn nexus_operation(
        &self,
        input: Value,
        options: NexusOperationOptions,
        by: ScheduledBy,
    ) -> LocalBoxFuture<'static, Result<Foreign, NexusError>>;
    #[cfg(feature = "nexus")]
    fn nexus_endpoint_activity(
        &self,
        request: NexusEndpointRequest,
        options: ActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult>;
    fn session_activity(
        &self,
        activity_type: String,
        request: SessionRequest,
        options: ActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult>;
    /// Sends an MCP server any request other than a tool call.
    fn mcp_activity(&self, request: McpCall, options: ActivityOptions) -> LocalBoxFuture<'static, ActivityResult>;
    /// Keeps or loads a chunk of a run's state, or loads an agent as data.
    fn state_activity(
        &self,
        activity_type: &'static str,
        request: Value,
        options: ActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult>;
    /// Waits for `duration`, or until `token` is cancelled; a cancelled workflow ends the wait only
    /// through `token`. The Temporal UI shows the summary.
    fn pause(&self, duration: Duration, summary: &str, token: WorkflowCancellationToken)
    -> LocalBoxFuture<'static, ()>;
    /// Waits for the timer; returns `false` if the wait was cancelled.
    fn timer(&self, options: TimerOptions) -> LocalBoxFuture<'static, bool>;
    /// Returns the time of the current workflow task.
    fn workflow_time(&self) -> Option<SystemTime>;
    /// Returns the next number of the random stream with this name.
    fn random(&self, stream: &str) -> u64;
    fn patched(&self, slug: &str) -> bool;
    fn is_replaying(&self) -> bool;
    /// Returns the next number of the stream from which this library draws its ids. It is separate
    /// from the author's streams, so that the author's own draws do not change.
    fn next_run_number(&self) -> u64;
    fn cancellation_token(&self) -> WorkflowCancellationToken;
    fn task_queue(&self) -> String;
    fn workflow_id(&self) -> String;
    /// Returns the id of this execution.
    fn run_id(&self) -> String;
    /// Returns the id of the first execution of the chain, which stays the same when the workflow
    /// continues as new or is reset. No other workflow of any namespace has this id.
    fn first_run_id(&self) -> String;
    /// Returns the id of the execution that continued as new into this one.
    fn continued_from(&self) -> Result<String, NotContinued>;
    /// Returns the number of events in the history, as of the current workflow task.
    fn history_length(&self) -> u32;
    /// Returns `true` if the server considers the history long enough to continue as new.
    fn continue_as_new_suggested(&self) -> bool;
    fn has_handlers_at_work(&self) -> bool;
    /// Waits until no handler is running; returns `false` if the wait was cancelled.
    fn handlers_finish(&self, token: WorkflowCancellationToken) -> LocalBoxFuture<'static, bool>;
    fn show(&self, details: String);
    /// Fails the current workflow task with this message, regardless of what the workflow does in
    /// the rest of the task.
    fn fail_task(&self, message: String);
    /// Returns the journal of a check that replays this history, if there is one.
    fn replay_journal(&self) -> Option<Rc<ReplayJournal>>;
    /// Returns the watch of a run that begins, if the worker counts.
    fn run_watch(&self) -> Option<Box<dyn RunWatch>>;
    /// Reports a note of a run with these settings to its trace, if there is one.
    fn trace_note(&self, settings: Option<&TraceSettings>);
    /// Reports the end of an outermost run with these settings to its trace, if there is one, not on
    /// replay.
    fn trace_end(&self, run: &str, settings: Option<&TraceSettings>);
    /// Sets keys of the memo, by one command of the current workflow task.
    fn upsert_memo(&self, fields: Vec<(&'static str, Value)>);
    /// Returns `true` if the workflow has the search attributes of runs, since its start.
    fn has_run_attributes(&self) -> bool;
    /// Sets the search attributes of runs, by one command of the current workflow task.
    fn index(&self, index: RunIndex);
}
