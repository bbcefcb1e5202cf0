//! What a run gives back.
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

/// What a finished run gives back; `O` is the output type of its start agent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunResult<O> {
    /// The final output.
    pub final_output: O,
    /// The agent that gave it.
    pub last_agent: String,
    /// What the run was started with, session included; what a handoff made of it, where one did.
    pub input: Vec<Item>,
    /// What happened in the run, in order.
    pub new_items: Vec<NewItem>,
    /// Model calls made.
    pub turns: u32,
    /// What they used, those of agents used as tools included.
    pub usage: Usage,
    /// The run context at the end.
    pub context: Map<String, Value>,
    /// The provider's id of the last response.
    pub last_response_id: Option<String>,
    /// What the guardrails found.
    pub guardrails: GuardrailResults,
    rewritten: Option<Rewritten>,
    reasoning_item_ids: ReasoningItemIds,
}

impl<O> RunResult<O> {
    /// The result of a run that ended with this output in this state.
    pub fn new(final_output: O, state: RunState, reasoning_item_ids: ReasoningItemIds) -> Self {
        let RunState { agent, input, items, rewritten, turn, usage, context, last_response_id, guardrails, .. } = state;
        Self {
            final_output,
            last_agent: agent,
            input,
            new_items: items,
            turns: turn,
            usage,
            context,
            last_response_id,
            guardrails,
            rewritten,
            reasoning_item_ids,
        }
    }

    /// The whole conversation as input for a run that follows.
    ///
    /// # Source
    /// `to_input_list()` of the OpenAI Agents SDK. After a handoff that nested the history, what was said before it stands in
    /// the summary and in the items.
    pub fn to_input_list(&self) -> Vec<Item> {
        to_input_list(&self.input, &self.new_items, self.rewritten.as_ref(), self.reasoning_item_ids)
    }

    /// The conversation as the last agent saw it, as input for a run that follows.
    ///
    /// # Source
    /// `to_input_list(mode="normalized")` of the OpenAI Agents SDK.
    pub fn to_normalized_input_list(&self) -> Vec<Item> {
        to_normalized_input_list(&self.input, &self.new_items, self.rewritten.as_ref(), self.reasoning_item_ids)
    }
}

fn to_input_list(input: &[Item], items: &[NewItem], rewritten: Option<&Rewritten>, ids: ReasoningItemIds) -> Vec<Item> {
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
    let (first, stands_for) = rewritten.map_or((&[][..], 0), |rewritten| (&*rewritten.items, rewritten.stands_for));
    let seen = first.iter().chain(items.get(stands_for..).unwrap_or_default());
    input.iter().cloned().chain(input_items(seen, ids)).collect()
}

impl RunResult<Value> {
    /// The same result with its output as an `O`.
    ///
    /// # Errors
    /// [`RunError::OutputType`] when it is no `O`.
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
            guardrails,
            rewritten,
            reasoning_item_ids,
        })
    }

    /// The final output as a `T`.
    ///
    /// # Errors
    /// [`RunError::OutputType`] when it is no `T`, [`RunError::Panicked`] when reading it panics, so that `?` ends a workflow
    /// with it.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, RunError> {
        read(&self.final_output, &self.last_agent)
    }
}

/// A final output as a `T`.
///
/// # Errors
/// [`RunError::OutputType`], or [`RunError::Panicked`] of the type's own `Deserialize`.
pub(super) fn read<T: DeserializeOwned>(output: &Value, agent: &str) -> Result<T, RunError> {
    let expected = std::any::type_name::<T>();
    let read = guard::call(|| format!("the output type {expected}"), agent, || read_output(output))?;
    read.map_err(|source| RunError::OutputType { agent: agent.to_owned(), expected, source })
}

/// How a run ended that may wait for decisions.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one in a run, and it is taken apart at once")]
pub enum RunOutcome<O> {
    /// With a final output.
    Finished(RunResult<O>),
    /// With calls that wait for a decision.
    Paused(PausedRun),
}

/// A run that waits for decisions: look at its [`interruptions`](PausedRun::interruptions), decide on its
/// [`state`](PausedRun::state), and give that to `resume`, here, after continue-as-new, or in another process.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PausedRun {
    /// The state: one JSON value, to keep and to decide on.
    pub state: RunState,
    reasoning_item_ids: ReasoningItemIds,
}

impl PausedRun {
    /// A run that waits in this state.
    pub fn new(state: RunState, reasoning_item_ids: ReasoningItemIds) -> Self {
        Self { state, reasoning_item_ids }
    }

    /// The calls that wait for a decision.
    pub fn interruptions(&self) -> Vec<Interruption> {
        self.state.interruptions()
    }

    /// The conversation so far as input for another run; calls that wait are in it without outputs.
    pub fn to_input_list(&self) -> Vec<Item> {
        let RunState { input, items, rewritten, .. } = &self.state;
        to_input_list(input, items, rewritten.as_ref(), self.reasoning_item_ids)
    }

    /// The conversation so far as the last agent saw it.
    pub fn to_normalized_input_list(&self) -> Vec<Item> {
        let RunState { input, items, rewritten, .. } = &self.state;
        to_normalized_input_list(input, items, rewritten.as_ref(), self.reasoning_item_ids)
    }
}

/// A run that ended without a final output: why, and where it stood.
///
/// In a workflow `?` ends the workflow with it, as with the [`RunError`] itself. One with [`RunError::ContinuesAsNew`] is no failure:
/// the workflow continues as new with it, so it has to be passed on, see [`continues_as_new`](Self::continues_as_new).
#[non_exhaustive]
pub struct RunFailure {
    /// Why.
    pub error: RunError,
    /// The run at its end, with its items, usage and context; absent when it never began.
    ///
    /// `resume` takes it when the run has failed between two turns or at a model call, whose outage may be over: the run goes
    /// on with that call. Of a turn that failed half-way only the calls that ran are kept; such a state is a record, and `resume`
    /// refuses it.
    pub state: Option<Box<RunState>>,
}

impl RunFailure {
    /// Whether nothing has failed: the run goes on in the next execution of its workflow, if this is passed on with `?`.
    pub fn continues_as_new(&self) -> bool {
        matches!(self.error, RunError::ContinuesAsNew { .. })
    }
}

impl ErrorStructure for RunFailure {
    /// The state in short: a conversation would hide the rest.
    fn structure(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { error, state } = self;
        f.debug_struct("RunFailure")
            .field("error", &Field(error).shown())
            .field("state", &state.as_deref().map(InShort))
            .finish()
    }
}

impl std::fmt::Debug for RunFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        structure_and_message(self, f)
    }
}

/// Where a run stood, without its conversation.
struct InShort<'a>(&'a RunState);

impl std::fmt::Debug for InShort<'_> {
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
