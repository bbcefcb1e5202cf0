//! The parts of a run that the host itself accounts for: the content that history is to hold, and
//! the record of a pause.

use serde_json::Value;
use temporal_agents_core::{
    drive::watch::Seen,
    wire::{
        AgentInterruption, Item, TraceSettings,
        asked_questions::{AskedQuestions, QUESTIONS_MEMO},
        event::{NoteKind, RUN_NOTE_MEMO, RunNote},
    },
};

use super::WorkflowHost;
use crate::workflow::{continuing::ContinuableRun, inbox::RunInbox};

/// The patch of executions that record notes about their runs. It costs a marker and an update of
/// the search attribute `TemporalChangeVersion`, once for each execution.
const RUN_NOTED: &str = "temporal-agents/run-noted";

/// The patch of executions that record a pause.
const QUESTIONS_RECORDED: &str = "temporal-agents/questions-recorded";

impl WorkflowHost {
    /// Sets the settings of the run's trace.
    pub(in crate::workflow) fn with_trace(mut self, settings: &TraceSettings) -> Self {
        self.trace = (!settings.is_empty()).then(|| Box::new(settings.clone()));
        self
    }

    /// Records that an activity is about to be scheduled that puts `content` bytes into history, as
    /// far as is known. An activity that has to wait is recorded again when it is scheduled,
    /// because history is measured where commands are scheduled.
    pub(super) fn record_command(&self, content: impl FnOnce() -> usize) {
        if let Some(moving) = &self.moving {
            moving.command(&*self.ctx, self.inbox.as_ref());
        }
        self.notes(content);
    }

    /// Records that an activity has put `content` bytes into history.
    pub(super) fn notes(&self, content: impl FnOnce() -> usize) {
        self.count_content(content, ContinuableRun::add);
    }

    /// Records content that is put into history without an activity of its own, or besides the
    /// input of one: only the second rule counts it (`continuing/pace.rs`).
    pub(super) fn record_content_by_second_rule(&self, content: impl FnOnce() -> usize) {
        self.count_content(content, ContinuableRun::add_more);
    }

    /// Passes the size of content, if something counts it.
    fn count_content(&self, content: impl FnOnce() -> usize, add: impl FnOnce(&ContinuableRun, usize)) {
        if self.moving.is_none() && self.watch.is_none() {
            return;
        }
        let bytes = content();
        if let Some(moving) = &self.moving {
            add(moving, bytes);
        }
        self.see(|| Seen::Recorded { bytes });
    }

    /// Records the pause in history, with its questions and the open ones of other runs.
    ///
    /// The command separates the workflow task in which the run pauses from the next one: without
    /// it, a worker that does not have the workflow in its cache may receive both at once, the
    /// update of the second before the pause of the first, and on replay one after the other. The
    /// patch is evaluated in each execution and not kept in the state of the run, because it is a
    /// rule about this history only.
    pub(super) fn records_pause(&self, agent: &str, turn: u32, questions: Vec<AgentInterruption>) {
        if !self.ctx.patched(QUESTIONS_RECORDED) {
            return;
        }
        let note = self.pause.borrow().clone().filter(|_| self.ctx.patched(RUN_NOTED));
        let inbox = self.inbox.as_ref().filter(|_| note.is_some());
        let of_others = inbox.map(|inbox| inbox.record_pause(&questions)).unwrap_or_default();
        let asked = AskedQuestions::beside(agent, turn, questions, of_others);
        let asked = AskedQuestions { without_inbox: self.inbox.is_none(), ..asked };
        let Ok(asked) = serde_json::to_value(asked) else { return };
        let mut fields = vec![(QUESTIONS_MEMO, asked)];
        if let Some(note) = note {
            fields.extend(self.field("", note));
        }
        self.ctx.upsert_memo(fields);
    }

    /// Records the open questions of the workflow, if its memo has others.
    pub(in crate::workflow) fn record_open_questions(&self) {
        let is_stale = self.inbox.as_ref().is_some_and(RunInbox::is_stale);
        if is_stale && self.ctx.patched(RUN_NOTED) {
            self.ctx.upsert_memo(self.open_questions().into_iter().collect());
        }
    }

    /// Returns the field of the memo with the open questions, if the memo has others.
    fn open_questions(&self) -> Option<(&'static str, Value)> {
        let inbox = self.inbox.as_ref().filter(|inbox| inbox.is_stale())?;
        Some((QUESTIONS_MEMO, serde_json::to_value(inbox.unrecorded()?).ok()?))
    }

    /// Records a note about the run, or about a run inside it; that about a pause only when the run
    /// waits. What has changed of the open questions is recorded with it.
    pub(super) fn take_note(&self, path: &str, note: RunNote) {
        if note.note == NoteKind::Paused {
            self.pause.replace(Some(note));
        } else if self.ctx.patched(RUN_NOTED)
            && let Some(field) = self.field(path, note)
        {
            self.ctx.upsert_memo([field].into_iter().chain(self.open_questions()).collect());
        }
    }

    /// Returns the field of the memo. The id of the run is drawn after the patch is known: a run of
    /// an earlier release that has no effects has drawn none.
    fn field(&self, path: &str, note: RunNote) -> Option<(&'static str, Value)> {
        let run = format!("{}-{path}", self.run()).trim_end_matches('-').to_owned();
        let trace = self.trace.clone();
        self.ctx.trace_note(trace.as_deref());
        if path.is_empty() && note.note.ends_the_run() {
            self.ctx.trace_end(&run, trace.as_deref());
        }
        Some((RUN_NOTE_MEMO, serde_json::to_value(RunNote { run, trace, ..note }).ok()?))
    }

    /// Returns the total size, in bytes, of those items that have not occurred in a call of this
    /// runner.
    pub(super) fn new_bytes(&self, input: &[Item]) -> usize {
        let ledger = self.ledger.borrow();
        input.iter().filter(|item| !ledger.holds(item)).map(Item::json_len).sum()
    }
}

/// Returns the size of the items as JSON, in bytes.
pub(super) fn json_len(items: &[Item]) -> usize {
    items.iter().map(Item::json_len).sum()
}
