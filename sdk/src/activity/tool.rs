//! The activity that runs one tool.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use serde_json::{Map, Value};
use temporal_agents_core::{
    tool::{ActivityBody, CallInfo, Heartbeat, RunContext, StateMap, ToolContext, ToolDef, ToolError, idempotency_key},
    wire::{
        ToolOutput, ToolReply, ToolRequest, WIRE_VERSION, WireDecodeError, failure::MALFORMED_REQUEST,
        trace_settings::TRACER_DATA, version::Versioned,
    },
};
use temporalio_client::{UntypedWorkflow, WorkflowDescribeOptions, WorkflowExecutionStatus};
use temporalio_common::{error::ApplicationFailure, protos::temporal::api::enums::v1::PendingActivityState};
use temporalio_sdk::activities::{ActivityContext, ActivityError, ActivityInfo};

use super::{
    answer::{CheckedAnswer, Returned, answer, run},
    failed_attempt::ToolAttempt,
    heartbeat::HeartbeatSender,
    lost_attempt::lost_attempt,
    message::Request,
};
use crate::{
    activity::model_failure::version_mismatch,
    conversations::ConversationCache,
    deltas::{AttemptDeltas, Deltas, HeartbeatDetails},
    metrics::{Execution, Metrics},
    secret::worker_env::{AllowedEnv, Given, Withheld},
    store::OptionalSpillStore,
};

/// The time that a cancelled tool has to notice the cancellation and to clean up.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// A tool with the parts that the worker supplies to it.
pub(crate) struct ToolActivity {
    pub(crate) tool: ToolDef,
    pub(crate) body: ActivityBody,
    pub(crate) states: StateMap,
    pub(crate) conversations: ConversationCache,
    pub(crate) spills: OptionalSpillStore,
    pub(crate) env: AllowedEnv,
    pub(crate) beater: HeartbeatSender,
    pub(crate) deltas: Deltas,
    pub(crate) metrics: Option<Metrics>,
}

impl ToolActivity {
    pub(crate) async fn perform(
        &self,
        ctx: &Arc<ActivityContext>,
        request: ToolRequest,
    ) -> Result<ToolReply, ActivityError> {
        let attempt = ToolAttempt::new(ctx.info(), &request);
        if let Some(reason) = lost_attempt(ctx).await {
            attempt.warn_of_lost_attempt(&reason);
        }
        let details = HeartbeatDetails::new(ctx.info().attempt);
        let deltas = AttemptDeltas::start(&self.deltas, &request.agent, ctx, &details);
        let beat = Arc::new(Beat(Arc::clone(ctx)));
        let mut call = self.begin(ctx, request, beat, deltas).map_err(|error| {
            attempt.warn(&error);
            failed(&error)
        })?;
        let (outcome, is_late) = attempt.until_ended(self.beater.beating(ctx, &details, GRACE, call.run(self))).await;
        let call_id = call.ctx.info().call_id.clone();
        let answer = call.end(self, outcome?).await.map_err(|error| {
            if !is_late {
                attempt.warn(&error);
            }
            failed(&error)
        })?;
        let CheckedAnswer { output, context_patch, side_data } = answer;
        self.conversations.returned(ctx.info(), &ctx.info().activity_id, &call_id, &output);
        Ok(ToolReply { version: WIRE_VERSION, output, context_patch, side_data, question: None })
    }

    /// Returns the transport of the worker's deltas.
    pub(super) fn deltas(&self) -> &Deltas {
        &self.deltas
    }

    /// Begins an attempt at a call.
    ///
    /// # Errors
    /// The failure of a call whose settings refer to a variable that the tool does not receive.
    pub(super) fn begin(
        &self,
        activity: &ActivityContext,
        request: ToolRequest,
        heartbeat: Arc<dyn Heartbeat>,
        deltas: Option<Arc<AttemptDeltas>>,
    ) -> Result<BegunCall, ToolError> {
        let ToolRequest {
            version: _,
            tool,
            agent,
            turn,
            call_id,
            arguments,
            context,
            mut settings,
            idempotency_key,
            mcp: _,
            remote: _,
            schema: _,
            session_id,
            parent_call,
        } = request;
        let measured = self.metrics.as_ref().map(|metrics| metrics.execution(&tool));
        let info = activity.info();
        let key = idempotency_key.unwrap_or_else(|| key_of(info));
        let call = CallInfo::new(tool, call_id, agent, turn)
            .at_attempt(info.attempt)
            .with_idempotency_key(key)
            .with_run_id(info.workflow_id.as_deref().unwrap_or_default())
            .with_session_and_parent(session_id, parent_call)
            .with_caller_trace(activity.headers().get(TRACER_DATA).map(|header| &*header.data));
        let mut given = Given::default();
        if let Err(withheld) = self.env.fill_members(&mut settings, &mut given) {
            return Err(env_variable_error(&self.tool, &withheld));
        }
        let mut ctx = ToolContext::new(call, RunContext::new(context))
            .with_states(self.states.clone())
            .with_settings(settings)
            .with_heartbeat(heartbeat);
        if let Some(deltas) = &deltas {
            // The secrets that the tool has received come first.
            let redactions = [given.redaction()].into_iter().chain(self.tool.redaction().cloned());
            ctx = ctx.with_deltas(Some(deltas.of_tool(redactions.collect())));
        }
        Ok(BegunCall { ctx, arguments, given, deltas, measured })
    }
}

/// An attempt at a call.
pub(super) struct BegunCall {
    ctx: ToolContext,
    arguments: Map<String, Value>,
    given: Given,
    deltas: Option<Arc<AttemptDeltas>>,
    measured: Option<Execution>,
}

impl BegunCall {
    /// Runs the body.
    pub(super) async fn run(&mut self, activity: &ToolActivity) -> Result<ToolOutput, ToolError> {
        let arguments = std::mem::take(&mut self.arguments);
        run(&activity.body, &mut self.ctx, arguments).await
    }

    /// Returns the result in the form in which it leaves the worker.
    ///
    /// # Errors
    /// The failure of the call, in that form.
    pub(super) async fn end(
        self,
        activity: &ToolActivity,
        outcome: Result<ToolOutput, ToolError>,
    ) -> Result<CheckedAnswer, ToolError> {
        let Self { mut ctx, arguments: _, given, deltas, measured } = self;
        let info = ctx.info().clone();
        let side_data = ctx.take_side_data();
        let returned = Returned { outcome, patch: ctx.into_run().patch(), side_data };
        let answer = answer(&activity.tool, &activity.spills, &info, returned, &given).await;
        if let Some(measured) = measured {
            measured.end(answer.as_ref().err().map(|error| error.failure().activity_failure_type()));
        }
        let answer = answer?;
        if let Some(deltas) = deltas {
            deltas.finish().await;
        }
        Ok(answer)
    }
}

/// Returns the failure of a tool whose settings refer to a variable that it does not receive.
pub(crate) fn env_variable_error(tool: &ToolDef, withheld: &Withheld) -> ToolError {
    ToolError::failed(withheld.told(&format!("the settings of tool {:?} refer", tool.name()), "the tool"))
}

/// Returns a key that identifies an activity through all its attempts: the idempotency key of a
/// tool call whose request contains none, and the scope of an agentic session in the activity.
pub(crate) fn key_of(info: &ActivityInfo) -> String {
    let of_workflow = [&info.workflow_id, &info.workflow_run_id].map(|id| id.as_deref().unwrap_or_default());
    key([&*info.namespace, of_workflow[0], of_workflow[1], &*info.activity_id], info.activity_run_id.as_deref())
}

/// A standalone activity has no workflow; its id may be used again after it has ended, but its run
/// id may not.
fn key(activity: [&str; 4], own_run: Option<&str>) -> String {
    idempotency_key(activity.into_iter().chain(own_run))
}

/// Decodes a request, its version first.
///
/// # Errors
/// The failure of the activity.
pub(crate) fn read<T: Versioned>(
    message: &'static str,
    ctx: &ActivityContext,
    request: &Request,
) -> Result<T, ActivityError> {
    request.look(message).map_err(|error| {
        let failure = match error {
            WireDecodeError::Version(mismatch) => version_mismatch(ctx.info(), mismatch),
            error @ WireDecodeError::Malformed { .. } => {
                ApplicationFailure::builder(error).type_name(MALFORMED_REQUEST.to_owned()).non_retryable(true).build()
            }
        };
        ActivityError::Application(Box::new(failure))
    })
}

/// Returns the failure of an activity whose request names no tool that it calls.
pub(crate) fn malformed(reason: &'static str) -> ActivityError {
    let failure = ApplicationFailure::builder(reason.to_owned())
        .type_name(MALFORMED_REQUEST.to_owned())
        .non_retryable(true)
        .build();
    ActivityError::Application(Box::new(failure))
}

/// Converts the failure of a body to that of the activity. A message for the model is sent as the
/// detail of the failure; for a failure without one, the run has a message of its own.
fn failed(error: &ToolError) -> ActivityError {
    let failure = error.failure();
    let failure = ApplicationFailure::builder(failure.message.clone())
        .type_name(failure.activity_failure_type().to_owned())
        .non_retryable(!error.is_transient())
        .maybe_details(failure.detail().written())
        .build();
    ActivityError::Application(Box::new(failure))
}

struct Beat(Arc<ActivityContext>);

impl Heartbeat for Beat {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Asks the server, because the SDK does not tell why an activity is cancelled.
    fn is_cancelled_for_good(&self) -> BoxFuture<'_, bool> {
        async move {
            let Some(workflow_id) = &self.0.info().workflow_id else { return false };
            // Of the latest execution: after a reset, the activity of the new one joins the call.
            let workflow = self.0.client().get_workflow_handle::<UntypedWorkflow>(workflow_id.as_str());
            let Ok(described) = workflow.describe(WorkflowDescribeOptions::default()).await else { return false };
            if described.status() == WorkflowExecutionStatus::Running
                && self.0.info().workflow_run_id.as_deref() != Some(described.run_id())
            {
                return false;
            }
            let id = &self.0.info().activity_id;
            let pending =
                described.raw_description.pending_activities.iter().find(|pending| pending.activity_id == *id);
            pending.is_none_or(|pending| pending.state() == PendingActivityState::CancelRequested)
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
