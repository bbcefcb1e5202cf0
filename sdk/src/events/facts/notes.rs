//! Notes of runs, and the questions and decisions of their pauses.

use serde_json::Value;
use temporal_agents_core::wire::{
    AgentDecision, EventKind, RecordedFailure, Verdict,
    asked_questions::{AskedQuestions, PendingQuestion},
    event::{FailedCallNote, GatedCallNote, NoteKind, NotedDecision, NotedOutput, RunNote, TrippedGuardrail},
};

use super::{Facts, call_id_of};
use crate::events::run::ObservedRun;

impl Facts {
    /// Observes a note of a run, and the questions with which it pauses.
    pub(crate) fn noted(&mut self, note: RunNote, questions: Option<AskedQuestions>) {
        let RunNote { version: _, run, agent, turn, outputs, trace: _, note } = note;
        if let NoteKind::SideData { calls } = note {
            for (call_id, data) in calls {
                self.run(&run).call(&call_id, "").side_data = data.into_member();
            }
            return;
        }
        if let NoteKind::Expired { decisions } = note {
            for NotedDecision { id, decision, by } in decisions {
                self.decided_by(&run, id, decision, false, by);
            }
            return;
        }
        let observed = self.run(&run);
        let (has_begun, has_ended) = (observed.has_begun, observed.has_ended);
        if has_ended {
            return;
        }
        observed.hands_off_to = None;
        self.root_goes_on(&run);
        match &note {
            NoteKind::GuardrailTripped { .. } | NoteKind::Failed { guardrail: Some(_), .. } => {
                self.answer_failed(&run, true);
            }
            NoteKind::Failed { guardrail: None, .. } | NoteKind::Cancelled { .. } => self.answer_failed(&run, false),
            _ => self.answer_passed(&run),
        }
        let observed = self.run(&run);
        let waited = observed.is_paused;
        let (before, earlier_turn) = (std::mem::replace(&mut observed.agent, agent.clone()), observed.turn);
        observed.turn = turn;
        match note {
            NoteKind::Resumed { decisions } => {
                self.supersede(&run, &decisions);
                for NotedDecision { id, decision, by } in decisions {
                    self.decided_by(&run, id, decision, false, by);
                }
                self.run(&run).has_begun = true;
                self.resumed(&run);
                return;
            }
            // A run that pauses first continues an earlier one.
            NoteKind::Paused if !has_begun => self.goes_on(&run),
            _ if !has_begun => self.begin_from_note(&run, turn),
            _ if waited => self.resumed(&run),
            _ => {}
        }
        for output in &outputs {
            self.output(&run, output);
        }
        // The next agent has not called its model: the run has ended before.
        if has_begun && !before.is_empty() && before != agent {
            let kind = EventKind::Handoff { from: before, to: agent };
            self.tell(&run, &format!("{earlier_turn}/handoff"), kind);
        }
        match note {
            NoteKind::Paused => self.paused(&run, questions),
            NoteKind::GuardrailTripped { guardrail } => self.tripped(&run, guardrail),
            NoteKind::Gated { calls } => {
                for GatedCallNote { call_id, tool, is_denied, rule, reason } in calls {
                    let local = self.run(&run).numbered("gated");
                    self.tell(&run, &local, EventKind::ToolGated { call_id, tool, is_denied, rule, reason });
                }
            }
            NoteKind::CallsFailed { calls } => {
                for FailedCallNote { call_id, tool, failure } in calls {
                    self.call_failed(&run, call_id, tool, failure);
                }
            }
            NoteKind::Compacted { before, after } => {
                let kind = EventKind::Compaction { items_before: before, items_after: after };
                self.tell(&run, &format!("{turn}/compaction"), kind);
            }
            NoteKind::Finished { output, usage } => {
                let text = self.run(&run).text.clone();
                let output = match (output, text) {
                    (NotedOutput::Text, Some(text)) => text.into(),
                    (NotedOutput::Json, Some(text)) => serde_json::from_str(&text).unwrap_or(Value::Null),
                    (NotedOutput::Value { value }, _) => value,
                    _ => Value::Null,
                };
                self.ended(&run, EventKind::RunFinished { output, usage: Some(usage) });
            }
            NoteKind::Failed { failure, guardrail, usage } => {
                if let Some(guardrail) = guardrail {
                    self.tripped(&run, guardrail);
                }
                self.ended(&run, EventKind::RunFailed { failure, usage });
            }
            NoteKind::Cancelled { usage } => self.ended(&run, EventKind::RunCancelled { usage }),
            NoteKind::Resumed { .. } | NoteKind::SideData { .. } | NoteKind::Expired { .. } | NoteKind::Other => {}
        }
    }

    /// Observes the questions of a pause without a note, in a history of an earlier release. They
    /// belong to the latest run.
    pub(crate) fn asked(&mut self, questions: AskedQuestions) {
        let latest = self.order.iter().rev().find(|run| self.runs[*run].path.is_empty()).cloned();
        if let Some(run) = latest {
            self.paused(&run, Some(questions));
        }
    }

    /// Observes a decision that the workflow has accepted.
    pub(crate) fn decided(&mut self, decision: AgentDecision) {
        let AgentDecision { version: _, interruption_id, decision, always, by } = decision;
        let asks = |run: &&String| self.runs[*run].asked.contains(&interruption_id);
        // A decision may come before its question.
        let run = self.order.iter().rev().find(asks).or_else(|| self.open_run());
        if let Some(run) = run.cloned() {
            self.decided_by(&run, interruption_id, decision, always, by);
        }
    }

    /// Ends the runs whose paused state another run continues.
    fn supersede(&mut self, by: &str, decisions: &[NotedDecision]) {
        let is_asked = |run: &ObservedRun| decisions.iter().any(|decision| run.asked.contains(&decision.id));
        for (id, run) in &mut self.runs {
            run.has_ended |= id != by && run.is_paused && is_asked(run);
        }
    }

    /// Reports that a run begins, of which the first trace is a note.
    fn begin_from_note(&mut self, run: &str, turn: u32) {
        self.run(run).has_begun = true;
        if turn > 1 {
            self.resumed(run);
        } else {
            self.tell(run, "started", EventKind::RunStarted { input: Vec::new() });
        }
    }

    fn paused(&mut self, run: &str, questions: Option<AskedQuestions>) {
        for question in questions.into_iter().flat_map(|asked| asked.questions) {
            self.question(run, question);
        }
        let observed = self.run(run);
        observed.is_paused = true;
        let local = observed.numbered("paused");
        self.tell(run, &local, EventKind::RunPaused {});
    }

    fn question(&mut self, run: &str, question: PendingQuestion) {
        let PendingQuestion { id, agent, tool, arguments, is_cut, server, kind, question: _, expires_at } = question;
        let observed = self.run(run);
        if observed.asked.contains(&id) {
            return;
        }
        observed.asked.push(id.clone());
        let local = observed.numbered("question");
        let (question_id, asked_by, waits_for) = (id, agent, kind);
        let kind =
            EventKind::QuestionAsked { question_id, asked_by, tool, arguments, is_cut, server, waits_for, expires_at };
        self.tell(run, &local, kind);
    }

    fn decided_by(&mut self, run: &str, id: String, decision: Verdict, always: bool, by: Option<String>) {
        let observed = self.run(run);
        observed.asked.retain(|asked| *asked != id);
        if !observed.path.is_empty() || !id.contains('/') {
            // The call of the question gets an output in this run, also if an earlier one made it.
            let call_id = call_id_of(&id);
            observed.call(&call_id, "");
        }
        let local = observed.numbered("decision");
        self.tell(run, &local, EventKind::QuestionDecided { question_id: id, decision, always, by });
    }

    /// Reports that a call has failed which no recorded effect shows, after the end of the run that
    /// has answered it.
    fn call_failed(&mut self, run: &str, call_id: String, name: String, failure: RecordedFailure) {
        self.run(run).call(&call_id, &name).has_failed = true;
        let own = self.effect_of_call(run, &call_id);
        self.nested_ended(run, &own, &EventKind::RunFailed { failure: failure.clone(), usage: None });
        let kind = EventKind::ToolFailed { call_id, name, attempts: 0, failure, earlier_failure: None };
        self.tell(run, &format!("{own}/failed"), kind);
    }

    fn tripped(&mut self, run: &str, guardrail: TrippedGuardrail) {
        let TrippedGuardrail { name, stage, tool, output_info } = guardrail;
        let observed = self.run(run);
        let local = observed.numbered("guardrail");
        self.tell(run, &local, EventKind::GuardrailTripped { guardrail: name, stage, tool, output_info });
    }
}
