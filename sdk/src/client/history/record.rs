//! The record of one event of a history.

use std::collections::BTreeMap;

use serde_json::Value;
use temporal_agents_core::wire::{
    AgentDecision, ChatMessage, DecisionReply, Item, MODEL_ACTIVITY, ModelRequest, ModelResponse, RecordedFailure,
    RunEvent, ToolReply, ToolRequest, TraceSettings,
    asked_questions::AskedQuestions,
    carried::LOAD_STATE_ACTIVITY,
    conversation::RECORD_ACTIVITY,
    event::RunNote,
    mcp_call::{MCP_ACTIVITY, MCP_CALL_TOOL, listed_server},
    remote_call::{REMOTE_ACTIVITY, REMOTE_CALL_TOOL},
    session_call::{SESSION_ACTIVITY, SessionReply, SessionRequest},
    tool_batch::TOOL_BATCH_ACTIVITY,
    tool_call::TOOL_PREFIX,
};

use crate::client::transcript::{End, Status, TranscriptError};

const GUARDRAIL_PREFIX: &str = "agents.guardrail.";

/// An activity, or a call that has no activity of its own because a batch has made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::client) struct ActivityKey {
    /// Id of the event that scheduled the activity.
    pub(super) event: i64,
    /// Number of the call in its batch; `None` for an activity of its own.
    pub(super) call: Option<u32>,
}

impl ActivityKey {
    /// Returns `true` for a call in a batch.
    pub(in crate::client) fn is_batched(self) -> bool {
        self.call.is_some()
    }
}

impl From<i64> for ActivityKey {
    fn from(event: i64) -> Self {
        Self { event, call: None }
    }
}

/// The record of an event. A call in a batch has the records of an activity of its own.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one record exists at a time")]
pub(in crate::client) enum Record {
    /// The workflow execution has started.
    Started(Box<Start>),
    /// An activity was scheduled.
    Scheduled {
        activity: ActivityKey,
        /// Id of the activity.
        id: String,
        kind: Kind,
        request: Result<Request, TranscriptError>,
        summary: Option<String>,
        /// Settings of the trace of its run, from the header.
        trace: Option<Box<TraceSettings>>,
    },
    /// The last attempt of an activity has begun.
    Attempt { activity: ActivityKey, attempt: u32, earlier_failure: Option<RecordedFailure> },
    /// An activity has completed.
    Completed { activity: ActivityKey, reply: Result<Reply, TranscriptError> },
    /// An activity has ended without a result.
    Failed { activity: ActivityKey, status: Status, failure: Option<RecordedFailure> },
    /// A batch has not made this call, which an activity of its own makes.
    NotMade { activity: ActivityKey },
    /// A local activity that calls a model has ended.
    LocalModelCall {
        id: String,
        summary: Option<String>,
        attempt: u32,
        response: Option<Result<ModelResponse, TranscriptError>>,
        failure: Option<RecordedFailure>,
    },
    /// A run has recorded a note, its questions, or both.
    Noted { note: Option<RunNote>, questions: Option<AskedQuestions> },
    /// A chat has received a message.
    ChatMessage { event: i64, message: ChatMessage },
    /// The chat has refused the message of the update that `event` accepted.
    ChatMessageRefused { event: i64 },
    /// The workflow has accepted an update with a decision.
    DecisionSent { event: i64, decision: AgentDecision },
    /// The update that `event` accepted has its reply.
    DecisionAnswered { event: i64, reply: DecisionReply },
    /// A batch was published to the workflow's stream. The items that are deltas of runs.
    Published { publisher: String, sequence: u64, deltas: Vec<RunEvent> },
    /// A child workflow is to be started.
    ChildInitiated { event: i64, namespace: String, workflow_id: String, ends_with_parent: bool },
    /// A child workflow has started.
    ChildStarted { initiated: i64, run_id: String },
    /// A child workflow has ended.
    ChildEnded { initiated: i64 },
    /// The history up to here is a copy: the workflow was reset, and continues as this execution.
    Reset { run_id: String, reason: String },
    /// The execution has ended, and continues in the next one, if any.
    Ended { end: End, next: Option<String> },
}

/// The start of a workflow execution.
#[derive(Debug)]
pub(in crate::client) struct Start {
    pub(in crate::client) workflow_id: String,
    pub(in crate::client) run_id: String,
    pub(in crate::client) first_run_id: String,
    pub(in crate::client) continued_from: Option<String>,
    pub(in crate::client) workflow_type: String,
    pub(in crate::client) input: Value,
    /// The header `_tracer-data`: fields of W3C Trace Context.
    pub(in crate::client) tracer_data: BTreeMap<String, String>,
}

/// The kind of an activity of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::client) enum Kind {
    Model,
    Tool,
    /// Several tool calls. Its records are those of its calls.
    ToolBatch,
    Guardrail,
    Session,
    /// Lists the tools of an MCP server.
    McpList,
    /// Records items to which model calls refer.
    Items,
    /// Loads a part of the state from the previous execution.
    Chunk,
}

/// The request of an activity.
#[derive(Debug)]
pub(in crate::client) enum Request {
    Model(Box<ModelRequest>),
    Tool(ToolRequest),
    Guardrail(ToolRequest),
    Session { store: String, request: SessionRequest },
    McpList { server: String },
    Items(Vec<Item>),
    Chunk,
}

/// The reply of an activity.
#[derive(Debug)]
pub(in crate::client) enum Reply {
    Model(ModelResponse),
    Tool(ToolReply),
    Session(SessionReply),
    Chunk(String),
    Nothing,
}

impl Kind {
    /// Returns the kind of an activity; `None` for an activity that is not of this crate.
    pub(in crate::client) fn of(activity_type: &str) -> Option<Self> {
        Some(match activity_type {
            MODEL_ACTIVITY => Self::Model,
            RECORD_ACTIVITY => Self::Items,
            LOAD_STATE_ACTIVITY => Self::Chunk,
            TOOL_BATCH_ACTIVITY => Self::ToolBatch,
            other if other.starts_with(TOOL_PREFIX) || is_call_elsewhere(other) => Self::Tool,
            other if other.starts_with(GUARDRAIL_PREFIX) => Self::Guardrail,
            other if listed_server(other).is_some() => Self::McpList,
            other => store_of(other).map(|_| Self::Session)?,
        })
    }
}

/// Returns the name of the store of a session activity.
pub(super) fn store_of(activity_type: &str) -> Option<&str> {
    activity_type.strip_prefix(SESSION_ACTIVITY)?.strip_prefix('.')
}

/// Returns `true` if activities of this type call a tool of an MCP server, or of a provider.
fn is_call_elsewhere(activity_type: &str) -> bool {
    let calls = |prefix: &str, operation: &str| {
        let named = activity_type.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.'));
        named.and_then(|rest| rest.strip_suffix(operation)).is_some_and(|name| name.ends_with('.'))
    };
    calls(MCP_ACTIVITY, MCP_CALL_TOOL) || calls(REMOTE_ACTIVITY, REMOTE_CALL_TOOL)
}
