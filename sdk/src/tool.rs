//! Tools: a description for the model, and a body that runs where the tool's [`ToolBinding`] says.

pub use temporal_agents_core::tool::{
    ActivityBody, ApprovalPredicate, ApprovalRule, BoxError, CallInfo, ChildId, ChildWorkflow, CodeInterpreter,
    ComputeId, ContextError, DescribeFailure, DescribeFailureByKind, Enabled, FileSearch, FromToolContext, HostedMcp,
    HostedTool, ImageGeneration, InlineBody, IntoToolError, Issue, McpBinding, McpRefresh, McpServer,
    McpSessionOptions, McpSessionRecovery, McpToolFilter, NativeTool, NeedsApproval, OUTCOME_UNKNOWN, OnToolError,
    OversizedOutput, ParentClosePolicy, RemoteActivity, RemoteToolset, RequireApproval, ResultKind, RunContext,
    SettingError, State, StateRequirement, TOOL_FAILED, Tool, ToolActivityOptions, ToolArgument, ToolBinding,
    ToolContext, ToolDef, ToolError, ToolFailure, ToolFailureKind, ToolGuardrailContext, ToolGuardrailOutput,
    ToolInputGuardrail, ToolIssue, ToolOutputGuardrail, UserLocation, ValueKind, WebSearch, WorkflowBody,
    WorkflowEffects, WorkflowToolContext, WorkflowToolError,
};
#[cfg(feature = "nexus")]
pub use temporal_agents_core::tool::{NexusCancellation, NexusOperation};
