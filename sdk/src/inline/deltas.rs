//! The deltas of tools, passed to the subscriber of the run's events.

use std::sync::Arc;

use temporal_agents_core::tool::{CallInfo, DeltaTransport, Redaction, ToolDelta};

use crate::{deltas::tool_event, events::EventPublisher};

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
}

impl DeltaTransport for DeltaPublisher {
    fn send(&self, call: &CallInfo, delta: ToolDelta) {
        let kind = tool_event(call, delta, &self.redactions);
        self.publisher.delta(&self.path, &call.agent, call.turn, kind);
    }
}
