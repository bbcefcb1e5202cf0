//! The progress of a run in the Temporal UI, as the workflow's current details: the agent, the
//! turn, the tokens so far, and what the run waits for.
//!
//! # Design
//! **No command.** The SDK keeps the details in the memory of the workflow and returns them to a
//! query, so they cost no event, and a replay that computes others is still the same replay. They
//! are computed on replay too: a worker that receives an open workflow shows where it is.
//!
//! **Texts are data.** Names and arguments are in code spans and blocks that they cannot leave, and
//! all together they are short.

use std::cell::Cell;

use temporal_agents_core::{
    drive::{LoopEvent, RunFailure, RunOutcome},
    wire::{Interruption, Usage},
};

use super::WorkflowHost;
use crate::workflow::{
    effect::details::{asked_call, name},
    replay_journal::note_failure,
};

/// Maximum number of tools, and of calls that wait, that are named.
const MAX_NAMED: usize = 8;
const MAX_CALLS: usize = 4;
/// Maximum number of characters of the arguments of a call that waits.
const MAX_ARGUMENT_CHARS: usize = 1_000;

/// The tokens of a run so far, also those of earlier executions.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    read: Cell<u64>,
    written: Cell<u64>,
}

impl Tokens {
    fn add(&self, usage: &Usage) {
        self.read.set(self.read.get().saturating_add(usage.input_tokens));
        self.written.set(self.written.get().saturating_add(usage.output_tokens));
    }

    /// Returns the tokens as the end of a line; empty before the first answer.
    fn suffix(&self) -> String {
        match (self.read.get(), self.written.get()) {
            (0, 0) => String::new(),
            (read, written) => format!(" · {read} tokens in, {written} out"),
        }
    }
}

impl WorkflowHost {
    /// Counts the tokens that the run has used before this execution, or before its pause.
    pub(in crate::workflow) fn with_usage(self, before: &Usage) -> Self {
        self.tokens.add(before);
        self
    }

    /// Tells the inbox that a model has answered a call of the outermost run.
    pub(super) fn answered(&self, is_outermost: bool) {
        if let (Some(inbox), true) = (&self.inbox, is_outermost) {
            inbox.answered();
        }
    }

    /// Shows the event as the workflow's current details; counts the content of decisions.
    pub(super) fn show(&self, event: &LoopEvent<'_>) {
        match event {
            LoopEvent::TurnStarted { agent, turn } => {
                if let Some(inbox) = &self.inbox {
                    inbox.at_turn(agent, *turn);
                }
                self.at(agent, *turn, "waits for the model");
            }
            LoopEvent::ModelAnswered { response, .. } => self.tokens.add(&response.usage),
            LoopEvent::ToolsCalled { agent, turn, tools, .. } => {
                self.at(agent, *turn, &format!("runs {}", named(tools)));
            }
            LoopEvent::Paused { interruptions } => {
                self.ctx.show(format!("{}{}", asked(interruptions), self.tokens.suffix()));
            }
            LoopEvent::Resumed { state } => self.at(&state.agent, state.turn, "continues after decisions"),
            LoopEvent::Decided { bytes, .. } => self.record_content_by_second_rule(|| *bytes),
            LoopEvent::CallRefused { .. }
            | LoopEvent::ApprovalRuleFailed { .. }
            | LoopEvent::CallDenied { .. }
            | LoopEvent::DecisionNotKept { .. }
            | LoopEvent::JudgeFailed { .. }
            | LoopEvent::NotSummarized { .. }
            | LoopEvent::HandedOff { .. } => {}
        }
    }

    /// Reports the end of the run to the inbox, to the server, and a failure also to the replay
    /// journal. Questions that it leaves open are withdrawn.
    pub(in crate::workflow) fn ended<O>(&self, outcome: &Result<RunOutcome<O>, RunFailure>) {
        if let Err(failure) = outcome {
            note_failure(&*self.ctx, failure);
        }
        self.show_end(outcome);
        self.index_end(outcome);
        if let Some(inbox) = &self.inbox {
            inbox.ended(outcome);
        }
        self.record_open_questions();
    }

    /// Shows that the run has ended, or is paused without an inbox: the workflow may go on.
    fn show_end<O>(&self, outcome: &Result<RunOutcome<O>, RunFailure>) {
        let end = match outcome {
            Ok(RunOutcome::Finished(result)) => format!("{} has finished the run", name(&result.last_agent)),
            Ok(_) => "the run has paused".to_owned(),
            Err(_) => "the run has ended without an output".to_owned(),
        };
        self.ctx.show(format!("{end}{}", self.tokens.suffix()));
    }

    fn at(&self, agent: &str, turn: u32, what: &str) {
        self.ctx.show(format!("{} · turn {turn} · {what}{}", name(agent), self.tokens.suffix()));
    }
}

/// Returns names as code spans, and the number of those that are left out.
fn named(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(MAX_NAMED).map(|tool| name(tool)).collect();
    let more = match names.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    format!("{}{more}", shown.join(", "))
}

/// Describes calls that wait for people.
fn asked(interruptions: &[Interruption]) -> String {
    let calls = interruptions.iter().take(MAX_CALLS);
    let calls: Vec<String> =
        calls.map(|call| asked_call((&call.agent, &call.tool), &call.arguments(), MAX_ARGUMENT_CHARS)).collect();
    let more = match interruptions.len().saturating_sub(MAX_CALLS) {
        0 => String::new(),
        others => format!("\n\nand {others} more"),
    };
    format!("waits for an answer to\n\n{}{more}\n\n", calls.join("\n\n"))
}

#[cfg(test)]
mod tests;
