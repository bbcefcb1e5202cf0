//! The parts of a transcript, in the shape of its JSON.
//!
//! Absent members are left out. Items, outputs and settings are copied from history unchanged.

use std::time::SystemTime;

use serde::Serialize;
use serde_json::Value;
use temporal_agents_core::wire::{Item, RecordedFailure, TraceSettings, Usage, Verdict, event::TrippedGuardrail};

/// A run of agents: that of one call of a [`Runner`](crate::Runner), or one nested in another run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Run {
    /// Prefix of the ids of its activities: `k3x9q2ab`; `k3x9q2ab-1-tool-0` for a run nested in it,
    /// `k3x9q2ab-4-summary` for its summary after turn 4.
    pub id: String,
    /// Id of the run that contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The reads and writes of its sessions, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionCall>,
    /// Its guardrails that are activities, in order. (Guardrails that are functions leave no events
    /// in history; guardrails that are agents are nested runs.)
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guardrails: Vec<GuardrailCall>,
    /// Its turns, in order.
    pub turns: Vec<Turn>,
    /// Token usage of its model calls, without those of nested runs.
    pub usage: Usage,
    /// The listings of the tools of its MCP servers, in order.
    #[serde(skip)]
    pub(crate) mcp_lists: Vec<McpListing>,
    /// Settings of its trace.
    #[serde(skip)]
    pub(crate) trace: Option<TraceSettings>,
}

/// A turn: a model call, and the calls that the model requested.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Turn {
    /// Number of the turn, counted from 1.
    pub number: u32,
    /// Name of the agent whose turn it is.
    pub agent: String,
    /// Its model calls: one; more than one if the first had to be scheduled again, or sent again
    /// with missing parts; none if a paused run resumes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    /// The calls that the model requested, in the order of its response.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolUse>,
}

/// A model call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Call {
    /// Number of the call in the workflow run, counted from 1 in the order in which calls were
    /// scheduled.
    pub number: u32,
    /// The activity of the call.
    pub activity: Activity,
    /// Name of the model, from the agent or the run; empty for a local activity.
    pub model: String,
    /// The system prompt, if it differs from that of the agent's previous call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The input items that are neither in an earlier input nor in an earlier output of the run,
    /// without the outputs of tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_input: Vec<Item>,
    /// Number of items in its entire input.
    pub input_items: u32,
    /// Reason why its input cannot be fully assembled; `new_input` then covers only the items
    /// found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete_input: Option<String>,
    /// The items of the model's response.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<Item>,
    /// Reason why the response is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// Id that the provider assigned to the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// Token usage of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A call that a model requested.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolUse {
    /// Name that the model called.
    pub name: String,
    /// Id that links the output to the call.
    pub call_id: String,
    /// The arguments as JSON, or the string that the model wrote if it is not JSON.
    pub arguments: Value,
    /// The execution of the call. Its members are inlined in this object.
    #[serde(flatten)]
    pub kind: ToolKind,
    /// The output that the model received: a string, or a list of content parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The approval request for the call, and its decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// Times of the child workflow that makes the call.
    #[serde(skip)]
    pub(crate) child: Option<Times>,
    /// Name of the MCP server that has the tool.
    #[serde(skip)]
    pub(crate) mcp_server: Option<String>,
}

/// An approval request for a call, and its decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Approval {
    /// Id of the approval request, by which a decision refers to it.
    pub id: String,
    /// Time at which the run paused for the decision (RFC 3339, UTC). Absent if the decision came
    /// before the pause, and in histories from before pauses were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<String>,
    /// Time at which the decision arrived (RFC 3339, UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
    /// The decision; absent as long as there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Verdict>,
    /// `true` if the decision also applies to later calls of the tool.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
    /// Name of the person who decided, from the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Approval {
    /// Returns the times at which the run paused and at which the decision arrived.
    pub(crate) fn times(&self) -> (Option<SystemTime>, Option<SystemTime>) {
        let time = |text: &String| SystemTime::try_from(text.parse::<prost_types::Timestamp>().ok()?).ok();
        (self.asked_at.as_ref().and_then(time), self.decided_at.as_ref().and_then(time))
    }
}

/// The execution of a call that a model requested.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolKind {
    /// A tool activity.
    Activity {
        /// The activity of the call.
        activity: Activity,
    },
    /// A run of an agent.
    Agent {
        /// Id of the run.
        run: String,
    },
    /// A handoff.
    Handoff {
        /// Name of the agent that receives the run.
        to: String,
    },
    /// A call without events in history: an inline tool, a call that was refused, or one that waits
    /// for approval.
    InWorkflow,
}

impl ToolUse {
    /// Returns `true` if the call hands the run over to another agent.
    pub(crate) fn is_handoff(&self) -> bool {
        matches!(self.kind, ToolKind::Handoff { .. })
    }
}

/// A read or a write of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SessionCall {
    /// Name of the session store.
    pub store: String,
    /// Id of the session.
    pub session_id: String,
    /// `read` or `add`.
    pub operation: &'static str,
    /// The items that were read or added.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Item>,
    /// The activity of the call.
    pub activity: Activity,
}

/// A guardrail that is an activity.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GuardrailCall {
    /// Name of the guardrail.
    pub name: String,
    /// Name of the agent whose input or output the guardrail checks.
    pub agent: String,
    /// Output of the guardrail, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The activity of the guardrail.
    pub activity: Activity,
}

/// A guardrail that has tripped.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "traces read it"))]
pub(crate) struct Tripped {
    /// Id of its run, which may have no activities.
    pub(crate) run: String,
    pub(crate) guardrail: TrippedGuardrail,
    pub(crate) at: Option<SystemTime>,
    /// Settings of the trace of the run.
    pub(crate) trace: Option<TraceSettings>,
}

/// The listing of the tools of an MCP server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct McpListing {
    pub(crate) server: String,
    /// Number of the turn before which the tools were listed.
    pub(crate) turn: u32,
    /// The activity that lists them.
    pub(crate) activity: Activity,
}

/// An activity, as recorded in history.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Activity {
    /// Id of the activity.
    pub id: String,
    /// Summary of the activity in the Temporal UI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Status of the activity.
    pub status: Status,
    /// Number of the attempt that ended the activity, counted from 1. For a pending activity, the
    /// number of the current or next attempt, which only the server knows; 0 in a saved history.
    pub attempts: u32,
    /// Failure of the activity, if it has no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<RecordedFailure>,
    /// Failure of the attempt before the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier_failure: Option<RecordedFailure>,
    /// Times of the activity, which are no part of the JSON.
    #[serde(skip)]
    pub(crate) times: Times,
}

/// The times of an activity or a workflow run, as history has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) scheduled: Option<SystemTime>,
    /// Start of the last attempt.
    pub(crate) started: Option<SystemTime>,
    pub(crate) ended: Option<SystemTime>,
    /// `true` for a call that an activity has made with others.
    pub(crate) is_batched: bool,
}

/// The status of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// The activity has completed with a result.
    Completed,
    /// The activity has failed.
    Failed,
    /// The activity has exceeded a timeout.
    TimedOut,
    /// The activity was cancelled.
    Cancelled,
    /// The activity has not ended.
    Pending,
}

/// The status of a workflow run, with its result or failure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
#[non_exhaustive]
pub enum End {
    /// The run has not ended, or had not when the history was saved.
    Running,
    /// The run has completed.
    Completed {
        /// The result; null for a workflow without a result.
        result: Value,
    },
    /// The run has failed.
    Failed {
        /// The failure of the run.
        failure: RecordedFailure,
    },
    /// The run was cancelled.
    Cancelled,
    /// The run was terminated.
    Terminated {
        /// Reason in the request to terminate it.
        reason: String,
    },
    /// The run has exceeded a timeout.
    TimedOut,
    /// The workflow has continued as new in another run.
    ContinuedAsNew {
        /// Id of that run.
        run_id: String,
    },
}
