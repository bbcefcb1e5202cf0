//! One call that a provider serves: its marks, its body, its result.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::sleep;

use super::{PAUSE, Shared, output::OutputDeltas};
use crate::{
    remote::{
        OUTCOME_UNKNOWN_CODE,
        message::{CallMessage, FieldIssue, RESULT_EVENT, ToolResultMessage, result_stream},
        transport::{Append, Appended, EntryId},
    },
    tool::{ToolDef, ToolFailure, ToolFailureKind, value_of},
    wire::{SideData, ToolOutput},
    worker::tool_registry::{DispatchError, DispatchResult, Served},
};

/// Code of the error of a tool that failed.
const EXECUTION_FAILED: &str = "execution_failed";

impl Shared {
    /// Makes a call, publishes its result, and acknowledges the entries that requested it.
    pub(super) async fn call(self: &Arc<Self>, entry: EntryId, call: CallMessage) {
        let id = call.tool_use_id.clone();
        {
            let mut running = self.running();
            if let Some(entries) = running.get_mut(&id) {
                // Delivered again, or requested twice: acknowledged with the call in progress.
                if !entries.contains(&entry) {
                    entries.push(entry);
                }
                return;
            }
            running.insert(id.clone(), vec![entry]);
        }
        let running = Running { shared: Arc::clone(self), id };
        if !self.has_ended(&running.id).await {
            let result = self.result(call).await;
            self.publish(&running.id, result).await;
        }
        let entries = running.end();
        self.acknowledge(entries).await;
    }

    async fn result(&self, call: CallMessage) -> ToolResultMessage {
        let id = call.tool_use_id.clone();
        let Some(tool) = self.registry.get(&call.tool) else {
            let known = self.registry.names().collect::<Vec<_>>().join(", ");
            let message = format!("toolset {:?} has no tool {:?}; it has: {known}", self.toolset, call.tool);
            return ToolResultMessage::error(id, "unknown_tool", message);
        };
        if !tool.is_idempotent() && !self.begins(&id).await {
            let message = "the call was begun by a provider that is gone: it may have taken effect";
            return ToolResultMessage::error(id, OUTCOME_UNKNOWN_CODE, message);
        }
        self.made(tool, call).await
    }

    /// Makes the call.
    async fn made(&self, tool: &ToolDef, call: CallMessage) -> ToolResultMessage {
        let trace = call.trace_context();
        let CallMessage { tool_use_id: id, payload, meta, .. } = call;
        let arguments = match payload {
            None | Some(Value::Null) => "{}".to_owned(),
            Some(payload) => payload.to_string(),
        };
        let meta = meta.unwrap_or_default();
        let deltas = OutputDeltas::start(&self.streams, &id);
        let call_id = if meta.tool_call_id.is_empty() { &id } else { &meta.tool_call_id };
        let dispatch = self
            .registry
            .dispatch(tool.name(), arguments)
            .call_id(call_id)
            .idempotency_key(&*id)
            // A caller in another language may send a turn id that is not a number.
            .turn(meta.turn_id.parse().unwrap_or(1))
            .served(Served { events: Some(deltas.sink()), meta, trace });
        let outcome = dispatch.await;
        deltas.finish().await;
        match outcome {
            Ok(DispatchResult { output, failure: None, side_data: SideData { server_data, bounds }, .. }) => {
                let result = ToolResultMessage::new(id, json_of(output)).with_server_data(server_data);
                ToolResultMessage { bounds, ..result }
            }
            Ok(DispatchResult { output, failure: Some(failure), .. }) => failed(id, &failure, &output),
            Err(error @ DispatchError::NeedsApproval { .. }) => {
                ToolResultMessage::error(id, "needs_approval", error.to_string())
            }
            Err(error) => {
                tracing::warn!(toolset = self.toolset, tool = tool.name(), %error, "a remote call failed");
                ToolResultMessage::error(id, EXECUTION_FAILED, "the tool failed")
            }
        }
    }

    /// Marks that the body of a call begins; `false` if another provider has begun it.
    async fn begins(&self, id: &str) -> bool {
        let mark = format!("{}:begun", result_stream(id));
        loop {
            let append = || {
                Append::new()
                    .unless_exists(&*mark)
                    .entry(&*mark, "begun", b"{}".to_vec())
                    .expire(&*mark, self.retention)
            };
            match self.streams.append(append()).await {
                Ok(Appended::Appended) => return true,
                // After an append whose outcome is unknown, the mark may be our own. It may as well
                // be that of another provider, so the call is not made.
                Ok(Appended::Exists) => return false,
                Err(error) => {
                    tracing::warn!(toolset = self.toolset, %error, "a call cannot be marked as begun");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Returns `true` if the call has a result.
    async fn has_ended(&self, id: &str) -> bool {
        loop {
            match self.streams.exists(&ended_mark(id)).await {
                Ok(ended) => return ended,
                Err(error) => {
                    tracing::warn!(toolset = self.toolset, %error, "a result cannot be looked up");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Publishes the result of a call, unless it has one.
    async fn publish(&self, id: &str, result: ToolResultMessage) {
        let (results, mark) = (result_stream(id), ended_mark(id));
        let payload = serde_json::to_vec(&result).unwrap_or_else(|error| {
            let result = ToolResultMessage::error(id, EXECUTION_FAILED, error.to_string());
            serde_json::to_vec(&result).unwrap_or_default()
        });
        loop {
            let append = Append::new()
                .unless_exists(&*mark)
                .entry(&*mark, "ended", b"{}".to_vec())
                .expire(&*mark, self.retention)
                .entry(&*results, RESULT_EVENT, payload.clone())
                .expire(&*results, self.retention);
            match self.streams.append(append).await {
                Ok(_) => return,
                Err(error) => {
                    tracing::warn!(toolset = self.toolset, %error, "a result cannot be published");
                    sleep(PAUSE).await;
                }
            }
        }
    }
}

/// A call in progress; removed from the list when it is dropped.
struct Running {
    shared: Arc<Shared>,
    id: String,
}

impl Running {
    /// Ends the call, and returns the entries that requested it.
    fn end(self) -> Vec<EntryId> {
        self.shared.running().remove(&self.id).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.running().remove(&self.id);
    }
}

fn ended_mark(id: &str) -> String {
    format!("{}:ended", result_stream(id))
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
