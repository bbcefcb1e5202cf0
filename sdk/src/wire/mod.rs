//! The contract between workflow code and worker: the messages that history contains.
//!
//! Both sides compile against these types, so this module imports no other module of this crate. It
//! guarantees that a message written by one release is read by the next ([`WireVersion`]), that
//! *data* (items, usage) is kept unchanged, including unknown fields and kinds, and that
//! *instructions* (input segments, definition parts) of an unknown kind are a
//! [`WireVersionMismatch`] and never a guess. It does not schedule, call or decide anything.
//!
//! Messages that only this crate creates have no constructor: a test parses them from JSON. Golden
//! files of every message of every version are in `tests/golden/wire/`.

pub(crate) mod absent;
pub(crate) mod agent_handlers;
pub(crate) mod agent_spec;
pub(crate) mod approval;
pub(crate) mod arguments;
pub(crate) mod asked_questions;
mod by_kind;
pub(crate) mod canonical;
pub(crate) mod carried;
pub(crate) mod conversation;
mod cost;
mod decider;
pub(crate) mod definitions;
#[cfg(any(feature = "worker", test))]
pub(crate) mod delta_window;
pub(crate) mod digest;
#[doc(hidden)]
pub mod error_debug;
pub(crate) mod event;
pub(crate) mod failure;
pub(crate) mod find_toolsets;
pub(crate) mod incomplete;
pub(crate) mod item;
mod json_schemas;
pub(crate) mod kept_decision;
pub(crate) mod load_agent;
pub(crate) mod mcp_call;
pub(crate) mod model_call;
pub(crate) mod native_call;
pub(crate) mod nexus_endpoint;
pub(crate) mod passed_gate;
pub(crate) mod ready_made;
pub(crate) mod remote_call;
pub(crate) mod run_attributes;
pub(crate) mod run_mode;
#[cfg(feature = "worker")]
#[cfg_attr(
    not(any(feature = "http", feature = "postgres", feature = "sqlite")),
    allow(dead_code, reason = "only a service with a database uses all of it")
)]
pub(crate) mod run_place;
mod run_problem;
pub(crate) mod run_state;
pub(crate) mod run_status;
pub(crate) mod schema;
pub(crate) mod session_call;
pub(crate) mod session_checkpoint;
pub(crate) mod session_facts;
pub(crate) mod settings;
pub(crate) mod side_data;
pub(crate) mod size;
pub(crate) mod stream;
pub(crate) mod tool_batch;
pub(crate) mod tool_call;
pub(crate) mod tool_call_meta;
pub(crate) mod tool_error;
pub(crate) mod toolset;
pub(crate) mod trace_settings;
mod unread;
pub(crate) mod usage;
pub(crate) mod version;
pub(crate) mod worker_env;

pub(crate) use agent_handlers::AGENT_SUPPLY_OUTPUT;
#[cfg(feature = "worker")]
pub(crate) use agent_handlers::{AGENT_DECIDE, AGENT_STATE};
pub use agent_handlers::{
    AgentDecision, AgentInterruption, AgentState, DecidedInterruption, DecisionAnswer, DecisionReply, SuppliedOutput,
    Verdict,
};
pub use agent_spec::{AgentSpec, SpecHandoff, SpecOutput, SpecRef, SpecTool};
pub use approval::{ApprovalRequest, ApprovalRuling};
pub use carried::Carried;
pub use conversation::{Conversation, InputSegment};
pub(crate) use conversation::{Folded, Ledger, Noted};
pub use cost::Cost;
pub use definitions::{Definitions, HandoffSpec, OutputSpec, Prompt, ToolSpec};
pub(crate) use digest::{DigestChain, ItemDigest};
pub(crate) use error_debug::error_debug;
pub use event::{EventKind, GuardrailStage, RecordedFailure, RunEvent};
pub use failure::{ModelFailureDetails, ModelFailureKind};
pub use item::{FunctionCall, Item, ItemView};
pub use kept_decision::{KeptDecision, KeptDecisions};
pub use mcp_call::{McpAnswer, McpQuestion, McpTool};
pub use model_call::{MODEL_ACTIVITY, ModelCall, ModelReply, ModelRequest, ModelResponse};
pub use native_call::NativeKind;
pub use passed_gate::PassedGate;
pub use ready_made::{
    AgentReport, AgentRequest, ChatMessage, ChatOutcome, ChatReply, ChatRequest, ChatTranscript, RequestInput,
};
pub use remote_call::RemoteTool;
pub use run_mode::RunMode;
pub use run_problem::{RunProblem, RunProblemKind};
pub use run_state::{
    Decision, DecisionRefused, GuardrailResults, InputGuardrailResult, Interruption, InterruptionKind, McpApproval,
    NewItem, NewItemKind, OutputGuardrailResult, RunState, ToolGuardrailBehavior, ToolGuardrailResult,
};
pub use run_status::RunStatus;
pub use schema::Schema;
#[cfg(feature = "worker")]
pub(crate) use session_call::SessionPosition;
#[cfg(feature = "worker")]
pub(crate) use session_checkpoint::KeptCheckpoint;
pub use session_checkpoint::SessionCheckpoint;
pub use settings::{ModelRetryBackoff, ModelRetrySettings, ModelSettings, ToolChoice};
pub use side_data::{Bounds, ServerData, SideData};
pub use tool_call::{ToolOutput, ToolReply, ToolRequest};
pub(crate) use toolset::GateMode;
pub use toolset::{SelectedToolset, ToolsetKind, ToolsetSnapshot};
pub use trace_settings::{ModelTracing, TraceSettings, TracingConfig};
pub(crate) use unread::Json;
pub use usage::{InputTokensDetails, OutputTokensDetails, Usage};
pub(crate) use version::decode;
pub use version::{WIRE_VERSION, WireDecodeError, WireVersion, WireVersionMismatch};
pub use worker_env::worker_env;

#[cfg(test)]
mod tests;
