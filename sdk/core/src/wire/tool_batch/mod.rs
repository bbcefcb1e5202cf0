//! Several tool calls that run in one activity: its request, its reply, and its heartbeat details.
//!
//! A call keeps the activity id that it would have on its own, `k3x9q2ab-4-tool-1`, although no
//! activity has it: references to its result, the ids of its facts and of its deltas use it. The
//! activity of the batch is `k3x9q2ab-4-tools-0_3.5`, which names its calls: 0 to 3, and 5.

mod end;
mod ids;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::ids::{call_in, calls_in, index_in};
pub use self::{
    end::{BatchEnd, CallInBatch},
    ids::{batch_of, numbered},
};
use super::{
    absent::is_default,
    digest::Digest,
    event::RecordedFailure,
    side_data::SideData,
    tool_call::ToolOutput,
    tool_error::FailureDetail,
    version::{Versioned, WireVersion},
};
use super::{delta_window::DeltaWindow, tool_call::ToolRequest, version::WIRE_VERSION};

/// Type of the activity that makes several tool calls.
pub const TOOL_BATCH_ACTIVITY: &str = "agents.call_tools";
/// Value of `format` that distinguishes the heartbeat details of a batch from those of others.
pub(crate) const TOOL_BATCH_FORMAT: &str = "temporal-agents/tool-batch";
/// Failure type of a call in a batch that did not end within its time limit.
pub const TIMEOUT: &str = "Timeout";
/// Failure type of an attempt after which the activity makes some of its calls again.
pub const TOOLS_UNFINISHED: &str = "ToolsUnfinished";

/// The input of the activity that makes several tool calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolBatchRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// Name of the agent that made the calls.
    pub agent: String,
    /// Number of the turn of the calls, counted from 1.
    pub turn: u32,
    /// Longest time of one attempt at each call, in milliseconds.
    pub time_limit_ms: u64,
    /// Longest time of all attempts together, in milliseconds; absent = no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_to_close_ms: Option<u64>,
    /// Id of the stored session of the outermost run; absent = none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Idempotency key of the call that the run answers, if an agent runs as a tool; absent = none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call: Option<String>,
    /// The calls, in the order of the model's response.
    pub calls: Vec<BatchedCall>,
}

/// A tool call in a batch. Its members are those of a [`ToolRequest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchedCall {
    /// Number of the call among the tool calls of the response, counted from 0.
    pub index: u32,
    /// Name of the tool, as the model called it.
    pub tool: String,
    /// Id that links the output to the call.
    pub call_id: String,
    /// Arguments, already checked to be a JSON object that fits the schema.
    pub arguments: Map<String, Value>,
    /// Members of the run context that the tool requests, by key.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    /// Settings of the tool.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
    /// Idempotency key of the call.
    #[serde(rename = "key")]
    pub idempotency_key: String,
    /// Digest of the schema that the arguments fit, if the tool is one of several versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Digest>,
    /// `true` if a failure of the call ends the run: the other calls are then cancelled.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fails_run: bool,
}

/// The result of the activity: the outcomes of the calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolBatchReply {
    /// The version of this message.
    pub version: WireVersion,
    /// The outcomes, by the number of the call. A call that is not listed was not made, and is made
    /// on its own.
    pub outcomes: Vec<BatchedOutcome>,
}

/// The outcome of a call in a batch: an output, a failure, or a cancellation. A call without any of
/// them is made on its own: the worker does not have the tool, or the output had no room here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BatchedOutcome {
    /// Number of the call among the tool calls of the response, counted from 0.
    pub index: u32,
    /// Number of the attempt that ended the call, counted from 1; 0 if none has begun.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attempt: u32,
    /// Output for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<ToolOutput>,
    /// Changes to the run context: a JSON merge patch (RFC 7396).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_patch: Option<Value>,
    /// Data that the model does not receive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side_data: Option<Box<SideData>>,
    /// The failure of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<BatchedFailure>,
    /// Failure of the attempt before the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_failure: Option<RecordedFailure>,
    /// `true` if the call was cancelled, because another one ends the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_cancelled: bool,
}

/// The failure of a call in a batch: what the failure of its own activity would hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchedFailure {
    /// Failure type of the activity; `Timeout` after the time limit of the call.
    #[serde(rename = "type")]
    pub failure_type: String,
    /// Message of the failure.
    pub message: String,
    /// Message for the model, code, issues and example, as far as the tool chose them.
    #[serde(flatten)]
    pub detail: FailureDetail,
    /// `true` if the next attempt makes the call again. Only in heartbeats.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_retried: bool,
}

/// The heartbeat details of the activity, and the detail of its failure: the calls that have ended.
///
/// JSON shape: `tests/golden/wire/v1.2/tool_batch_details-*.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolBatchDetails {
    /// `TOOL_BATCH_FORMAT`.
    pub format: String,
    /// The version of this value.
    pub version: WireVersion,
    /// The outcomes so far, in the order in which the calls ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<BatchedOutcome>,
    /// The latest deltas of open calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deltas: Vec<BatchedDeltas>,
}

/// The latest deltas of a call in a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchedDeltas {
    /// Number of the call among the tool calls of the response, counted from 0.
    pub index: u32,
    /// The deltas.
    pub window: DeltaWindow,
}

impl ToolBatchRequest {
    /// Returns the calls as requests of their own.
    pub fn into_requests(self) -> Vec<(u32, ToolRequest)> {
        let Self { version, agent, turn, time_limit_ms: _, schedule_to_close_ms: _, session_id, parent_call, calls } =
            self;
        let of_call = |call| {
            let BatchedCall {
                index,
                tool,
                call_id,
                arguments,
                context,
                settings,
                idempotency_key,
                schema,
                fails_run: _,
            } = call;
            let agent = agent.clone();
            let idempotency_key = Some(idempotency_key);
            let (mcp, remote) = (None, None);
            let request = ToolRequest {
                version,
                tool,
                agent,
                turn,
                call_id,
                arguments,
                context,
                settings,
                idempotency_key,
                mcp,
                remote,
                schema,
                session_id: session_id.clone(),
                parent_call: parent_call.clone(),
            };
            (index, request)
        };
        calls.into_iter().map(of_call).collect()
    }
}

impl BatchedOutcome {
    /// Creates the outcome of a call that is made on its own.
    pub fn not_made(index: u32) -> Self {
        Self { index, ..Self::default() }
    }

    /// Returns `true` if the next attempt makes the call again.
    pub fn is_retried(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.is_retried)
    }
}

impl BatchedFailure {
    /// Returns the failure as history would hold it.
    pub fn recorded(&self) -> RecordedFailure {
        RecordedFailure::new(&*self.failure_type, &*self.message)
    }
}

impl ToolBatchDetails {
    /// Creates the details of these outcomes.
    pub fn new(outcomes: Vec<BatchedOutcome>) -> Self {
        Self { format: TOOL_BATCH_FORMAT.to_owned(), version: WIRE_VERSION, outcomes, deltas: Vec::new() }
    }

    /// Reads details; `None` if they are not those of a batch that this build reads.
    pub fn read(json: &[u8]) -> Option<Self> {
        let read: Self = serde_json::from_slice(json).ok()?;
        (read.format == TOOL_BATCH_FORMAT && read.version.check("tool batch details").is_ok()).then_some(read)
    }
}

impl Versioned for ToolBatchRequest {
    fn version(&self) -> WireVersion {
        self.version
    }
}

impl Versioned for ToolBatchReply {
    fn version(&self) -> WireVersion {
        self.version
    }
}
