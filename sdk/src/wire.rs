//! The contract between workflow code and worker: the messages that history contains.
//!
//! A message written by one release is read by the next ([`WireVersion`]). *Data* (items, usage) is
//! kept unchanged, unknown fields and kinds included. *Instructions* of an unknown kind are a
//! [`WireVersionMismatch`] and never a guess.

pub use temporal_agents_core::wire::{
    AgentDecision, AgentInterruption, AgentReport, AgentRequest, AgentSpec, AgentState, ApprovalRequest,
    ApprovalRuling, Bounds, Carried, ChatMessage, ChatOutcome, ChatReply, ChatRequest, ChatTranscript, Conversation,
    Cost, DecidedInterruption, Decision, DecisionAnswer, DecisionRefused, DecisionReply, Definitions, EventKind,
    FunctionCall, GuardrailResults, GuardrailStage, HandoffSpec, InputGuardrailResult, InputSegment,
    InputTokensDetails, Interruption, InterruptionKind, Item, ItemView, KeptDecision, KeptDecisions, MODEL_ACTIVITY,
    McpAnswer, McpApproval, McpQuestion, McpTool, ModelCall, ModelFailureDetails, ModelFailureKind, ModelReply,
    ModelRequest, ModelResponse, ModelRetryBackoff, ModelRetrySettings, ModelSettings, ModelTracing, NativeKind,
    NewItem, NewItemKind, OutputGuardrailResult, OutputSpec, OutputTokensDetails, PassedGate, Prompt, RecordedFailure,
    RemoteTool, RequestInput, RunEvent, RunMode, RunProblem, RunProblemKind, RunState, RunStatus, Schema,
    SelectedToolset, ServerData, SessionCheckpoint, SideData, SpecHandoff, SpecOutput, SpecRef, SpecTool,
    SuppliedOutput, ToolChoice, ToolGuardrailBehavior, ToolGuardrailResult, ToolOutput, ToolReply, ToolRequest,
    ToolSpec, ToolsetKind, ToolsetSnapshot, TraceSettings, TracingConfig, Usage, Verdict, WIRE_VERSION,
    WireDecodeError, WireVersion, WireVersionMismatch, worker_env,
};
