//! Ends of runs, and of the workflow that contains them.

use serde_json::Value;

use super::Facts;
use crate::wire::EventKind;

impl Facts {
    /// Reports that the workflow was reset.
    pub(crate) fn reset(&mut self, execution: &str, reason: &str) {
        let kind = || EventKind::RunReset { execution: execution.to_owned(), reason: reason.to_owned() };
        let open = self.open_runs();
        for run in &open {
            self.tell(run, "reset", kind());
        }
        if open.is_empty() {
            self.tell_of_workflow("reset", kind());
        }
    }

    /// Observes that the workflow continues as new.
    pub(crate) fn continued(&mut self, execution: &str) {
        for run in self.open_runs() {
            self.answer_passed(&run);
            let turn = self.run(&run).turn;
            let kind = EventKind::RunContinued { execution: execution.to_owned() };
            self.tell(&run, &format!("{turn}/continued"), kind);
            self.run(&run).has_ended = true;
        }
    }

    /// Observes the end of the workflow: its open runs end with it. Without open runs, an end from
    /// outside is reported for the workflow.
    pub(crate) fn closed(&mut self, end: &EventKind, is_from_outside: bool) {
        let is_completed = matches!(end, EventKind::RunFinished { .. });
        let mut open = self.open_runs();
        if is_completed {
            // A run that waits when its workflow completes has no output.
            open.retain(|run| !self.runs[run].is_paused);
        }
        for run in &open {
            if is_completed {
                self.answer_passed(run);
            } else {
                self.answer_failed(run, false);
            }
            let kind = match (end, &self.runs[run].text) {
                // The run has left no note: its last message is its output.
                (EventKind::RunFinished { output: Value::Null, usage: None }, Some(text)) => {
                    EventKind::RunFinished { output: text.clone().into(), usage: None }
                }
                _ => end.clone(),
            };
            self.ended(run, kind);
        }
        let has_told_end = self.runs.values().any(|run| run.has_ended && !run.is_paused);
        if open.is_empty() && !is_completed && (is_from_outside || !has_told_end) {
            self.tell_of_workflow("ended", end.clone());
        }
    }

    pub(super) fn ended(&mut self, run: &str, kind: EventKind) {
        self.tell(run, "ended", kind);
        let observed = self.run(run);
        (observed.has_ended, observed.is_paused) = (true, false);
    }
}
