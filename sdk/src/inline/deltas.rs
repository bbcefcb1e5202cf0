//! The deltas of tools, passed to the subscriber of the run's events.

use std::sync::Arc;

use crate::{
    events::EventPublisher,
    tool::{CallInfo, DeltaTransport, Redaction, ToolDelta, deltas::cut},
    wire::EventKind,
};

/// Passes the deltas of the calls of one run, redacted.
pub(crate) struct DeltaPublisher {
    publisher: Arc<EventPublisher>,
    /// Path of the nested run; empty for the outermost run.
    path: String,
    redactions: Vec<Redaction>,
}

impl DeltaPublisher {
    pub(crate) fn new(publisher: &Arc<EventPublisher>, path: &str, redaction: Option<&Redaction>) -> Self {
        let redactions = redaction.cloned().into_iter().collect();
        Self { publisher: Arc::clone(publisher), path: path.to_owned(), redactions }
    }

    /// Adds the redaction of the secrets that the tool has received; it comes first.
    pub(crate) fn with_secrets(mut self, secrets: Redaction) -> Self {
        self.redactions.insert(0, secrets);
        self
    }

    fn text(&self, text: String) -> String {
        cut(self.redactions.iter().fold(text, |text, redaction| redaction.text(&text)))
    }
}

impl DeltaTransport for DeltaPublisher {
    fn send(&self, call: &CallInfo, delta: ToolDelta) {
        let (call_id, attempt) = (call.call_id.clone(), call.attempt);
        let kind = match delta {
            ToolDelta::Output { stream, text, fraction } => {
                let (name, delta, stream) = (call.tool.clone(), self.text(text), self.text(stream));
                EventKind::ToolOutputDelta { call_id, name, attempt, stream, delta, fraction }
            }
            ToolDelta::Emitted { name, value } => {
                let value = self.redactions.iter().fold(value, |value, redaction| redaction.value(value));
                EventKind::EmittedDelta { call_id, attempt, name: self.text(name), value }
            }
        };
        self.publisher.delta(&self.path, &call.agent, call.turn, kind);
    }
}
