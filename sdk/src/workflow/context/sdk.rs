//! The workflow context of the Temporal SDK as a [`DurableContext`].

use std::{
    rc::Rc,
    time::{Duration, SystemTime},
};

use futures::{FutureExt, future::LocalBoxFuture};
use serde_json::Value;
#[cfg(feature = "nexus")]
use temporal_agents_core::wire::nexus_endpoint::NexusEndpointRequest;
use temporal_agents_core::{
    drive::watch::RunWatch,
    wire::{
        ModelRequest, ToolRequest, TraceSettings,
        conversation::RecordRequest,
        run_attributes::{AGENT_ATTRIBUTE, STATUS_ATTRIBUTE, WAITS_FOR_ATTRIBUTE},
        session_call::SessionRequest,
        tool_batch::ToolBatchRequest,
    },
};
use temporalio_workflow::{
    ActivityExecutionError, ActivityOptions, ChildWorkflowOptions, LocalActivityOptions, MemoValue, TimerOptions,
    TimerResult, WaitConditionOptions, WorkflowCancellationToken, WorkflowContext,
    common::search_attributes::{SearchAttributeKey, SearchAttributeUpdate},
};
#[cfg(feature = "nexus")]
use temporalio_workflow::{
    NexusOperationOptions,
    common::{
        data_converters::{
            GenericPayloadConverter, NexusSerializationContext, SerializationContext, SerializationContextData,
        },
        protos::coresdk::nexus::nexus_operation_result::Status,
    },
};

use super::{
    ActivityResult, ChildWorkflowError, DurableContext, McpCall, RunIndex,
    definitions::{
        ExternalActivity, ExternalWorkflow, McpActivity, ModelActivity, RecordActivity, SessionActivity, StateActivity,
        ToolActivity, ToolBatchActivity,
    },
};
#[cfg(feature = "nexus")]
use super::{NexusError, definitions::NexusEndpointActivity};
use crate::workflow::{
    continuing::{NotContinued, continued_from},
    effect::json::Foreign,
    headers::{ScheduledBy, SpansKey, ToolCallKey},
    replay_journal::{ReplayJournal, ReplayJournalKey},
    watch_key::RunWatchKey,
};

const AGENT: SearchAttributeKey<String> = SearchAttributeKey::keyword(AGENT_ATTRIBUTE);
const STATUS: SearchAttributeKey<String> = SearchAttributeKey::keyword(STATUS_ATTRIBUTE);
const WAITS_FOR: SearchAttributeKey<Vec<String>> = SearchAttributeKey::keyword_list(WAITS_FOR_ATTRIBUTE);

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

    fn tool_batch_activity(
        &self,
        request: ToolBatchRequest,
        options: ActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult> {
        let ctx = self.clone();
        async move { ctx.execute_activity(ToolBatchActivity, request, options).await }.boxed_local()
    }

    fn local_tool_activity(
        &self,
        activity_type: String,
        request: ToolRequest,
        options: LocalActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult> {
        let ctx = self.clone();
        async move { ctx.execute_local_activity(ToolActivity(activity_type), request, options).await }.boxed_local()
    }

    fn foreign_activity(
        &self,
        activity_type: String,
        input: Value,
        options: ActivityOptions,
        by: ScheduledBy,
    ) -> LocalBoxFuture<'static, Result<Foreign, ActivityExecutionError>> {
        let ctx = self.clone();
        let call = async move { ctx.execute_activity(ExternalActivity(activity_type), input, options).await };
        self.with_context_value::<ToolCallKey, _>(by, call).boxed_local()
    }

    fn child_workflow(
        &self,
        workflow_type: String,
        input: Value,
        options: ChildWorkflowOptions,
        by: ScheduledBy,
    ) -> LocalBoxFuture<'static, Result<Foreign, ChildWorkflowError>> {
        let ctx = self.clone();
        let call = async move {
            let started = ctx.start_child_workflow(ExternalWorkflow(workflow_type), input, options).await;
            started.map_err(ChildWorkflowError::NotStarted)?.result().await.map_err(ChildWorkflowError::Ended)
        };
        self.with_context_value::<ToolCallKey, _>(by, call).boxed_local()
    }

    #[cfg(feature = "nexus")]
    fn nexus_operation(
        &self,
        input: Value,
        mut options: NexusOperationOptions,
        by: ScheduledBy,
    ) -> LocalBoxFuture<'static, Result<Foreign, NexusError>> {
        let ctx = self.clone();
        let call = async move {
            let converter = ctx.payload_converter();
            let data = SerializationContextData::Nexus(NexusSerializationContext::new());
            let conversion = SerializationContext::new(&data, converter);
            options.input = Some(converter.to_payload(&conversion, &input).map_err(NexusError::Conversion)?);
            let started =
                ctx.start_nexus_operation(options).await.map_err(|failure| NexusError::Failed(failure.into()))?;
            match started.result().await.status {
                // An operation without a result leaves no payload, or an empty one.
                None => Ok(Foreign::nothing()),
                Some(Status::Completed(payload)) if payload.metadata.is_empty() => Ok(Foreign::nothing()),
                Some(Status::Completed(payload)) => {
                    converter.from_payload(&conversion, payload).map_err(NexusError::Conversion)
                }
                Some(Status::Failed(failure) | Status::Cancelled(failure) | Status::TimedOut(failure)) => {
                    Err(NexusError::Failed(failure.into()))
                }
            }
        };
        self.with_context_value::<ToolCallKey, _>(by, call).boxed_local()
    }

    #[cfg(feature = "nexus")]
    fn nexus_endpoint_activity(
        &self,
        request: NexusEndpointRequest,
        options: ActivityOptions,
    ) -> LocalBoxFuture<'static, ActivityResult> {
        let ctx = self.clone();
        async move { ctx.execute_activity(NexusEndpointActivity, request, options).await }.boxed_local()
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

    fn mcp_activity(&self, request: McpCall, options: ActivityOptions) -> LocalBoxFuture<'static, ActivityResult> {
        let (ctx, McpCall { activity_type, request }) = (self.clone(), request);
        async move { ctx.execute_activity(McpActivity(activity_type), request, options).await }.boxed_local()
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

    fn pause(
        &self,
        duration: Duration,
        summary: &str,
        token: WorkflowCancellationToken,
    ) -> LocalBoxFuture<'static, ()> {
        let ctx = self.clone();
        let options = TimerOptions::builder(duration).cancellation_token(token).summary(summary.to_owned()).build();
        async move {
            let _ = ctx.timer(options).await;
        }
        .boxed_local()
    }

    fn timer(&self, options: TimerOptions) -> LocalBoxFuture<'static, bool> {
        let ctx = self.clone();
        async move { matches!(ctx.timer(options).await, TimerResult::Fired) }.boxed_local()
    }

    fn workflow_time(&self) -> Option<SystemTime> {
        WorkflowContext::workflow_time(self)
    }

    fn random(&self, stream: &str) -> u64 {
        self.random_stream(stream).random()
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

    fn workflow_id(&self) -> String {
        WorkflowContext::workflow_id(self).to_owned()
    }

    fn run_id(&self) -> String {
        WorkflowContext::run_id(self).to_owned()
    }

    fn first_run_id(&self) -> String {
        self.info().first_execution_run_id().to_owned()
    }

    fn continued_from(&self) -> Result<String, NotContinued> {
        continued_from(&self.info())
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

    fn fail_task(&self, message: String) {
        self.force_task_fail(message);
    }

    fn replay_journal(&self) -> Option<Rc<ReplayJournal>> {
        self.context_value::<ReplayJournalKey>()
    }

    fn run_watch(&self) -> Option<Box<dyn RunWatch>> {
        Some(self.context_value::<RunWatchKey>()?())
    }

    fn trace_note(&self, settings: Option<&TraceSettings>) {
        if let Some(spans) = self.context_value::<SpansKey>() {
            spans.noted(settings);
        }
    }

    fn trace_end(&self, run: &str, settings: Option<&TraceSettings>) {
        if !self.is_replaying_history_events()
            && let Some(spans) = self.context_value::<SpansKey>()
        {
            spans.run_ended(run, settings);
        }
    }

    fn upsert_memo(&self, fields: Vec<(&'static str, Value)>) {
        let fields = fields.into_iter().map(|(key, value)| (key, Some(MemoValue::new(value))));
        let upserted = WorkflowContext::upsert_memo(self, fields);
        if let Err(error) = upserted
            && !self.is_replaying_history_events()
        {
            tracing::warn!(%error, "the payload converter does not take JSON, so the memo is not set");
        }
    }

    fn has_run_attributes(&self) -> bool {
        self.search_attributes().contains_key(&STATUS)
    }

    fn index(&self, RunIndex { agent, status, waits_for }: RunIndex) {
        let waits_for = WAITS_FOR.value_set(waits_for.into_iter().map(str::to_owned).collect());
        let agent: Option<SearchAttributeUpdate> = agent.map(|agent| AGENT.value_set(agent));
        self.upsert_search_attributes(agent.into_iter().chain([STATUS.value_set(status.to_owned()), waits_for]));
    }
}
