//! One call that a provider serves: its marks, its body, its result.

use std::{future::IntoFuture, sync::Arc};

use serde_json::Value;
use temporal_agents_core::{
    tool::{ToolDef, ToolFailure, ToolFailureKind, value_of},
    wire::{SideData, ToolOutput},
};
use tokio_util::sync::CancellationToken;

use super::{Shared, leases::RunningCall, output::OutputDeltas};
use crate::{
    remote::{
        CallStreams, OUTCOME_UNKNOWN_CODE,
        message::{CallMessage, FieldIssue, ToolResultMessage},
        transport::{Append, Appended, EntryId, StreamError},
    },
    worker::tool_registry::{DispatchError, DispatchResult, Served},
};

/// Code of the error of a tool that failed.
const EXECUTION_FAILED: &str = "execution_failed";

/// Code of the error of a call that no provider has begun before its deadline.
const EXPIRED: &str = "expired";

/// Code of the error of a call that its caller has cancelled.
const CANCELLED: &str = "cancelled";

/// A call, and the terms on which it is made.
struct ServedCall {
    id: String,
    streams: CallStreams,
    /// The time after which the call is not begun, by the clock of the broker, in milliseconds since
    /// the Unix epoch.
    deadline: u64,
    /// `true` if the caller has set the deadline.
    has_deadline: bool,
    /// `true` if the call is made only while its result stream exists.
    needs_results: bool,
    /// `true` if the call must not be made twice.
    is_once: bool,
}

/// What a provider does with a call.
enum CallPlan {
    /// It makes the call.
    Make,
    /// It publishes this result, and does not make the call.
    Answer(Box<ToolResultMessage>),
    /// It skips the call, for this reason.
    Skip(&'static str),
}

impl Shared {
    /// Makes a call, publishes its result, and acknowledges the entries that requested it.
    pub(super) async fn call(self: &Arc<Self>, entry: EntryId, call: CallMessage, streams: CallStreams) {
        let id = call.tool_use_id.clone();
        let cancelled = CancellationToken::new();
        {
            let mut running = self.running();
            if let Some(running) = running.get_mut(&id) {
                // Delivered again, or requested twice: acknowledged with the call in progress.
                if !running.entries.contains(&entry) {
                    running.entries.push(entry);
                }
                return;
            }
            let call = RunningCall {
                entries: vec![entry],
                streams: streams.clone(),
                has_mark: false,
                cancelled: cancelled.clone(),
            };
            running.insert(id.clone(), call);
        }
        let running = RunningGuard { shared: Arc::clone(self), id };
        if let Err(error) = self.serve_call(entry, call, streams, &cancelled).await {
            tracing::warn!(toolset = self.toolset, call = running.id, %error, "a call cannot be served: skipped");
        }
        let entries = running.end();
        self.acknowledge(entries).await;
    }

    async fn serve_call(
        &self,
        entry: EntryId,
        call: CallMessage,
        streams: CallStreams,
        cancelled: &CancellationToken,
    ) -> Result<(), StreamError> {
        let id = call.tool_use_id.clone();
        let Some(tool) = self.registry.get(&call.tool) else {
            let known = self.registry.names().collect::<Vec<_>>().join(", ");
            let message = format!("toolset {:?} has no tool {:?}; it has: {known}", self.toolset, call.tool);
            return self.publish(&streams, &ToolResultMessage::error(id, "unknown_tool", message)).await;
        };
        let kept = u64::try_from(self.retention.as_millis()).unwrap_or(u64::MAX);
        let is_once = !tool.is_idempotent();
        let served = ServedCall {
            id,
            streams,
            deadline: call.expires_at.unwrap_or_else(|| entry.millis().saturating_add(kept)),
            has_deadline: call.expires_at.is_some(),
            needs_results: is_once || call.expires_at.is_some(),
            is_once,
        };
        let result = match self.plan(&served).await? {
            CallPlan::Make => {
                if let Some(running) = self.running().get_mut(&served.id) {
                    running.has_mark = is_once;
                }
                self.make(tool, call, &served, cancelled).await
            }
            CallPlan::Answer(result) => *result,
            CallPlan::Skip(reason) => {
                tracing::info!(toolset = self.toolset, call = served.id, reason, "a call is not made");
                return Ok(());
            }
        };
        self.publish(&served.streams, &result).await
    }

    /// Decides what to do with a call. With [`CallPlan::Make`] its mark is written.
    async fn plan(&self, call: &ServedCall) -> Result<CallPlan, StreamError> {
        let attempt = || async {
            // Asked at each attempt: the broker may have been down in between.
            let is_late = self.streams.now().await? >= call.deadline;
            let streams = &call.streams;
            let append = if is_late {
                let message = "the deadline of the call has passed before a provider has answered it";
                let result = ToolResultMessage::error(&*call.id, EXPIRED, message);
                streams.refuse(result_json(&result), self.retention)
            } else {
                let append = if call.is_once { streams.begin(self.retention) } else { streams.check_open() };
                let append = if call.needs_results { append.only_if_exists(streams.results()) } else { append };
                if call.has_deadline { streams.before_deadline(append) } else { append }
            };
            Ok((is_late, self.streams.append(append).await?))
        };
        let (is_late, appended) = self.retry_while_down("a call cannot be begun", attempt).await?;
        Ok(match appended {
            Appended::Appended if is_late => CallPlan::Skip("its deadline has passed"),
            Appended::Appended => CallPlan::Make,
            Appended::Missing => CallPlan::Skip("its caller no longer waits, or its result stream does not exist"),
            Appended::Exists if self.exists(call.streams.ended()).await? => CallPlan::Skip("it has a result"),
            // After an append whose outcome is unknown, the mark may be our own. It may as well be that
            // of another provider, so the call is not made.
            Appended::Exists if call.is_once && self.exists(call.streams.begun()).await? => {
                let message = "the call was begun by a provider that is gone: it may have taken effect";
                CallPlan::Answer(Box::new(ToolResultMessage::error(&*call.id, OUTCOME_UNKNOWN_CODE, message)))
            }
            Appended::Exists => CallPlan::Skip("its caller has given it up"),
        })
    }

    /// Makes the call, until it ends or its caller cancels it.
    async fn make(
        &self,
        tool: &ToolDef,
        call: CallMessage,
        served: &ServedCall,
        cancelled: &CancellationToken,
    ) -> ToolResultMessage {
        let trace = call.trace_context();
        let CallMessage { tool_use_id: id, payload, meta, .. } = call;
        let arguments = match payload {
            None | Some(Value::Null) => "{}".to_owned(),
            Some(payload) => payload.to_string(),
        };
        let meta = meta.unwrap_or_default();
        let results = served.streams.results();
        let base = if served.needs_results {
            Append::new().only_if_exists(results)
        } else {
            Append::new().expire_at_least(results, self.retention)
        };
        let deltas = OutputDeltas::start(&self.streams, &id, results, base);
        let call_id = if meta.tool_call_id.is_empty() { &id } else { &meta.tool_call_id };
        let dispatch = self
            .registry
            .dispatch(tool.name(), arguments)
            .call_id(call_id)
            .idempotency_key(&*id)
            // A caller in another language may send a turn id that is not a number.
            .turn(meta.turn_id.parse().unwrap_or(1))
            .served(Served { events: Some(deltas.sink()), meta, trace });
        // A call that is dropped is cancelled.
        let outcome = cancelled.run_until_cancelled(dispatch.into_future()).await;
        deltas.finish().await;
        match outcome {
            None => ToolResultMessage::error(id, CANCELLED, "the caller has cancelled the call"),
            Some(Ok(DispatchResult { output, failure: None, side_data, .. })) => {
                let SideData { server_data, bounds } = side_data;
                let result = ToolResultMessage::new(id, json_of(output)).with_server_data(server_data);
                ToolResultMessage { bounds, ..result }
            }
            Some(Ok(DispatchResult { output, failure: Some(failure), .. })) => failed(id, &failure, &output),
            Some(Err(error @ DispatchError::NeedsApproval { .. })) => {
                ToolResultMessage::error(id, "needs_approval", error.to_string())
            }
            Some(Err(error)) => {
                tracing::warn!(toolset = self.toolset, tool = tool.name(), %error, "a remote call failed");
                ToolResultMessage::error(id, EXECUTION_FAILED, "the tool failed")
            }
        }
    }

    async fn exists(&self, stream: &str) -> Result<bool, StreamError> {
        self.retry_while_down("a mark cannot be looked up", || self.streams.exists(stream)).await
    }

    /// Publishes the result of a call, unless it has one.
    async fn publish(&self, streams: &CallStreams, result: &ToolResultMessage) -> Result<(), StreamError> {
        let result = result_json(result);
        let append = || self.streams.append(streams.end(result.clone(), self.retention));
        self.retry_while_down("a result cannot be published", append).await.map(drop)
    }
}

/// A call in progress; removed from the list when it is dropped.
struct RunningGuard {
    shared: Arc<Shared>,
    id: String,
}

impl RunningGuard {
    /// Ends the call, and returns the entries that requested it.
    fn end(self) -> Vec<EntryId> {
        self.shared.running().remove(&self.id).map(|call| call.entries).unwrap_or_default()
    }
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.shared.running().remove(&self.id);
    }
}

/// Returns a result as JSON.
fn result_json(result: &ToolResultMessage) -> Vec<u8> {
    serde_json::to_vec(result).unwrap_or_else(|error| {
        let result = ToolResultMessage::error(&*result.tool_use_id, EXECUTION_FAILED, error.to_string());
        serde_json::to_vec(&result).unwrap_or_default()
    })
}

/// Returns the output as JSON.
fn json_of(output: ToolOutput) -> Value {
    match output {
        ToolOutput::Text(text) => value_of(text),
        ToolOutput::Content(parts) => Value::Array(parts),
    }
}

/// Returns the result of a call that failed.
fn failed(id: String, failure: &ToolFailure, output: &ToolOutput) -> ToolResultMessage {
    let code = match failure.kind {
        _ if !failure.code.is_empty() => &*failure.code,
        ToolFailureKind::Arguments => "invalid_arguments",
        ToolFailureKind::TimedOut => "timeout",
        ToolFailureKind::OutcomeUnknown => OUTCOME_UNKNOWN_CODE,
        _ => EXECUTION_FAILED,
    };
    // What is for the model names code and issues, which have members of their own here.
    let message = match (&failure.tell_model, failure.kind) {
        (Some(told), _) => told.clone(),
        (None, ToolFailureKind::Arguments) => failure.message.clone(),
        (None, _) => output.to_text(),
    };
    ToolResultMessage::error(id, code, message).with_issues(failure.issues.iter().map(FieldIssue::from))
}
