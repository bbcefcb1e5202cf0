//! The conformance suite: plays scenarios of agent runs on a host, and reports the observations.
//!
//! A scenario is a JSON file: agents, a scripted model, runs, approvals.
//! `tests/conformance/README.md` defines every member, and the files beside it contain the results
//! of the OpenAI Agents SDK for Python. Nothing here recognizes a scenario by its name, or reads
//! its expectations; `compare.py` does the comparison.
//!
//! | module | content |
//! |---|---|
//! | `format/` | a scenario file as types |
//! | `build/` | a scenario as agents, tools and settings of the library |
//! | `recorder`, `model` | the script, and the effects that occurred |
//! | `play`, `progress` | the runs of a scenario in sequence, the same on every host |
//! | `report/` | outcomes in the terms of the format |
//! | `inline`, `durable/`, `session/` | the hosts |
//! | `venue` | the selected host with its resources |
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
use temporal_agents::wire::RunEvent;

pub use suite::{SuiteError, play_all, run};

/// A host on which scenarios are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Host {
    /// On plain tokio.
    Inline,
    /// In a workflow on a real dev server. The worker caches workflows, and a run that pauses is
    /// resumed in the same workflow run.
    Workflow,
    /// In a workflow, on a worker without a cache: each workflow task replays the history so far. A
    /// run that pauses is resumed in a new workflow run, which continues as new with its state.
    WorkflowUncached,
    /// In a workflow, like [`Workflow`](Self::Workflow), whose runs have
    /// [batches of tools](temporal_agents::RunConfig::batch_tools).
    WorkflowBatched,
    /// In an agentic session, inside an activity that a workflow calls on a real dev server.
    Session,
    /// In an agentic session, like [`Session`](Self::Session), with an attempt of the activity that
    /// fails before each effect: before each call of a model, each body of a tool, each run, and at
    /// the end. So a scenario is played over as many attempts as it has effects, each from the
    /// checkpoint of the previous one.
    SessionInterrupted,
}

/// The observations of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Observed {
    /// Name of the scenario.
    pub name: String,
    /// The observations in the scenario format; contains `{"driver_error": MESSAGE}` if the
    /// scenario could not be played.
    pub expect: Value,
    /// Numbers of activities in the workflow's histories; `None` on a host that has no histories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activities: Option<Activities>,
    /// Number of attempts of the activity; `None` on a host that does not play in an activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// The facts of the runs, in the order in which a reader of the host gets them.
    #[serde(skip)]
    pub facts: Vec<RunEvent>,
}

/// Numbers of activities in the histories of a workflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Activities {
    /// Number of model calls.
    pub model: usize,
    /// Number of tool calls.
    pub tools: usize,
}

/// The error for a name that no host has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown host {name:?}; expected inline, workflow, workflow-uncached, workflow-batched, session or \
     session-interrupted"
)]
pub struct UnknownHost {
    /// The name, as passed to the parser.
    pub name: String,
}

impl FromStr for Host {
    type Err = UnknownHost;

    fn from_str(name: &str) -> Result<Self, UnknownHost> {
        match name {
            "inline" => Ok(Self::Inline),
            "workflow" => Ok(Self::Workflow),
            "workflow-uncached" => Ok(Self::WorkflowUncached),
            "workflow-batched" => Ok(Self::WorkflowBatched),
            "session" => Ok(Self::Session),
            "session-interrupted" => Ok(Self::SessionInterrupted),
            _ => Err(UnknownHost { name: name.to_owned() }),
        }
    }
}
