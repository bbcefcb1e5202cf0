//! What a transcript says: the parts of its JSON.
//!
//! Absent members are left out. Items, outputs and settings are what history holds, as they are.

use serde::Serialize;
use serde_json::Value;

use crate::wire::{Item, Usage, Verdict};

/// A run of agents: what one call of a [`Runner`](crate::Runner) did, or one run inside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Run {
    /// What the ids of its activities begin with: `k3x9q2ab`, for a run inside it `k3x9q2ab-1-tool-0`, for a summary of it after
    /// turn 4 `k3x9q2ab-4-summary`.
    pub id: String,
    /// The run that it is inside of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// What its sessions were asked, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionCall>,
    /// Its guardrails that are activities, in order. (Those that are functions leave nothing in history, those that are agents
    /// are runs inside it.)
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guardrails: Vec<GuardrailCall>,
    /// Its turns, in order.
    pub turns: Vec<Turn>,
    /// What its model calls have used, without those of the runs inside it.
    pub usage: Usage,
}

/// A turn: a model call, and what the model asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Turn {
    /// Its number, counted from 1.
    pub number: u32,
    /// The agent whose turn it is.
    pub agent: String,
    /// Its model calls: one, or more where the first had to be sent again with what was missing; none where a paused run goes on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    /// What the model asked for, in the order of its answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolUse>,
}

/// A model call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Call {
    /// Its number in the workflow run, counted from 1 in the order in which calls were scheduled.
    pub number: u32,
    /// How it was made.
    pub activity: Activity,
    /// The model's name, as agent or run gives it; empty for a local activity.
    pub model: String,
    /// The system prompt, where it is not that of the agent's call before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The items of its input that no earlier call of the run was given or answered, without what tools returned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_input: Vec<Item>,
    /// How many items its input has in all.
    pub input_items: u32,
    /// Why its input cannot be put together whole; `new_input` is then of what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete_input: Option<String>,
    /// What the model answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<Item>,
    /// Why the answer stops early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// The provider's id of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// What it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A call that a model asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolUse {
    /// The name that the model called.
    pub name: String,
    /// The id that ties the output to the call.
    pub call_id: String,
    /// The arguments: JSON, or the text that the model wrote where it is none.
    pub arguments: Value,
    /// What the call came to; its members stand beside the others.
    #[serde(flatten)]
    pub kind: ToolKind,
    /// What the model was told: a string, or a list of content parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// What people were asked about it, and have decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

/// A question to people about a call, and what was decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Approval {
    /// The id to decide by.
    pub id: String,
    /// When the run paused with the question (RFC 3339, UTC); absent where it was decided before, and in histories from before pauses were
    /// recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<String>,
    /// When the decision came in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
    /// What was decided; absent while nobody has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Verdict>,
    /// Whether it holds for later calls of the tool, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
    /// Who has decided, as the decision says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What a call of a model came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolKind {
    /// A tool activity.
    Activity {
        /// How it was made.
        activity: Activity,
    },
    /// A run of an agent.
    Agent {
        /// The id of the run.
        run: String,
    },
    /// A handoff.
    Handoff {
        /// The agent it leads to.
        to: String,
    },
    /// What left nothing in history: an inline tool, a call that was refused, or one that waits for a person.
    InWorkflow,
}

/// A read or a write of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SessionCall {
    /// The store's name.
    pub store: String,
    /// The session.
    pub session_id: String,
    /// `read` or `add`.
    pub operation: &'static str,
    /// What was read, or added.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Item>,
    /// How it was made.
    pub activity: Activity,
}

/// A guardrail that is an activity.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GuardrailCall {
    /// Its name.
    pub name: String,
    /// The agent whose input or output it judges.
    pub agent: String,
    /// What it found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// How it was made.
    pub activity: Activity,
}

/// What history says of an activity.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Activity {
    /// Its id.
    pub id: String,
    /// Its line in the Temporal UI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// How it stands.
    pub status: Status,
    /// The attempt that ended it, counted from 1. While none has: the one that is due or under way, which only the server knows;
    /// in a saved history 0.
    pub attempts: u32,
    /// Why it gave no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Why the attempt before the last one failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier_failure: Option<Failure>,
}

/// How an activity stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// It has given a result.
    Completed,
    /// It has failed.
    Failed,
    /// It took too long.
    TimedOut,
    /// It was cancelled.
    Cancelled,
    /// It has not ended.
    Pending,
}

/// A failure, with the failure behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Failure {
    /// The type of an application failure (`ModelInvocationError.RateLimit`), else Temporal's word for it (`Timeout`).
    #[serde(rename = "type")]
    pub type_name: String,
    /// What it says.
    pub message: String,
    /// What is behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<Failure>>,
}

/// How a workflow run stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
#[non_exhaustive]
pub enum End {
    /// It has not ended, or the history was taken before it did.
    Running,
    /// It has given this result.
    Completed {
        /// The result; null for a workflow without one.
        result: Value,
    },
    /// It has failed.
    Failed {
        /// With this.
        failure: Failure,
    },
    /// It was cancelled.
    Cancelled,
    /// It was terminated.
    Terminated {
        /// The reason given.
        reason: String,
    },
    /// It took too long.
    TimedOut,
    /// It goes on in another run.
    ContinuedAsNew {
        /// The id of that run.
        run_id: String,
    },
}
