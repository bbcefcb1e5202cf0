//! How far a scenario is: one serde value, so that it can be taken up elsewhere after each pause.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use temporal_agents::{
    drive::MemorySession,
    wire::{Item, RunState},
};

use super::{build::Seen, format::Scenario};

/// How far a scenario is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// The run that is due or under way, counted from 0.
    pub(crate) run: usize,
    /// The approval rounds that have been held.
    pub(crate) rounds: usize,
    /// The run context at the start of the run.
    pub(crate) context: Map<String, Value>,
    /// The session, where there is one.
    pub(crate) session: Option<MemorySession>,
    /// The run before, where there was one.
    pub(crate) previous: Option<Previous>,
    /// The run under way, where it was paused and decided on.
    pub(crate) paused: Option<RunState>,
    /// What author functions have seen.
    pub(crate) seen: Seen,
    /// The pauses, as reported.
    pub(crate) pauses: Vec<Value>,
    /// The outcomes of runs before, as reported.
    pub(crate) earlier: Vec<Value>,
}

/// A run that has ended, for the one that follows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Previous {
    /// Its last agent's name.
    pub(crate) last_agent: String,
    /// Its conversation, as input.
    pub(crate) input_list: Vec<Item>,
    /// The id of its last response.
    pub(crate) last_response_id: Option<String>,
    /// Its outcome, as reported.
    pub(crate) outcome: Value,
}

impl Progress {
    /// The beginning.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let initial = scenario.session.as_ref().map(|session| session.initial_items.clone().unwrap_or_default());
        Self {
            context: scenario.context.clone().unwrap_or_default(),
            session: initial.map(MemorySession::new),
            ..Self::default()
        }
    }
}
