//! The reason why a run makes no progress, in the API over HTTP, in streams and in messages.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reason why a run makes no progress: what happens, and what helps.
///
/// It is read from the server and not kept anywhere. `Display` is the message and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct RunProblem {
    /// A word for programs.
    pub kind: RunProblemKind,
    /// What happens, for people.
    pub message: String,
    /// What helps.
    pub remedy: String,
    /// Name of the agent, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Time since which the server knows of it: milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

/// Kind of a [`RunProblem`]. JSON: the name in snake case, for example `"no_worker"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunProblemKind {
    /// The workflow task fails again and again.
    WorkflowTaskFails,
    /// The workflow task times out: workflow code blocks, or its worker dies.
    WorkflowTaskHangs,
    /// The code of the workers does not reproduce the history of the run.
    ReplayDiffers,
    /// The workflow waits for something that its server does not know.
    AwaitsForeignFuture,
    /// No worker takes the tasks of the queue.
    NoWorker,
    /// Workers poll the queue for workflows, and none for activities.
    ActivityNotPolled,
    /// A model call fails again and again.
    ModelFails,
    /// A tool, a guardrail or another activity fails again and again.
    ActivityFails,
    /// A kind of a later release.
    #[serde(other)]
    Other,
}

impl RunProblem {
    /// Creates a problem that no agent is known for, from now on.
    #[doc(hidden)]
    pub fn new(kind: RunProblemKind, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { kind, message: message.into(), remedy: remedy.into(), agent: None, since: None }
    }

    /// Returns `true` if the run answers no messages as long as the problem lasts, and a worker that
    /// starts does not help.
    pub fn blocks_messages(&self) -> bool {
        match self.kind {
            RunProblemKind::WorkflowTaskFails
            | RunProblemKind::WorkflowTaskHangs
            | RunProblemKind::ReplayDiffers
            | RunProblemKind::AwaitsForeignFuture => true,
            RunProblemKind::NoWorker
            | RunProblemKind::ActivityNotPolled
            | RunProblemKind::ModelFails
            | RunProblemKind::ActivityFails
            | RunProblemKind::Other => false,
        }
    }
}

impl fmt::Display for RunProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}. {}", self.message, self.remedy)
    }
}
