//! Definitions by the author: agents, their instructions, handoffs and output types.

pub use temporal_agents_core::agent::{
    Agent, AgentDef, AgentInfo, AgentSource, AgentSources, AgentTool, AgentToolResult, AnswerApproval, Check,
    CheckInput, CheckOutput, ChildAgent, ChildAgentTool, ComputeInstructions, DecideToolUse, ExtractOutput, Graph,
    GraphError, GraphIssue, GuardrailContext, GuardrailInput, GuardrailOutput, Handoff, HandoffError, HandoffInputData,
    HandoffInputFilter, HandoffTarget, HookContext, HookResult, HookedCall, InputGuardrail, Instructions, IntoHandoff,
    IntoInputGuardrail, IntoOutputGuardrail, Judge, OnHandoff, OutputDef, OutputGuardrail, OutputType, RunHooks,
    SpecError, SpecIssue, SpecParts, ToolResult, ToolUseBehavior, nest_history,
};
