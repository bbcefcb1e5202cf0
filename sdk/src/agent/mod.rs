//! Definitions by the author: agents, their instructions, handoffs and output types.
//!
//! Definitions only: no code here runs an agent. An [`Agent`] is built by chained setters that
//! cannot fail. [`Graph::check`](Graph::check) reports all issues of a graph of agents at once; a
//! run and the worker call it first.

mod as_tool;
mod child_agent;
mod def;
mod graph;
mod graph_issue;
mod guardrail;
pub(crate) mod guardrail_fn;
mod handoff;
mod handoff_filter;
mod handoff_history;
mod hooks;
mod instructions;
mod into_guardrail;
mod mcp_approval;
mod output;
mod sources;
mod tool_use;

pub use as_tool::{AgentTool, AgentToolResult, ExtractOutput};
pub use child_agent::{ChildAgent, ChildAgentTool};
pub use def::{Agent, AgentDef};
pub use graph::Graph;
pub use graph_issue::{GraphError, GraphIssue};
pub use guardrail::{
    Check, CheckInput, CheckOutput, GuardrailContext, GuardrailInput, GuardrailOutput, InputGuardrail, Judge,
    OutputGuardrail, guardrail_answer,
};
pub use handoff::{Handoff, HandoffIssue, HandoffTarget, IntoHandoff, OnHandoff, tool_name_of};
pub use handoff_filter::{HandoffInputData, HandoffInputFilter};
pub use handoff_history::{nest_history, nest_history_with};
pub use hooks::{HookContext, HookResult, HookedCall, RunHooks};
pub use instructions::{AgentInfo, ComputeInstructions, Instructions};
pub use into_guardrail::{IntoInputGuardrail, IntoOutputGuardrail};
pub use mcp_approval::AnswerApproval;
pub(crate) use output::read_output;
pub use output::{OutputDef, OutputType};
pub use sources::{AgentSource, AgentSources};
pub use tool_use::{DecideToolUse, ToolResult, ToolUseBehavior};
