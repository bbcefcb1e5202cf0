//! The activity that runs one tool.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError, ActivityInfo};

use super::{
    answer::{BodyFailure, Returned, answer, panic_message},
    heartbeat::HeartbeatSender,
    message::Request,
};
use crate::{
    activity::model_failure::version_mismatch,
    conversations::ConversationCache,
    secret::worker_env::{AllowedEnv, Given, Withheld},
    store::OptionalSpillStore,
};
use crate::{
    tool::{
        ActivityBody, CallInfo, Heartbeat, RunContext, StateMap, ToolContext, ToolDef, ToolError, ToolErrorKind,
        idempotency_key,
    },
    wire::{
        ToolReply, ToolRequest, WIRE_VERSION, WireDecodeError,
        failure::{MALFORMED_REQUEST, TOOL_ERROR, TOOL_FAILS_RUN, TOOL_OUTPUT_TOO_LARGE, TOOL_PANICKED},
        version::Versioned,
    },
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
}

impl ToolActivity {
    pub(crate) async fn perform(
        &self,
        ctx: &Arc<ActivityContext>,
        request: ToolRequest,
    ) -> Result<ToolReply, ActivityError> {
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
            schema: _,
        } = request;
        let key = idempotency_key.unwrap_or_else(|| key_of(ctx.info()));
        let info = CallInfo::new(tool, call_id, agent, turn).at_attempt(ctx.info().attempt).with_idempotency_key(key);
        let mut given = Given::default();
        if let Err(withheld) = self.env.fill_members(&mut settings, &mut given) {
            return Err(ActivityError::Application(Box::new(failure(&BodyFailure::Failed(env_variable_error(
                &self.tool, &withheld,
            ))))));
        }
        let mut tool_ctx = ToolContext::new(info, RunContext::new(context), self.states.clone())
            .with_settings(settings)
            .with_heartbeat(Arc::new(Beat(Arc::clone(ctx))));
        // The body is called inside the future, so that a panic before it returns its own future is
        // also caught.
        let body = AssertUnwindSafe(async { (self.body)(&mut tool_ctx, arguments).await }).catch_unwind();
        let settled = self.beater.beating(ctx, GRACE, body).await?.map_err(|panic| panic_message(&*panic));
        let info = tool_ctx.info().clone();
        let returned = Returned { settled, patch: tool_ctx.into_run().patch() };
        match answer(&self.tool, &self.spills, &info, returned, &given).await {
            Ok((output, context_patch)) => {
                self.conversations.returned(ctx.info(), &info.call_id, &output);
                Ok(ToolReply { version: WIRE_VERSION, output, context_patch, question: None })
            }
            Err(unfit) => Err(ActivityError::Application(Box::new(failure(&unfit)))),
        }
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
            error => {
                ApplicationFailure::builder(error).type_name(MALFORMED_REQUEST.to_owned()).non_retryable(true).build()
            }
        };
        ActivityError::Application(Box::new(failure))
    })
}

/// Converts a failed body to the failure of the activity. A message for the model is sent as the
/// detail of the failure; for a failure without one, the run has a message of its own.
fn failure(unfit: &BodyFailure) -> ApplicationFailure {
    let of_type = |message: &str, type_name: &str, retry: bool, tell_model: Option<String>| {
        ApplicationFailure::builder(message.to_owned())
            .type_name(type_name.to_owned())
            .non_retryable(!retry)
            .maybe_details(tell_model)
            .build()
    };
    match unfit {
        BodyFailure::Failed(error) if error.kind() == ToolErrorKind::FailRun => {
            of_type(error.message(), TOOL_FAILS_RUN, false, None)
        }
        BodyFailure::Failed(error) => {
            let tell_model = (error.kind() == ToolErrorKind::TellModel).then(|| error.message().to_owned());
            of_type(error.message(), TOOL_ERROR, error.kind() == ToolErrorKind::Transient, tell_model)
        }
        BodyFailure::Panicked(message) => of_type(message, TOOL_PANICKED, true, None),
        // The tool has run: another attempt would repeat its work and return the same amount.
        BodyFailure::TooLarge(message) => of_type(message, TOOL_OUTPUT_TOO_LARGE, false, None),
    }
}

struct Beat(Arc<ActivityContext>);

impl Heartbeat for Beat {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

#[cfg(test)]
mod tests;
