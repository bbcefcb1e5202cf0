//! The progress of a scenario: one serde value, so that the scenario can be continued in another
//! place after each pause.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use temporal_agents::{
    run::MemorySession,
    wire::{Item, RunState},
};

use super::{build::Seen, format::Scenario};

/// The progress of a scenario.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// The current or next run, counted from 0.
    pub(crate) run: usize,
    /// Number of approval rounds completed.
    pub(crate) rounds: usize,
    /// The run context at the start of the run.
    pub(crate) context: Map<String, Value>,
    /// The session, if the scenario has one.
    pub(crate) session: Option<MemorySession>,
    /// The previous run, if there was one.
    pub(crate) previous: Option<Previous>,
    /// The current run, if it was paused and the decisions are made.
    pub(crate) paused: Option<RunState>,
    /// The recorded calls of author functions.
    pub(crate) seen: Seen,
    /// The pauses, as reported.
    pub(crate) pauses: Vec<Value>,
    /// The outcomes of earlier runs, as reported.
    pub(crate) earlier: Vec<Value>,
}

/// A run that has ended, for use by the next one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Previous {
    /// Name of the run's last agent.
    pub(crate) last_agent: String,
    /// The run's conversation, as input.
    pub(crate) input_list: Vec<Item>,
    /// The id of the run's last response.
    pub(crate) last_response_id: Option<String>,
    /// The run's outcome, as reported.
    pub(crate) outcome: Value,
}

impl Progress {
    /// Creates the progress at the beginning of a scenario.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let initial = scenario.session.as_ref().map(|session| session.initial_items.clone().unwrap_or_default());
        Self {
            context: scenario.context.clone().unwrap_or_default(),
            session: initial.map(MemorySession::new),
            ..Self::default()
        }
    }
}
