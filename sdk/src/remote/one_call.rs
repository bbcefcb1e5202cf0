//! The common parts of a call over streams and of a call of a device: its message, its ends without
//! a result, and its cancellation.

use std::{future::Future, time::Duration};

use serde_json::{Map, Value};
use temporal_agents_core::{
    tool::{OUTCOME_UNKNOWN, ToolContext, ToolError, ToolFailure},
    wire::{SideData, ToolOutput, remote_call::RemoteTarget},
};
use tokio::time::sleep;

use super::message::{CallMessage, ToolCallMeta};

/// Time between two looks at a cancellation.
const LOOKS_AT_CANCELLATION: Duration = Duration::from_millis(250);

/// Most bytes of an entry of a result stream.
pub(super) const MAX_RESULT_BYTES: usize = 8 * 1024 * 1024;

/// Code of the error of a call whose toolset has no provider at work.
const SERVICE_UNAVAILABLE: &str = "service_unavailable";

/// Most deltas of a call that are passed on.
pub(super) const MOST_DELTAS: usize = 256;

/// The reason for which a call ends without a result.
pub(super) enum Lost {
    /// The result is lost, or did not come in time, and the call may have taken effect.
    Unknown,
    /// No result came in time, of a tool that may be called again.
    TimedOut,
    /// The call was not published.
    NotPublished(String),
    /// The call was not published, because its toolset has no provider at work.
    NoProvider,
    /// The result has this many bytes, which are too many.
    TooLarge(usize),
    /// The device is not connected, and the call has no effect that counts.
    Offline,
    /// The call was cancelled.
    Cancelled,
}

impl Lost {
    /// Returns the reason of a call without a result in time.
    pub(super) fn not_in_time(target: &RemoteTarget) -> Self {
        if target.once { Self::Unknown } else { Self::TimedOut }
    }

    /// Returns the failure of the call.
    pub(super) fn failure(&self, ctx: &ToolContext, target: &RemoteTarget) -> ToolError {
        let name = &ctx.info().tool;
        match self {
            Self::Unknown => ToolError::tell_model(OUTCOME_UNKNOWN),
            Self::TimedOut => {
                ToolError::tell_model(ToolFailure::timed_out_message(name, Duration::from_secs(target.timeout_seconds)))
            }
            Self::NotPublished(reason) => {
                let message = format!("Tool '{name}' was not called: its provider cannot be reached.");
                ToolError::tell_model(message).caused_by(reason.clone())
            }
            Self::NoProvider => {
                let toolset = &target.toolset;
                let message = format!("Tool '{name}' was not called: toolset '{toolset}' has no provider at work now.");
                ToolError::tell_model(message).code(SERVICE_UNAVAILABLE)
            }
            Self::TooLarge(bytes) => {
                let message = format!(
                    "Tool '{name}' has run, but its result of {bytes} bytes is over the limit of {MAX_RESULT_BYTES}."
                );
                ToolError::tell_model(message).code("malformed_result")
            }
            Self::Offline => {
                let message = format!("Tool '{name}' could not be called: device '{}' is offline.", target.toolset);
                ToolError::tell_model(message).code("device_offline")
            }
            // A worker that stops cancels its calls, too: the next attempt joins the call. A call
            // whose run was cancelled has no next attempt.
            Self::Cancelled => ToolError::transient("the call was cancelled, or its worker stops"),
        }
    }
}

/// Returns the id of a call, the same at all attempts, and its message.
pub(super) fn message_of(
    ctx: &ToolContext,
    target: &RemoteTarget,
    arguments: Map<String, Value>,
) -> (String, CallMessage) {
    let info = ctx.info();
    let id = info.idempotency_key().to_owned();
    let trace = info.trace_context().clone();
    #[cfg(feature = "otel")]
    let trace = trace.extract(crate::trace::propagation::current());
    let meta = ToolCallMeta {
        run_id: info.run_id().to_owned(),
        session_id: target.session_id.clone().unwrap_or_default(),
        turn_id: info.turn.to_string(),
        tool_call_id: id.clone(),
        parent_tool_call_id: target.parent_call.clone().unwrap_or_default(),
    };
    let tool = format!("{}.{}", target.toolset, target.tool);
    let payload = Some(Value::Object(arguments));
    let call = CallMessage { tool_use_id: id.clone(), tool, payload, meta: Some(meta), ..CallMessage::default() };
    (id, call.with_trace_context(trace))
}

/// Returns the output for the model, and gives the call the data for other readers.
pub(super) fn output_of(ctx: &mut ToolContext, (output, side_data): (ToolOutput, SideData)) -> ToolOutput {
    let SideData { server_data, bounds } = side_data;
    for data in server_data {
        ctx.add_server_data(data);
    }
    if let Some(bounds) = bounds {
        ctx.set_bounds(bounds);
    }
    output
}

/// Awaits a future, unless the call is cancelled meanwhile.
pub(super) async fn unless_cancelled<T>(ctx: &ToolContext, future: impl Future<Output = T>) -> Result<T, Lost> {
    let cancelled = async {
        while !ctx.is_cancelled() {
            sleep(LOOKS_AT_CANCELLATION).await;
        }
    };
    tokio::select! {
        biased;
        output = future => Ok(output),
        () = cancelled => Err(Lost::Cancelled),
    }
}
