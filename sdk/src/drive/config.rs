//! What a run is given, and what it gives back.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    engine::RunError,
    wire::{Item, ModelSettings, NewItem, RunState, Usage},
};

/// Settings of a run that hold for all its agents.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunConfig {
    /// The model of all agents, whatever they name themselves; absent = each agent's own.
    pub model: Option<String>,
    /// Settings laid over those of each agent.
    pub settings: ModelSettings,
    /// Most model calls of the run, over all agents; `None` = no limit. Default 10.
    pub max_turns: Option<u32>,
    /// The run context at the start.
    pub context: Map<String, Value>,
    /// A context value that is no JSON; the run fails with it, for a panic would fail a workflow task for ever.
    invalid_context: Option<(String, String)>,
}

impl RunConfig {
    /// Sets a key of the run context. A value that cannot be written as JSON (a map with keys that are no strings, say)
    /// fails the run.
    pub fn set_context(&mut self, key: impl Into<String>, value: impl Serialize) {
        let key = key.into();
        match serde_json::to_value(value) {
            Ok(value) => {
                self.context.insert(key, value);
            }
            Err(error) => self.invalid_context = Some((key, error.to_string())),
        }
    }

    /// Whether all context values are JSON.
    ///
    /// # Errors
    /// [`RunError::Context`] with the one that is not.
    pub(super) fn check(&self) -> Result<(), RunError> {
        match &self.invalid_context {
            Some((key, reason)) => Err(RunError::Context { key: key.clone(), reason: reason.clone() }),
            None => Ok(()),
        }
    }
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            model: None,
            settings: ModelSettings::default(),
            max_turns: Some(10),
            context: Map::new(),
            invalid_context: None,
        }
    }
}

/// What a run is started with: a text, or items.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInput(Vec<Item>);

impl RunInput {
    /// The items; a text is a user message.
    pub fn into_items(self) -> Vec<Item> {
        self.0
    }
}

impl From<&str> for RunInput {
    fn from(text: &str) -> Self {
        Self(vec![Item::user(text)])
    }
}

impl From<String> for RunInput {
    fn from(text: String) -> Self {
        Self(vec![Item::user(text)])
    }
}

impl From<Vec<Item>> for RunInput {
    fn from(items: Vec<Item>) -> Self {
        Self(items)
    }
}

/// What a finished run gives back; `O` is the output type of its start agent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunResult<O> {
    /// The final output.
    pub final_output: O,
    /// The agent that gave it.
    pub last_agent: String,
    /// What the run was started with.
    pub input: Vec<Item>,
    /// What happened in the run, in order.
    pub new_items: Vec<NewItem>,
    /// Model calls made.
    pub turns: u32,
    /// What they used.
    pub usage: Usage,
    /// The run context at the end.
    pub context: Map<String, Value>,
    /// The provider's id of the last response.
    pub last_response_id: Option<String>,
}

impl<O> RunResult<O> {
    /// The result of a run that ended with this output in this state.
    pub fn new(final_output: O, state: RunState) -> Self {
        let RunState { agent, input, items, turn, usage, context, last_response_id, .. } = state;
        Self { final_output, last_agent: agent, input, new_items: items, turns: turn, usage, context, last_response_id }
    }

    /// The whole conversation as input for a run that follows.
    pub fn to_input_list(&self) -> Vec<Item> {
        self.input.iter().chain(self.new_items.iter().map(|item| &item.raw)).cloned().collect()
    }
}

/// A run that ended without a final output: why, and where it stood.
///
/// In a workflow `?` ends the workflow with it, as with the [`RunError`] itself.
#[derive(Debug)]
pub struct RunFailure {
    /// Why.
    pub error: RunError,
    /// The run at its end, with its items, usage and context; absent when it never began.
    pub state: Option<Box<RunState>>,
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

impl RunResult<Value> {
    /// The final output as a `T`.
    ///
    /// # Errors
    /// [`RunError::OutputType`] when it is no `T`, so that `?` ends a workflow with it.
    pub fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, RunError> {
        T::deserialize(&self.final_output).map_err(|source| RunError::OutputType {
            agent: self.last_agent.clone(),
            expected: std::any::type_name::<T>(),
            source,
        })
    }
}
