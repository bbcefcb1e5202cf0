//! The outermost object: agents, a script, and the runs.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use temporal_agents::wire::Item;

use super::{Agent, ErrorHandlers, Responses, RunConfig, RunOptions};

/// A scenario, without its expectations.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    pub(crate) format: u32,
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "area")]
    _area: Option<String>,
    #[serde(rename = "about")]
    _about: Option<String>,
    /// The agents by key. Keys are labels inside the file.
    pub(crate) agents: BTreeMap<String, Agent>,
    pub(crate) start_agent: String,
    pub(crate) input: Input,
    pub(crate) context: Option<Map<String, Value>>,
    pub(crate) max_turns: Option<MaxTurns>,
    pub(crate) run: Option<RunOptions>,
    pub(crate) run_config: Option<RunConfig>,
    pub(crate) error_handlers: Option<ErrorHandlers>,
    pub(crate) session: Option<Session>,
    pub(crate) model_responses: Responses,
    pub(crate) approvals: Option<Vec<Vec<Decision>>>,
    pub(crate) follow_ups: Option<Vec<FollowUp>>,
    pub(crate) record_hooks: Option<bool>,
    /// Hints for the comparison.
    #[serde(rename = "compare")]
    _compare: Option<Value>,
}

/// The input of a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Input {
    Text(String),
    Items(Vec<Item>),
}

/// The maximum number of model calls of a run.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum MaxTurns {
    Limit(u32),
    Word(Unlimited),
}

/// The only word allowed in place of a number of turns.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unlimited {
    Unlimited,
}

/// The session of the runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Session {
    pub(crate) initial_items: Option<Vec<Item>>,
}

/// The decision on one pending call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the members of the scenario format")]
pub(crate) struct Decision {
    pub(crate) decision: DecisionKind,
    pub(crate) always: Option<bool>,
    pub(crate) message: Option<String>,
}

/// Approves, rejects, or leaves a call pending.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DecisionKind {
    Approve,
    Reject,
    Skip,
}

/// A further run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FollowUp {
    pub(crate) input: Input,
    /// An agent's key, or `last`.
    pub(crate) agent: Option<String>,
    pub(crate) chain: Option<Chain>,
}

/// The way in which a further run continues the previous one.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Chain {
    Session,
    ToInputList,
    PreviousResponseId,
}

impl Input {
    /// Returns the items of the input; a string becomes a user message.
    pub(crate) fn to_items(&self) -> Vec<Item> {
        match self {
            Self::Text(text) => vec![Item::user(text)],
            Self::Items(items) => items.clone(),
        }
    }
}
