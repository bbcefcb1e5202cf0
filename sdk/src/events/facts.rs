//! What was observed of the runs of a workflow, and the facts that follow.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    activity_id::{Place, Role},
    run::ObservedRun,
};
use crate::wire::{
    AgentDecision, EventKind, HandoffSpec, Item, ItemView, ModelResponse, RecordedFailure, RunEvent,
    agent_handlers::Verdict,
    asked_questions::{AskedQuestions, PendingQuestion},
    event::{NoteKind, NotedDecision, NotedOutput, RunNote, TrippedGuardrail},
};

/// The runs of one workflow execution, or of one process, and the facts that were not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// The runs, by the prefix of the ids of their effects.
    runs: BTreeMap<String, ObservedRun>,
    /// The prefixes, in the order in which the runs began.
    order: Vec<String>,
    /// Distinguishes the ids after a reset from those before.
    suffix: String,
    now: String,
    told: Vec<RunEvent>,
}

/// The attempts at a call, as far as history holds them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attempts {
    /// Number of the last attempt, counted from 1.
    pub(crate) number: u32,
    /// Failure of the attempt before.
    pub(crate) earlier_failure: Option<RecordedFailure>,
}

/// A model call that was scheduled.
#[derive(Debug)]
pub(crate) struct ScheduledModelCall<'c> {
    /// Name of the agent; `None` if the request cannot be read.
    pub(crate) agent: Option<&'c str>,
    pub(crate) turn: u32,
    pub(crate) model: &'c str,
    /// The handoffs in its definitions, unless these are those of an earlier call.
    pub(crate) handoffs: Option<&'c [HandoffSpec]>,
    /// The whole input, as far as it is known.
    pub(crate) items: &'c [Item],
}

/// An effect of a run.
struct Effect {
    /// Prefix of the ids of the run's effects.
    run: String,
    /// Id of the call in the run: `2-model`.
    of_call: String,
    /// Id of the effect in the run: that of the call, with a suffix if it was scheduled again.
    id: String,
}

impl Facts {
    /// Sets the time of what is observed next (RFC 3339, UTC).
    pub(crate) fn at(&mut self, now: String) {
        self.now = now;
    }

    /// Distinguishes all later ids from those of this execution's copy before its reset.
    pub(crate) fn after_reset(&mut self, suffix: String) {
        self.suffix = suffix;
    }

    /// Takes the facts since the last time.
    pub(crate) fn take(&mut self) -> Vec<RunEvent> {
        std::mem::take(&mut self.told)
    }

    /// Tells that the workflow was reset.
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

    /// Observes that a model call was scheduled, under this activity id.
    pub(crate) fn model_scheduled(&mut self, id: &str, call: &ScheduledModelCall<'_>) {
        let Some(Effect { run, of_call: _, id }) = self.place(id) else { return };
        let observed = self.run(&run);
        let before = observed.agent.clone();
        let agent = call.agent.map_or_else(|| before.clone(), str::to_owned);
        if let Some(handoffs) = call.handoffs {
            observed.offers(&agent, handoffs);
        }
        let is_new_turn = call.turn != observed.turn;
        let handed_off_to = observed.hands_off_to.take();
        let has_begun = observed.has_begun;
        if has_begun {
            self.goes_on(&run);
            self.outputs(&run, call.items);
            let is_handoff = before != agent || handed_off_to.as_deref() == Some(&*agent);
            if is_new_turn && is_handoff && !before.is_empty() {
                let local = format!("{}/handoff", self.run(&run).turn);
                self.tell(&run, &local, EventKind::Handoff { from: before, to: agent.clone() });
            }
        }
        let observed = self.run(&run);
        (observed.agent, observed.turn) = (agent, call.turn);
        if !has_begun {
            self.begin(&run, call);
        }
        self.run(&run).open.clear();
        let turn = call.turn;
        if is_new_turn {
            self.tell(&run, &turn.to_string(), EventKind::TurnStarted {});
        }
        self.tell(&run, &id, EventKind::ModelCallScheduled { model: call.model.to_owned() });
        self.mark_opaque(call.agent.is_none(), 1);
    }

    /// Observes that a model has answered; `None` if the reply cannot be read.
    pub(crate) fn model_answered(&mut self, id: &str, attempts: Attempts, response: Option<&ModelResponse>) {
        let Some(Effect { run, of_call: effect, .. }) = self.place(id) else { return };
        if self.run(&run).has_ended {
            return;
        }
        let Attempts { number, earlier_failure } = attempts;
        let (output, kind) = match response {
            Some(response) => {
                let kind = EventKind::ModelCallAnswered {
                    attempts: number,
                    earlier_failure,
                    response_id: response.response_id.clone(),
                    incomplete: response.incomplete.clone(),
                    usage: response.usage.clone(),
                };
                (&*response.output, kind)
            }
            None => {
                let (response_id, incomplete, usage) = Default::default();
                let attempts = number;
                (&[][..], EventKind::ModelCallAnswered { attempts, earlier_failure, response_id, incomplete, usage })
            }
        };
        self.tell(&run, &format!("{effect}/answered"), kind);
        self.mark_opaque(response.is_none(), 1);
        self.run(&run).answered(output);
        for (index, item) in output.iter().enumerate() {
            let kind = match item.view() {
                ItemView::Message { .. } => {
                    EventKind::Message { text: item.text().unwrap_or_default(), item: item.clone() }
                }
                ItemView::Reasoning => EventKind::Reasoning { item: item.clone() },
                ItemView::FunctionCall(call) => EventKind::ToolCall {
                    call_id: call.call_id.to_owned(),
                    name: call.name.to_owned(),
                    arguments: call.arguments.clone().into_owned(),
                    item: item.clone(),
                },
                _ => EventKind::OtherItem { item: item.clone() },
            };
            self.tell(&run, &format!("{effect}/{index}"), kind);
        }
    }

    /// Observes that a model call has failed.
    pub(crate) fn model_failed(&mut self, id: &str, attempts: Attempts, failure: RecordedFailure) {
        let Some(Effect { run, id: effect, .. }) = self.place(id) else { return };
        if self.run(&run).has_ended {
            return;
        }
        let Attempts { number, earlier_failure } = attempts;
        let kind = EventKind::ModelCallFailed { attempts: number, failure, earlier_failure };
        self.tell(&run, &format!("{effect}/failed"), kind);
    }

    /// Observes that a tool activity was scheduled: a run that was resumed calls tools first.
    pub(crate) fn tool_scheduled(&mut self, id: &str, agent: &str, turn: u32) {
        let Some(Effect { run, .. }) = self.place(id) else { return };
        let observed = self.run(&run);
        if !observed.has_begun {
            (observed.agent, observed.turn) = (agent.to_owned(), turn);
        }
        self.goes_on(&run);
    }

    /// Observes the output of a tool activity; `None` if the reply cannot be read.
    pub(crate) fn tool_answered(
        &mut self,
        id: &str,
        (call_id, name): (&str, &str),
        attempts: Attempts,
        output: Option<&Value>,
    ) {
        let Some(Effect { run, of_call: effect, .. }) = self.place(id) else { return };
        if self.run(&run).has_ended {
            return;
        }
        let Attempts { number, earlier_failure } = attempts;
        let call = self.run(&run).call(call_id, name);
        call.told = Some(output.cloned().unwrap_or(Value::Null));
        call.outputs += 1;
        let kind = EventKind::ToolOutput {
            call_id: call_id.to_owned(),
            name: name.to_owned(),
            output: output.cloned().unwrap_or(Value::Null),
            attempts: number,
            earlier_failure,
        };
        self.tell(&run, &format!("{effect}/output"), kind);
        self.mark_opaque(output.is_none(), 1);
    }

    /// Observes that a tool activity has failed.
    pub(crate) fn tool_failed(
        &mut self,
        id: &str,
        (call_id, name): (&str, &str),
        attempts: Attempts,
        failure: RecordedFailure,
    ) {
        let Some(Effect { run, id: effect, .. }) = self.place(id) else { return };
        if self.run(&run).has_ended {
            return;
        }
        let Attempts { number, earlier_failure } = attempts;
        let (call_id, name) = (call_id.to_owned(), name.to_owned());
        let kind = EventKind::ToolFailed { call_id, name, attempts: number, failure, earlier_failure };
        self.tell(&run, &format!("{effect}/failed"), kind);
    }

    /// Observes what a run has recorded about itself, and the questions with which it pauses.
    pub(crate) fn noted(&mut self, note: RunNote, questions: Option<AskedQuestions>) {
        let RunNote { version: _, run, agent, turn, outputs, note } = note;
        let observed = self.run(&run);
        let (has_begun, has_ended) = (observed.has_begun, observed.has_ended);
        if has_ended {
            return;
        }
        let handed_off_to = observed.hands_off_to.take();
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
            _ if !has_begun => self.begin_from_note(&run, turn),
            _ => {}
        }
        for output in &outputs {
            self.output(&run, output);
        }
        // The next agent has not called its model: the run has ended before.
        if has_begun && !before.is_empty() && before != agent && handed_off_to.as_deref() == Some(&*agent) {
            let kind = EventKind::Handoff { from: before, to: agent };
            self.tell(&run, &format!("{earlier_turn}/handoff"), kind);
        }
        match note {
            NoteKind::Paused => self.paused(&run, questions),
            NoteKind::GuardrailTripped { guardrail } => self.tripped(&run, guardrail),
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
            NoteKind::Resumed { .. } | NoteKind::Other => {}
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

    /// Observes that the workflow continues as new.
    pub(crate) fn continued(&mut self, execution: &str) {
        for run in self.open_runs() {
            let turn = self.run(&run).turn;
            let kind = EventKind::RunContinued { execution: execution.to_owned() };
            self.tell(&run, &format!("{turn}/continued"), kind);
            self.run(&run).has_ended = true;
        }
    }

    /// Observes the end of the workflow: its open runs end with it. Without open runs, an end from
    /// outside is told of the workflow itself.
    pub(crate) fn closed(&mut self, end: &EventKind, is_from_outside: bool) {
        let is_completed = matches!(end, EventKind::RunFinished { .. });
        let mut open = self.open_runs();
        if is_completed {
            // A run that waits when its workflow completes has no output.
            open.retain(|run| !self.runs[run].is_paused);
        }
        for run in &open {
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

    /// Returns the id of an event of an item: of the message that deltas become.
    pub(crate) fn delta(&mut self, run: &str, agent: &str, turn: u32, kind: EventKind) -> RunEvent {
        let (root, path) = lineage(run);
        RunEvent { run: root, path, agent: agent.to_owned(), turn, time: self.now.clone(), ..RunEvent::new(kind) }
    }

    /// Returns the effect of an activity; `None` for an activity that is not a model call or a tool
    /// call of a run.
    fn place(&self, id: &str) -> Option<Effect> {
        let place = Place::of(id)?;
        let of_call = match place.role {
            // A summary is an effect of the run that it shortens, and no turn of it.
            Role::Model { .. } if place.run == id || place.run.ends_with("-summary") => return None,
            Role::Model { turn } => format!("{turn}-model"),
            Role::Tool { turn, index } => format!("{turn}-tool-{index}"),
            Role::Aside => return None,
        };
        let id = id.strip_prefix(place.run)?.trim_start_matches('-').to_owned();
        Some(Effect { run: place.run.to_owned(), of_call, id })
    }

    /// Ends the runs whose paused state another run continues.
    fn supersede(&mut self, by: &str, decisions: &[NotedDecision]) {
        let is_asked = |run: &ObservedRun| decisions.iter().any(|decision| run.asked.contains(&decision.id));
        for (id, run) in &mut self.runs {
            run.has_ended |= id != by && run.is_paused && is_asked(run);
        }
    }

    fn run(&mut self, run: &str) -> &mut ObservedRun {
        if !self.runs.contains_key(run) {
            let (root, path) = lineage(run);
            self.order.push(run.to_owned());
            self.runs.insert(run.to_owned(), ObservedRun { root, path, ..ObservedRun::default() });
        }
        self.runs.get_mut(run).expect("the run was inserted above")
    }

    /// Returns the outermost runs that have begun and not ended, in the order in which they began.
    fn open_runs(&self) -> Vec<String> {
        let is_open = |run: &&String| {
            let observed = &self.runs[*run];
            observed.path.is_empty() && observed.has_begun && !observed.has_ended
        };
        self.order.iter().filter(is_open).cloned().collect()
    }

    fn open_run(&self) -> Option<&String> {
        self.order.iter().rev().find(|run| self.runs[*run].path.is_empty() && !self.runs[*run].has_ended)
    }

    /// Tells that a run begins with a model call.
    fn begin(&mut self, run: &str, call: &ScheduledModelCall<'_>) {
        self.run(run).has_begun = true;
        if call.turn > 1 {
            return self.resumed(run);
        }
        // The items since the last one of a model or a tool.
        let is_new = |item: &&Item| item.get("role").is_some_and(|role| role != "assistant");
        let mut input: Vec<Item> = call.items.iter().rev().take_while(is_new).cloned().collect();
        input.reverse();
        self.tell(run, "started", EventKind::RunStarted { input });
        self.mark_opaque(call.agent.is_none(), 1);
    }

    /// Tells that a run begins, of which the first trace is a note.
    fn begin_from_note(&mut self, run: &str, turn: u32) {
        self.run(run).has_begun = true;
        if turn > 1 {
            self.resumed(run);
        } else {
            self.tell(run, "started", EventKind::RunStarted { input: Vec::new() });
        }
    }

    /// Tells that a run which has paused continues, or which an earlier execution has begun.
    fn goes_on(&mut self, run: &str) {
        let observed = self.run(run);
        if !observed.has_begun || observed.is_paused {
            observed.has_begun = true;
            self.resumed(run);
        }
    }

    fn resumed(&mut self, run: &str) {
        let observed = self.run(run);
        observed.is_paused = false;
        let local = observed.numbered("resumed");
        self.tell(run, &local, EventKind::RunResumed {});
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
        let PendingQuestion { id, agent, tool, arguments, is_cut, server, kind } = question;
        let observed = self.run(run);
        if observed.asked.contains(&id) {
            return;
        }
        observed.asked.push(id.clone());
        let local = observed.numbered("question");
        let (question_id, asked_by, waits_for) = (id, agent, kind);
        let kind = EventKind::QuestionAsked { question_id, asked_by, tool, arguments, is_cut, server, waits_for };
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

    fn tripped(&mut self, run: &str, guardrail: TrippedGuardrail) {
        let TrippedGuardrail { name, stage, tool, output_info } = guardrail;
        let observed = self.run(run);
        let local = observed.numbered("guardrail");
        self.tell(run, &local, EventKind::GuardrailTripped { guardrail: name, stage, tool, output_info });
    }

    fn ended(&mut self, run: &str, kind: EventKind) {
        self.tell(run, "ended", kind);
        let observed = self.run(run);
        (observed.has_ended, observed.is_paused) = (true, false);
    }

    /// Tells the outputs of open calls among these items, in call order.
    fn outputs(&mut self, run: &str, items: &[Item]) {
        let observed = &self.runs[run];
        let mut found: Vec<(usize, &Item)> = Vec::new();
        for item in items.iter().rev() {
            if found.len() == observed.open.len() {
                break;
            }
            let Some(call_id) = output_of(item) else { continue };
            let at = observed.open.iter().position(|call| call.call_id == call_id);
            if let Some(at) = at
                && found.iter().all(|(other, _)| *other != at)
            {
                found.push((at, item));
            }
        }
        found.sort_by_key(|(at, _)| *at);
        for (_, item) in found {
            self.output(run, item);
        }
    }

    /// Tells the output of a call, unless it was told.
    fn output(&mut self, run: &str, item: &Item) {
        let ItemView::FunctionCallOutput { call_id, output } = item.view() else { return };
        let turn = self.run(run).turn;
        let call = self.run(run).call(call_id, "");
        if call.told.as_ref() == Some(output) {
            return;
        }
        call.told = Some(output.clone());
        call.outputs += 1;
        let local = match (call.index, call.outputs) {
            (index, 1) => format!("{turn}-tool-{index}/output"),
            (index, number) => format!("{turn}-tool-{index}/output-{number}"),
        };
        let (call_id, name, output) = (call_id.to_owned(), call.name.clone(), output.clone());
        let kind = EventKind::ToolOutput { call_id, name, output, attempts: 0, earlier_failure: None };
        self.tell(run, &local, kind);
    }

    fn tell(&mut self, run: &str, local: &str, kind: EventKind) {
        let suffix = self.suffix.clone();
        let now = self.now.clone();
        let observed = self.run(run);
        let mut event = RunEvent::new(kind);
        event.id = format!("{}{suffix}", observed.root);
        for step in &observed.path {
            event.id.push('/');
            event.id.push_str(step);
        }
        event.id.push('/');
        event.id.push_str(local);
        (event.run, event.path) = (observed.root.clone(), observed.path.clone());
        (event.agent, event.turn, event.time) = (observed.agent.clone(), observed.turn, now);
        self.told.push(event);
    }

    /// Tells a fact of the workflow, which has no open run.
    fn tell_of_workflow(&mut self, local: &str, kind: EventKind) {
        let mut event = RunEvent::new(kind);
        let latest = self.order.iter().rev().find(|run| self.runs[*run].path.is_empty());
        event.run = latest.cloned().unwrap_or_default();
        event.id = format!("{}{}/workflow-{local}", event.run, self.suffix);
        event.time = self.now.clone();
        self.told.push(event);
    }

    /// Marks the latest facts as opaque.
    fn mark_opaque(&mut self, is_opaque: bool, count: usize) {
        if is_opaque {
            self.told.iter_mut().rev().take(count).for_each(|event| event.is_opaque = true);
        }
    }
}

/// Returns the outermost run that contains the run with this prefix, and the calls between them.
pub(crate) fn lineage(run: &str) -> (String, Vec<String>) {
    let mut path = Vec::new();
    let mut inner = run;
    while let Some(outer) = Place::parent(inner) {
        path.push(inner[outer.len()..].trim_start_matches('-').to_owned());
        inner = outer;
    }
    path.reverse();
    (inner.to_owned(), path)
}

/// Returns the id of the call that an item is the output of.
fn output_of(item: &Item) -> Option<&str> {
    match item.view() {
        ItemView::FunctionCallOutput { call_id, .. } => Some(call_id),
        _ => None,
    }
}

/// Returns the id of the call that a question is about: the last part of the question's id, without
/// the number of the question.
pub(crate) fn call_id_of(question: &str) -> String {
    let last = question.rsplit('/').next().unwrap_or(question);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let own = match last.rsplit_once('#') {
        Some((own, number)) if is_number(number) => own,
        _ => last,
    };
    own.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests;
