//! The parts of an answer as events.

use temporal_agents_core::wire::EventKind;

use crate::{events::fact_id, provider::ModelDelta};

/// Makes events of the parts of one attempt at a model call.
pub(crate) struct ModelEvents {
    /// Id of the call, from which those of its items are made.
    call: String,
    attempt: u32,
    /// `true` if output guardrails check the answer: its text is not passed on.
    guards_output: bool,
}

impl ModelEvents {
    /// Creates the events of an attempt. `run` is the prefix of the ids of the run's effects.
    pub(crate) fn new(run: &str, turn: u32, attempt: u32, guards_output: bool) -> Self {
        Self { call: fact_id(run, &format!("{turn}-model")), attempt, guards_output }
    }

    /// Returns the event of a part; `None` for a part that readers do not receive.
    pub(crate) fn kind(&self, delta: ModelDelta) -> Option<EventKind> {
        let id = |index: u32| format!("{}/{index}", self.call);
        let attempt = self.attempt;
        match delta {
            // Reasoning often quotes the answer.
            ModelDelta::Text { .. } | ModelDelta::Refusal { .. } | ModelDelta::Reasoning { .. }
                if self.guards_output =>
            {
                None
            }
            ModelDelta::Text { index, delta } | ModelDelta::Refusal { index, delta } => {
                Some(EventKind::TextDelta { message_id: id(index), attempt, delta })
            }
            ModelDelta::Reasoning { index, delta } => {
                Some(EventKind::ReasoningDelta { message_id: id(index), attempt, delta })
            }
            ModelDelta::ToolArguments { index, delta, .. } => {
                Some(EventKind::ToolArgumentsDelta { message_id: id(index), attempt, delta })
            }
            _ => None,
        }
    }
}
