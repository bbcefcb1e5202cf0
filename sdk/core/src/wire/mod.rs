//! The contract between workflow code and worker: the messages that history contains.
//!
//! Both sides compile against these types, so this module imports no other module of this crate. It
//! guarantees that a message written by one release is read by the next ([`WireVersion`]), that
//! *data* (items, usage) is kept unchanged, including unknown fields and kinds, and that
//! *instructions* (input segments, definition parts) of an unknown kind are a
//! [`WireVersionMismatch`] and never a guess. It does not schedule, call or decide anything.
//!
//! Golden files of every message of every version are in `tests/golden/wire/`.
//!
//! # Design
//! **Messages are not `#[non_exhaustive]`.** Providers, the worker and the service are other crates,
//! and each of them must name every field and kind of a message that it projects, so that a new one
//! is a compile error at each projection instead of content that is silently lost.

pub mod absent;
pub mod agent_handlers;
pub mod agent_spec;
pub mod approval;
pub mod arguments;
pub mod asked_questions;
mod by_kind;
pub mod canonical;
pub mod carried;
pub mod conversation;
mod cost;
mod decider;
pub mod definitions;
pub mod delta_window;
pub mod digest;
pub mod error_debug;
pub mod event;
pub mod failure;
pub mod find_toolsets;
pub mod incomplete;
pub mod item;
mod json_schemas;
pub mod kept_decision;
pub mod load_agent;
pub mod mcp_call;
pub mod model_call;
pub mod native_call;
pub mod nexus_endpoint;
pub mod passed_gate;
pub mod ready_made;
pub mod remote_call;
pub mod run_attributes;
pub mod run_mode;
pub mod run_place;
mod run_problem;
pub mod run_state;
pub mod run_status;
pub mod schema;
pub mod session_call;
pub mod session_checkpoint;
pub mod session_facts;
pub mod settings;
pub mod side_data;
pub mod size;
pub mod tool_batch;
pub mod tool_call;
pub mod tool_call_meta;
pub mod tool_error;
pub mod toolset;
pub mod trace_settings;
mod unread;
pub mod usage;
pub mod version;
pub mod worker_env;

pub use agent_handlers::AGENT_SUPPLY_OUTPUT;
pub use agent_handlers::{AGENT_DECIDE, AGENT_STATE};
pub use agent_handlers::{
    AgentDecision, AgentInterruption, AgentState, DecidedInterruption, DecisionAnswer, DecisionReply, SuppliedOutput,
    Verdict,
};
pub use agent_spec::{AgentSpec, SpecHandoff, SpecOutput, SpecRef, SpecTool};
pub use approval::{ApprovalRequest, ApprovalRuling};
pub use carried::Carried;
pub use conversation::{Conversation, InputSegment};
pub use conversation::{Folded, Ledger, Noted};
pub use cost::Cost;
pub use definitions::{Definitions, HandoffSpec, OutputSpec, Prompt, ToolSpec};
pub use digest::{DigestChain, ItemDigest};
pub use error_debug::error_debug;
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
pub use run_mode::{RunMode, UnknownRunMode};
pub use run_problem::{RunProblem, RunProblemKind};
pub use run_state::{
    Decision, DecisionRefused, GuardrailResults, InputGuardrailResult, Interruption, InterruptionKind, McpApproval,
    NewItem, NewItemKind, OutputGuardrailResult, RunState, ToolGuardrailBehavior, ToolGuardrailResult,
};
pub use run_status::RunStatus;
pub use schema::Schema;
pub use session_call::SessionPosition;
pub use session_checkpoint::KeptCheckpoint;
pub use session_checkpoint::SessionCheckpoint;
pub use settings::{ModelRetryBackoff, ModelRetrySettings, ModelSettings, ToolChoice};
pub use side_data::{Bounds, ServerData, SideData};
pub use tool_call::{ToolOutput, ToolReply, ToolRequest};
pub use toolset::GateMode;
pub use toolset::{SelectedToolset, ToolsetKind, ToolsetSnapshot};
pub use trace_settings::{ModelTracing, TraceSettings, TracingConfig};
pub use unread::Json;
pub use usage::{InputTokensDetails, OutputTokensDetails, Usage};
pub use version::decode;
pub use version::{WIRE_VERSION, WireDecodeError, WireVersion, WireVersionMismatch};
pub use worker_env::worker_env;

#[cfg(test)]
mod tests;
