//! The activity that runs one tool.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::{conversations::ConversationCache, heartbeat::beating, model_activity::version_mismatch};
use crate::{
    tool::{ActivityBody, CallInfo, Heartbeat, RunContext, StateMap, ToolContext, ToolError, ToolErrorKind},
    wire::{
        ToolReply, ToolRequest, WIRE_VERSION, WireDecodeError, decode,
        failure::{MALFORMED_REQUEST, TOOL_ERROR},
    },
};

/// How long a cancelled tool has to notice and to clean up.
const GRACE: Duration = Duration::from_secs(5);

/// Most bytes that a local activity returns.
const MOST_LOCAL_BYTES: usize = 1_900_000;

/// The failure type with which the SDK answers for results that the server does not take.
const PAYLOADS_TOO_LARGE: &str = "PayloadsTooLarge";

/// A tool with what the worker supplies to it.
pub(super) struct ToolActivity {
    pub(super) body: ActivityBody,
    pub(super) states: StateMap,
    pub(super) conversations: ConversationCache,
}

impl ToolActivity {
    pub(super) async fn run(&self, ctx: &ActivityContext, request: Value) -> Result<ToolReply, ActivityError> {
        let request = match decode::<ToolRequest>("tool request", request) {
            Ok(request) => request,
            Err(WireDecodeError::Version(mismatch)) => {
                return Err(ActivityError::Application(Box::new(version_mismatch(ctx.info(), mismatch))));
            }
            Err(error) => {
                let failure = ApplicationFailure::builder(error)
                    .type_name(MALFORMED_REQUEST.to_owned())
                    .non_retryable(true)
                    .build();
                return Err(ActivityError::Application(Box::new(failure)));
            }
        };
        let ToolRequest { version: _, tool, agent, turn, call_id, arguments, context } = request;
        let info = CallInfo::new(tool, call_id, agent, turn).at_attempt(ctx.info().attempt);
        let mut tool_ctx = ToolContext::new(info, RunContext::new(context), self.states.clone())
            .with_heartbeat(Arc::new(Beat(ctx.clone())));
        let output = beating(ctx, GRACE, (self.body)(&mut tool_ctx, arguments)).await?;
        match output {
            // A local activity's result travels with the workflow task, which would fail for ever.
            Ok(output) if ctx.info().is_local && output.to_text().len() > MOST_LOCAL_BYTES => {
                let message = format!(
                    "a local activity returned {} bytes, the limit is {MOST_LOCAL_BYTES}",
                    output.to_text().len()
                );
                let failure =
                    ApplicationFailure::builder(message).type_name(PAYLOADS_TOO_LARGE.to_owned()).non_retryable(true);
                Err(ActivityError::Application(Box::new(failure.build())))
            }
            Ok(output) => {
                let call_id = tool_ctx.info().call_id.clone();
                self.conversations.returned(ctx.info(), &call_id, &output);
                Ok(ToolReply { version: WIRE_VERSION, output, context_patch: tool_ctx.into_run().patch() })
            }
            Err(error) => Err(ActivityError::Application(Box::new(failure(&error)))),
        }
    }
}

/// A text for the model travels as the failure's detail; a failure without it is told in the run's own words.
fn failure(error: &ToolError) -> ApplicationFailure {
    let tell_model = (error.kind() == ToolErrorKind::TellModel).then(|| error.message().to_owned());
    ApplicationFailure::builder(error.to_string())
        .type_name(TOOL_ERROR.to_owned())
        .non_retryable(error.kind() != ToolErrorKind::Transient)
        .maybe_details(tell_model)
        .build()
}

struct Beat(ActivityContext);

impl Heartbeat for Beat {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}
