//! The calls that wait according to the facts of a history, without a worker.

use serde_json::json;
use temporal_agents_core::wire::{AgentInterruption, EventKind, RunEvent};

/// The questions that are open after the facts so far.
#[derive(Debug, Default)]
pub(in crate::http) struct AskedInHistory(Vec<(String, AgentInterruption)>);

impl AskedInHistory {
    pub(in crate::http) fn observe(&mut self, event: &RunEvent) {
        let is_of = |run: &str| event.run.is_empty() || run == event.run;
        match &event.kind {
            EventKind::QuestionAsked { question_id, .. } => {
                // A run that continues as new asks again, under another id.
                self.0.retain(|(_, asked)| asked.id != *question_id);
                self.0.extend(interruption(event).map(|asked| (event.run.clone(), asked)));
            }
            EventKind::QuestionDecided { question_id, .. } => self.0.retain(|(_, asked)| asked.id != *question_id),
            kind if kind.ends_the_run() && event.workflow.is_none() && event.path.is_empty() => {
                self.0.retain(|(run, _)| !is_of(run));
            }
            _ => {}
        }
    }

    /// Forgets all questions.
    pub(in crate::http) fn clear(&mut self) {
        self.0.clear();
    }

    pub(in crate::http) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(in crate::http) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|(_, asked)| asked.id == id)
    }

    /// Returns the open questions.
    pub(in crate::http) fn open(&self) -> Vec<AgentInterruption> {
        self.0.iter().map(|(_, asked)| asked.clone()).collect()
    }
}

/// Returns the call of a question, as far as the fact has it.
fn interruption(event: &RunEvent) -> Option<AgentInterruption> {
    let EventKind::QuestionAsked { question_id, asked_by, tool, arguments, is_cut: _, server, waits_for, expires_at } =
        &event.kind
    else {
        return None;
    };
    let call = json!({
        "id": question_id, "agent": asked_by, "tool": tool, "arguments": arguments, "server": server,
        "kind": waits_for, "expires_at": expires_at,
    });
    serde_json::from_value(call).ok()
}

#[cfg(test)]
mod tests;
