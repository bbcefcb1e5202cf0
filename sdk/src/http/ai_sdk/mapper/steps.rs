//! The chunks that are ready, and the step that is under way.

use std::mem;

use super::Version;
use crate::http::ai_sdk::chunk::Chunk;

/// The chunks that are ready, and the step that is under way.
pub(super) struct Steps {
    pub(super) version: Version,
    ready: Vec<Chunk>,
    /// Number of the turn that is the current step; 0 if it is not known.
    turn: u32,
    step: Option<Step>,
}

/// A step that has begun.
#[derive(Default)]
struct Step {
    /// The complete parts, to send again after a reset of the step; only in version 7.
    kept: Vec<Chunk>,
    /// Ids of the complete parts; only in version 6.
    told: Vec<String>,
    /// `true` if a reset of the workflow has removed all parts: the next turn continues the step.
    is_blank: bool,
}

impl Steps {
    pub(super) fn new(version: Version) -> Self {
        Self { version, ready: Vec::new(), turn: 0, step: None }
    }

    /// Takes the chunks that are ready.
    pub(super) fn take(&mut self) -> Vec<Chunk> {
        mem::take(&mut self.ready)
    }

    /// Sends a chunk that a reset of the step makes void.
    pub(super) fn send(&mut self, chunk: Chunk) {
        self.ready.push(chunk);
    }

    /// Sends a chunk, also again after a reset of the step.
    pub(super) fn keep(&mut self, chunk: Chunk) {
        self.note(chunk.clone());
        self.ready.push(chunk);
    }

    /// Keeps a chunk whose content was sent before, in other chunks.
    pub(super) fn note(&mut self, chunk: Chunk) {
        let Some(step) = &mut self.step else { return };
        if self.version == Version::V7 {
            step.is_blank = false;
            step.kept.push(chunk);
        } else if let Chunk::TextEnd { id }
        | Chunk::ReasoningEnd { id }
        | Chunk::ToolInputAvailable { tool_call_id: id, .. } = chunk
        {
            step.told.push(id);
        }
    }

    /// Returns `true` for a turn before the current one, whose deltas come too late.
    pub(super) fn is_past(&self, turn: u32) -> bool {
        turn < self.turn
    }

    /// Returns `true` if content of this turn begins a step.
    pub(super) fn begins(&self, turn: u32) -> bool {
        self.step.as_ref().is_none_or(|step| turn > self.turn && !step.is_blank)
    }

    /// Continues the step with content of this turn, or begins one. The parts of the step before
    /// must be complete.
    pub(super) fn enter(&mut self, turn: u32) {
        if self.begins(turn) {
            self.finish();
            self.step = Some(Step::default());
            self.ready.push(Chunk::StartStep);
        }
        self.turn = self.turn.max(turn);
        if let Some(step) = &mut self.step {
            step.is_blank = false;
        }
    }

    /// Ends the step.
    pub(super) fn finish(&mut self) {
        if self.step.take().is_some() {
            self.ready.push(Chunk::FinishStep);
        }
    }

    /// Removes the parts of the step that are not complete.
    pub(super) fn reset(&mut self) {
        if let Some(step) = &self.step {
            self.ready.push(Chunk::ResetStep);
            self.ready.extend(step.kept.iter().cloned());
        }
    }

    /// Takes back the step, because the run continues from an earlier event: in version 7 its parts
    /// are removed. Returns the ids of the parts that remain.
    pub(super) fn rewind(&mut self) -> Vec<String> {
        self.turn = 0;
        let Some(step) = &mut self.step else { return Vec::new() };
        if self.version == Version::V7 && !step.is_blank {
            *step = Step { is_blank: true, ..Step::default() };
            self.ready.push(Chunk::ResetStep);
        }
        mem::take(&mut step.told)
    }
}
