//! The deltas of tools as events, redacted.

use temporal_agents_core::{
    tool::{CallInfo, Redaction, ToolDelta, deltas::cut},
    wire::EventKind,
};

/// Returns the event of a tool's delta, redacted in this order.
pub(crate) fn tool_event(call: &CallInfo, delta: ToolDelta, redactions: &[Redaction]) -> EventKind {
    let text = |text: String| cut(redactions.iter().fold(text, |text, redaction| redaction.text(&text)));
    let (call_id, attempt) = (call.call_id.clone(), call.attempt);
    match delta {
        ToolDelta::Output { stream, text: output, fraction } => {
            let (name, delta, stream) = (call.tool.clone(), text(output), text(stream));
            EventKind::ToolOutputDelta { call_id, name, attempt, stream, delta, fraction }
        }
        ToolDelta::Emitted { name, value } => {
            let value = redactions.iter().fold(value, |value, redaction| redaction.value(value));
            EventKind::EmittedDelta { call_id, attempt, name: text(name), value }
        }
    }
}
