//! What a tool knows of its call.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{idempotency::idempotency_key, run_context::RunContext, state::StateMap};
use crate::wire::error_debug;

/// A call of a tool: who made it and under which id.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallInfo {
    /// The tool's name.
    pub tool: String,
    /// The model's id of the call.
    pub call_id: String,
    /// The agent that made it.
    pub agent: String,
    /// The turn, counted from 1.
    pub turn: u32,
    /// The attempt, counted from 1; always 1 for inline tools.
    pub attempt: u32,
    idempotency_key: String,
}

impl CallInfo {
    /// A first attempt. Its idempotency key is made of agent, turn and call id alone, as unit tests of tools want it.
    pub fn new(tool: impl Into<String>, call_id: impl Into<String>, agent: impl Into<String>, turn: u32) -> Self {
        let (call_id, agent) = (call_id.into(), agent.into());
        let idempotency_key = idempotency_key([&*agent, &*turn.to_string(), &*call_id]);
        Self { tool: tool.into(), call_id, agent, turn, attempt: 1, idempotency_key }
    }

    /// The same call with the key that its host gives it.
    #[must_use]
    pub fn with_idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = key.into();
        self
    }

    /// What names this call towards the outside world, so that an effect that has happened is not repeated: 16 characters of `A-Z a-z 0-9 - _`.
    ///
    /// It is the same at every attempt, after continue-as-new, and when the workflow is reset to a point after the model made the call. No
    /// other call has it: it is a hash of the id of the workflow's first execution (which no other workflow of any namespace has), the run of agents,
    /// the agents on the way, the turn, the model's response and the call's id. (Without Temporal a random id of the run is in place of the first two.)
    /// A guardrail in an activity has one for each input or output that it is asked about.
    pub fn idempotency_key(&self) -> &str {
        &self.idempotency_key
    }

    /// The same call at another attempt.
    #[must_use]
    pub fn at_attempt(mut self, attempt: u32) -> Self {
        self.attempt = attempt;
        self
    }
}

/// How a tool learns that nobody waits for it any more.
///
/// The worker implements it over the activity; elsewhere there is none.
pub trait Heartbeat: Send + Sync {
    /// Whether the call was cancelled.
    fn is_cancelled(&self) -> bool;
}

/// A setting of the tool is not there, or not of the type asked for.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// Nobody has set it.
    #[error("the tool has no setting {name:?}; add it where the agent gets the tool, with .setting({name:?}, ..)")]
    Missing {
        /// The setting.
        name: String,
    },
    /// It is something else.
    #[error("setting {name:?} of the tool is not a {expected}: {source}")]
    OtherType {
        /// The setting.
        name: String,
        /// The Rust type asked for.
        expected: &'static str,
        /// What serde says.
        source: serde_json::Error,
    },
}

error_debug!(enum SettingError {
    Missing { name },
    OtherType { name, expected, source },
});

/// What a tool knows of its call; a parameter of type `&ToolContext` or `&mut ToolContext` gets it.
#[derive(Clone)]
pub struct ToolContext {
    info: CallInfo,
    run: RunContext,
    states: StateMap,
    settings: Map<String, Value>,
    heartbeat: Option<Arc<dyn Heartbeat>>,
}

impl ToolContext {
    /// A context for this call, with these run values and states; unit tests of tools make one, too.
    pub fn new(info: CallInfo, run: RunContext, states: StateMap) -> Self {
        Self { info, run, states, settings: Map::new(), heartbeat: None }
    }

    /// The same context, with the activity's heartbeat.
    #[must_use]
    pub fn with_heartbeat(mut self, heartbeat: Arc<dyn Heartbeat>) -> Self {
        self.heartbeat = Some(heartbeat);
        self
    }

    /// The same context with what was set for the tool.
    #[must_use]
    pub fn with_settings(mut self, settings: Map<String, Value>) -> Self {
        self.settings = settings;
        self
    }

    /// What was set for the tool under this name ([`ToolDef::setting`](super::ToolDef::setting)), secrets filled in.
    ///
    /// # Errors
    /// [`SettingError`] when it is not there, or no `T`.
    pub fn setting<T: DeserializeOwned>(&self, name: &str) -> Result<T, SettingError> {
        let value = self.settings.get(name).ok_or_else(|| SettingError::Missing { name: name.to_owned() })?;
        T::deserialize(value).map_err(|source| SettingError::OtherType {
            name: name.to_owned(),
            expected: std::any::type_name::<T>(),
            source,
        })
    }

    /// The call.
    pub fn info(&self) -> &CallInfo {
        &self.info
    }

    /// The values of the run: all of them for an inline tool, the named keys for an activity tool.
    pub fn run(&self) -> &RunContext {
        &self.run
    }

    /// The values of the run, to set some.
    pub fn run_mut(&mut self) -> &mut RunContext {
        &mut self.run
    }

    /// The worker's states.
    pub fn states(&self) -> &StateMap {
        &self.states
    }

    /// Whether the call was cancelled; long activity tools ask now and then. Always false for inline tools.
    pub fn is_cancelled(&self) -> bool {
        self.heartbeat.as_ref().is_some_and(|heartbeat| heartbeat.is_cancelled())
    }

    /// Gives the run context back.
    pub fn into_run(self) -> RunContext {
        self.run
    }
}

impl std::fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolContext").field("info", &self.info).field("run", &self.run).finish_non_exhaustive()
    }
}
