//! The conformance suite: plays scenarios of agent runs on a host, and tells what was observed.
//!
//! A scenario is a JSON file: agents, a scripted model, runs, approvals. `tests/conformance/README.md` says what every
//! member means, and the files beside it hold what the OpenAI Agents SDK for Python did with them. Nothing here knows a
//! scenario by its name, or looks at what is expected of it; the comparison is `compare.py`'s.
//!
//! | module | what it holds |
//! |---|---|
//! | `format/` | a scenario file as types |
//! | `build/` | a scenario as agents, tools and settings of the library |
//! | `recorder`, `model` | the script, and what really happened to the world |
//! | `play`, `progress` | the runs of a scenario, one after another, the same on every host |
//! | `report/` | outcomes in the words of the format |
//! | `inline`, `durable/`, `session/` | the hosts |
//! | `venue` | which of them, and what it needs |
//! | `suite` | a folder of scenarios |

mod build;
mod durable;
mod format;
mod inline;
mod model;
mod play;
mod progress;
mod recorder;
mod report;
mod session;
mod suite;
mod venue;

use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;

pub use suite::{SuiteError, play_all, run};

/// Where scenarios are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Host {
    /// On plain tokio.
    Inline,
    /// In a workflow on a real dev server. The worker caches workflows, and a run that pauses is resumed in the same workflow
    /// run.
    Workflow,
    /// In a workflow, on a worker without a cache: each workflow task replays the history so far. A run that pauses is resumed
    /// in the workflow run that continues as new with its state.
    WorkflowUncached,
    /// In an agentic session, inside an activity that a workflow calls on a real dev server.
    Session,
    /// The same, with an attempt of the activity that fails before each effect: before each call of a model, each body of a tool, each
    /// run, and at the end. So a scenario is played over as many attempts as it has effects, each from the checkpoint of the one before.
    SessionInterrupted,
}

/// What was observed of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Observed {
    /// The scenario.
    pub name: String,
    /// What was observed, as the format has it; `{"driver_error": TEXT}` in it when the scenario could not be played.
    pub expect: Value,
    /// The activities in the workflow's histories, on a host that has histories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activities: Option<Activities>,
    /// The attempts of the activity, on a host that plays in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
}

/// How many activities the histories of a workflow hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Activities {
    /// Calls of models.
    pub model: usize,
    /// Calls of tools.
    pub tools: usize,
}

/// No host has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no host {name:?}; there are inline, workflow, workflow-uncached, session and session-interrupted")]
pub struct UnknownHost {
    /// The name.
    pub name: String,
}

impl FromStr for Host {
    type Err = UnknownHost;

    fn from_str(name: &str) -> Result<Self, UnknownHost> {
        match name {
            "inline" => Ok(Self::Inline),
            "workflow" => Ok(Self::Workflow),
            "workflow-uncached" => Ok(Self::WorkflowUncached),
            "session" => Ok(Self::Session),
            "session-interrupted" => Ok(Self::SessionInterrupted),
            _ => Err(UnknownHost { name: name.to_owned() }),
        }
    }
}
