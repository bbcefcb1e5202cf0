//! One run of agents: its input and configuration, its result, its failure, and its session.
//!
//! These names are common to all hosts: a workflow's `Runner`, an `InlineRunner`,
//! an `AgenticSession`.

pub use crate::{
    drive::{
        CallModelInputFilter, Compaction, ErrorHandler, ErrorHandlers, Handled, HandledError, HistoryMapper, IntoRun,
        MemorySession, ModelInput, NameCollisions, PausedRun, RunConfig, RunFailure, RunInput, RunOutcome, RunRequest,
        RunResult, SessionInputCallback, SessionRef, ToolErrorFormatter, ToolErrorMessage, ToolErrorMessageKind,
    },
    engine::{IncompleteAnswers, ReasoningItemIds, RunError, StateIssue, StateMismatch, UnknownTools},
};
