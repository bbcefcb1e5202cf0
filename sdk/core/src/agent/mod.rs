//! Definitions by the author: agents, their instructions, handoffs and output types.
//!
//! Definitions only: no code here runs an agent. An [`Agent`] is built by chained setters that
//! cannot fail. [`Graph::check`](Graph::check) reports all issues of a graph of agents at once; a
//! run and the worker call it first.

pub mod as_tool;
pub mod child_agent;
mod def;
mod def_debug;
pub mod graph;
mod graph_issue;
pub mod guardrail;
pub mod guardrail_fn;
pub mod handoff;
mod handoff_filter;
pub mod handoff_history;
mod hooks;
pub mod instructions;
mod into_guardrail;
pub mod mcp_approval;
pub mod output;
pub mod picture;
pub mod sources;
pub mod spec;
pub mod tool_use;

pub use as_tool::{AgentTool, AgentToolResult, ExtractOutput};
pub use child_agent::ChildAgent;
pub use child_agent::ChildAgentTool;
pub use def::{Agent, AgentDef};
pub use graph::Graph;
pub use graph_issue::{GraphError, GraphIssue};
pub use guardrail::{Check, CheckInput, CheckOutput, Judge, parse_guardrail_output};
pub use guardrail::{GuardrailContext, GuardrailInput, GuardrailOutput, InputGuardrail, OutputGuardrail};
pub use handoff::{Handoff, IntoHandoff};
pub use handoff::{HandoffError, HandoffTarget, OnHandoff, to_tool_name};
pub use handoff_filter::{HandoffInputData, HandoffInputFilter};
pub use handoff_history::nest_history;
pub use handoff_history::nest_history_with;
pub use hooks::{HookContext, HookResult, HookedCall, RunHooks};
pub use instructions::{AgentInfo, ComputeInstructions, Instructions};
pub use into_guardrail::{IntoInputGuardrail, IntoOutputGuardrail};
pub use mcp_approval::AnswerApproval;
pub use output::OutputDef;
pub use output::OutputType;
pub use output::read_output;
pub use sources::permits_toolset;
pub use sources::{AgentSource, AgentSources};
pub use spec::{SpecError, SpecIssue, SpecParts};
pub use tool_use::{DecideToolUse, ToolResult, ToolUseBehavior};
