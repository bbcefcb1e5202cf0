//! Ends of runs, and of the workflow that contains them.

use serde_json::Value;
use temporal_agents_core::wire::EventKind;

use super::Facts;

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
        let has_told_end = self.runs.values().any(|run| run.path.is_empty() && run.has_ended && !run.is_paused);
        if open.is_empty() && !is_completed && (is_from_outside || !has_told_end) {
            self.tell_of_workflow("ended", end.clone());
        }
    }

    pub(super) fn ended(&mut self, run: &str, kind: EventKind) {
        self.all_inside_ended(run, "", &kind);
        self.tell(run, "ended", kind);
        let observed = self.run(run);
        (observed.has_ended, observed.is_paused) = (true, false);
    }

    /// Reports the end of the run that has answered a call of this run, if one has: `effect` is the
    /// id of the call's effect in this run.
    pub(super) fn nested_ended(&mut self, run: &str, effect: &str, end: &EventKind) {
        let nested = format!("{run}-{effect}");
        if self.runs.get(&nested).is_some_and(|observed| observed.has_begun && !observed.has_ended) {
            self.answer_passed(&nested);
            self.ended(&nested, end.clone());
        }
    }

    /// Reports the ends of the runs that have answered calls of this run, whose outputs are known
    /// by now.
    pub(super) fn calls_ended(&mut self, run: &str) {
        self.all_inside_ended(run, "-tool-", &EventKind::RunFinished { output: Value::Null, usage: None });
    }

    /// Ends the open runs directly inside this run, if their ids contain `role`. The output of such
    /// a run is its last message.
    fn all_inside_ended(&mut self, run: &str, role: &str, end: &EventKind) {
        let outer = self.run(run).path.len();
        let is_inside = |id: &&String| {
            let inside = id.strip_prefix(run).and_then(|rest| rest.strip_prefix('-'));
            let observed = &self.runs[*id];
            observed.path.len() == outer + 1
                && observed.has_begun
                && !observed.has_ended
                && inside.is_some_and(|inside| format!("-{inside}").contains(role))
        };
        let open: Vec<String> = self.order.iter().filter(is_inside).cloned().collect();
        for nested in open {
            self.answer_passed(&nested);
            let end = match end {
                EventKind::RunFinished { .. } => {
                    let output = self.runs[&nested].text.clone().map_or(Value::Null, Value::from);
                    EventKind::RunFinished { output, usage: None }
                }
                EventKind::RunFailed { failure, .. } => EventKind::RunFailed { failure: failure.clone(), usage: None },
                EventKind::RunCancelled { .. } => EventKind::RunCancelled { usage: None },
                end => end.clone(),
            };
            self.ended(&nested, end);
        }
    }
}
