//! The messages of an answer that output guardrails check: facts only with the verdict.
//!
//! # Design
//! **An answer that is stopped is never reported.** The messages of an answer without calls, which
//! may be the output of the run, wait until the run goes on or has its output. If a guardrail trips
//! or fails, they are dropped. A local activity leaves no request in history, so it is not known
//! whether its answer is checked: it waits as well, and is dropped only if a guardrail trips.

use temporal_agents_core::wire::EventKind;

use super::Facts;
use crate::events::run::OutputCheck;

impl Facts {
    /// Records whether output guardrails check the answer of the run's next model call.
    pub(super) fn expects_verdict(&mut self, run: &str, guards_output: Option<bool>) {
        self.run(run).output_check = match guards_output {
            Some(false) => OutputCheck::None,
            Some(true) => OutputCheck::Guardrails,
            None => OutputCheck::Unknown,
        };
    }

    /// Reports an item of an answer, unless it waits for a verdict on the answer.
    pub(super) fn answer_item(&mut self, run: &str, local: &str, kind: EventKind, is_final: bool) {
        let is_message = matches!(kind, EventKind::Message { .. } | EventKind::Reasoning { .. });
        if is_final && is_message && self.run(run).output_check != OutputCheck::None {
            let event = self.event(run, local, kind);
            self.run(run).held.push(event);
        } else {
            self.tell(run, local, kind);
        }
    }

    /// Reports the messages that wait: the answer has passed.
    pub(super) fn answer_passed(&mut self, run: &str) {
        let now = self.now.clone();
        for mut event in std::mem::take(&mut self.run(run).held) {
            event.time.clone_from(&now);
            self.told.push(event);
        }
    }

    /// Drops the messages that wait, because the run has failed; `has_tripped` if a guardrail has
    /// tripped.
    pub(super) fn answer_failed(&mut self, run: &str, has_tripped: bool) {
        let observed = self.run(run);
        if has_tripped || observed.output_check == OutputCheck::Guardrails {
            observed.held.clear();
        }
        self.answer_passed(run);
    }
}
