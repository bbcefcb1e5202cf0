//! The result of a run: finished, paused or failed.
//!
//! # Design
//! **A failed run keeps its state.** `Runner::run` fails with `RunFailure`: the `RunError`, and the
//! run's items, usage and context at its end, so that the cost of eight turns is not lost with the
//! ninth. A run whose model call failed, or that was cancelled at one, can be resumed there. One
//! that failed in the middle of a turn cannot (`Phase::Failed`): its tools would run twice.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::guard;
use crate::{
    agent::read_output,
    engine::{ReasoningItemIds, RunError, input_items},
    wire::{
        Item, NewItem, RunState, Usage,
        error_debug::{ErrorField as _, ErrorStructure, Field, structure_and_message},
        run_state::{GuardrailResults, Interruption, Rewritten},
    },
};

/// The result of a finished run; `O` is the output type of its start agent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunResult<O> {
    /// The final output.
    pub final_output: O,
    /// Name of the agent that returned the final output.
    pub last_agent: String,
    /// The input of the run, items of the session included; if a handoff rewrote it, the rewritten
    /// input.
    pub input: Vec<Item>,
    /// The items that the run added, in order.
    pub new_items: Vec<NewItem>,
    /// Number of turns, one for each model call of the run's agents; a call repeated in full counts
    /// once.
    pub turns: u32,
    /// Usage of the run's model calls, those of agents used as tools included.
    pub usage: Usage,
    /// The run context at the end.
    pub context: Map<String, Value>,
    /// The provider's id of the last response.
    pub last_response_id: Option<String>,
    /// Why the model's last answer stopped early; `None` if it is complete.
    ///
    /// The text may then be cut. The reason is `max_output_tokens`, `content_filter`,
    /// `model_context_window_exceeded`, or the provider's own word.
    pub incomplete: Option<String>,
    /// Results of the guardrails.
    pub guardrails: GuardrailResults,
    rewritten: Option<Rewritten>,
    reasoning_item_ids: ReasoningItemIds,
}

impl<O> RunResult<O> {
    /// Creates the result of a run that ended with this output in this state.
    pub fn new(final_output: O, state: RunState, reasoning_item_ids: ReasoningItemIds) -> Self {
        let RunState {
            agent,
            input,
            items,
            rewritten,
            turn,
            usage,
            context,
            last_response_id,
            incomplete,
            guardrails,
            ..
        } = state;
        Self {
            final_output,
            last_agent: agent,
            input,
            new_items: items,
            turns: turn,
            usage,
            context,
            last_response_id,
            incomplete,
            guardrails,
            rewritten,
            reasoning_item_ids,
        }
    }

    /// Returns the whole conversation as input for a following run.
    ///
    /// # Source
    /// `to_input_list()` of the OpenAI Agents SDK. After a handoff that nested the history, the
    /// earlier conversation is both in the summary and in the items.
    pub fn to_input_list(&self) -> Vec<Item> {
        to_input_list(&self.input, &self.new_items, self.rewritten.as_ref(), self.reasoning_item_ids)
    }

    /// Returns the conversation as the last agent saw it, as input for a following run.
    ///
    /// # Source
    /// `to_input_list(mode="normalized")` of the OpenAI Agents SDK.
    pub fn to_normalized_input_list(&self) -> Vec<Item> {
        to_normalized_input_list(&self.input, &self.new_items, self.rewritten.as_ref(), self.reasoning_item_ids)
    }
}

fn to_input_list(input: &[Item], items: &[NewItem], rewritten: Option<&Rewritten>, ids: ReasoningItemIds) -> Vec<Item> {
    // Items that a nested history already holds word for word are in the input, so they are not
    // repeated.
    let in_input = rewritten.map_or(&[][..], |rewritten| &*rewritten.in_input);
    let others = items.iter().enumerate().filter(|(place, _)| !in_input.contains(place)).map(|(_, item)| item);
    input.iter().cloned().chain(input_items(others, ids)).collect()
}

fn to_normalized_input_list(
    input: &[Item],
    items: &[NewItem],
    rewritten: Option<&Rewritten>,
    ids: ReasoningItemIds,
) -> Vec<Item> {
    // Items before `stands_for` are represented by the rewritten ones.
    let (first, stands_for) = rewritten.map_or((&[][..], 0), |rewritten| (&*rewritten.items, rewritten.stands_for));
    let seen = first.iter().chain(items.get(stands_for..).unwrap_or_default());
    input.iter().cloned().chain(input_items(seen, ids)).collect()
}

impl RunResult<Value> {
    /// Converts the output to an `O`, with all other fields unchanged.
    ///
    /// # Errors
    /// [`RunError::OutputType`] when the output is not an `O`.
    pub fn typed<O: DeserializeOwned>(self) -> Result<RunResult<O>, RunError> {
        let final_output = self.parse()?;
        let Self {
            final_output: _,
            last_agent,
            input,
            new_items,
            turns,
            usage,
            context,
            last_response_id,
            incomplete,
            guardrails,
            rewritten,
            reasoning_item_ids,
        } = self;
        Ok(RunResult {
            final_output,
            last_agent,
            input,
            new_items,
            turns,
            usage,
            context,
            last_response_id,
            incomplete,
            guardrails,
            rewritten,
            reasoning_item_ids,
        })
    }

    /// Parses the final output as a `T`.
    ///
    /// # Errors
    /// [`RunError::OutputType`] when the output is not a `T`, [`RunError::Panicked`] when its
    /// `Deserialize` panics. In a workflow, `.map_err(RunFailed::from)?` ends it with the error.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, RunError> {
        read(&self.final_output, &self.last_agent)
    }
}

/// Parses a final output as a `T`.
///
/// # Errors
/// [`RunError::OutputType`], or [`RunError::Panicked`] of the type's own `Deserialize`.
pub(super) fn read<T: DeserializeOwned>(output: &Value, agent: &str) -> Result<T, RunError> {
    let expected = std::any::type_name::<T>();
    let read = guard::call(|| format!("the output type {expected}"), agent, || read_output(output))?;
    read.map_err(|source| RunError::OutputType { agent: agent.to_owned(), expected, source })
}

/// The end of a run that may wait for decisions.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a run has one, which is destructured at once")]
pub enum RunOutcome<O> {
    /// The run ended with a final output.
    Finished(RunResult<O>),
    /// The run ended with calls that wait for a decision.
    Paused(PausedRun),
}

/// A run that waits for decisions. The caller reads its
/// [`interruptions`](PausedRun::interruptions), stores decisions in its
/// [`state`](PausedRun::state), and passes the state to `run`: in the same workflow execution,
/// after continue-as-new, or in another process.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PausedRun {
    /// The state of the run: one JSON value, which the caller can store and in which it records
    /// decisions.
    pub state: RunState,
    reasoning_item_ids: ReasoningItemIds,
}

impl PausedRun {
    /// Creates a paused run that waits in this state.
    pub fn new(state: RunState, reasoning_item_ids: ReasoningItemIds) -> Self {
        Self { state, reasoning_item_ids }
    }

    /// Returns the calls that wait for a decision.
    pub fn interruptions(&self) -> Vec<Interruption> {
        self.state.interruptions()
    }

    /// Returns the conversation so far as input for another run; waiting calls are in it without
    /// outputs.
    pub fn to_input_list(&self) -> Vec<Item> {
        let RunState { input, items, rewritten, .. } = &self.state;
        to_input_list(input, items, rewritten.as_ref(), self.reasoning_item_ids)
    }

    /// Returns the conversation so far as the last agent saw it.
    pub fn to_normalized_input_list(&self) -> Vec<Item> {
        let RunState { input, items, rewritten, .. } = &self.state;
        to_normalized_input_list(input, items, rewritten.as_ref(), self.reasoning_item_ids)
    }
}

/// A run that ended without a final output: the error, and the state of the run.
///
/// In a workflow, `?` ends the workflow with it, as with the [`RunError`] itself. A value with
/// [`RunError::ContinuesAsNew`] is not a failure: the workflow continues as new with it, so the
/// author has to return it, see [`continues_as_new`](Self::continues_as_new).
#[non_exhaustive]
pub struct RunFailure {
    /// The error that ended the run.
    pub error: RunError,
    /// The state of the run at its end, with its items, usage and context; `None` if the run never
    /// began.
    ///
    /// A run can be resumed from it if it failed between two turns or at a model call, whose cause
    /// may be temporary: the run continues with that call. Of a turn that failed in the middle,
    /// only the calls that ran are kept; such a state is a record, and `run` refuses it.
    pub state: Option<Box<RunState>>,
}

impl RunFailure {
    /// Creates the failure of a run in this state.
    pub fn new(error: RunError, state: Option<Box<RunState>>) -> Self {
        Self { error, state }
    }

    /// Returns `true` if nothing has failed: the run continues in the next execution of its
    /// workflow, if the author returns this value with `?`.
    pub fn continues_as_new(&self) -> bool {
        matches!(self.error, RunError::ContinuesAsNew { .. })
    }
}

impl ErrorStructure for RunFailure {
    /// Formats the state without its conversation, which would hide the rest.
    fn structure(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { error, state } = self;
        write_structure("RunFailure", error, state.as_deref(), f)
    }
}

/// Writes the structure of a failed run under the name of its type.
///
/// # Errors
/// Errors of the formatter.
pub fn write_structure(
    name: &str,
    error: &RunError,
    state: Option<&RunState>,
    f: &mut std::fmt::Formatter<'_>,
) -> std::fmt::Result {
    f.debug_struct(name).field("error", &Field(error).shown()).field("state", &state.map(StateSummary)).finish()
}

impl std::fmt::Debug for RunFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        structure_and_message(self, f)
    }
}

/// Formats the position of a run, without its conversation.
struct StateSummary<'a>(&'a RunState);

impl std::fmt::Debug for StateSummary<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let RunState { agent, turn, items, .. } = self.0;
        let mut state = f.debug_struct("RunState");
        state.field("agent", agent).field("turn", turn).field("items", &items.len()).finish_non_exhaustive()
    }
}

impl std::fmt::Display for RunFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for RunFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

impl<E: Into<RunError>> From<E> for RunFailure {
    fn from(error: E) -> Self {
        Self { error: error.into(), state: None }
    }
}
