//! Definitions by the author: agents, their instructions, handoffs and output types.
//!
//! Definitions only: no code here runs an agent. An [`Agent`] is built by chained setters that
//! cannot fail. [`Graph::check`](Graph::check) reports all issues of a graph of agents at once; a
//! run and the worker call it first.

pub(crate) mod as_tool;
pub(crate) mod child_agent;
mod def;
mod def_debug;
pub(crate) mod graph;
mod graph_issue;
pub(crate) mod guardrail;
pub(crate) mod guardrail_fn;
pub(crate) mod handoff;
mod handoff_filter;
pub(crate) mod handoff_history;
mod hooks;
pub(crate) mod instructions;
mod into_guardrail;
pub(crate) mod mcp_approval;
pub(crate) mod output;
pub(crate) mod picture;
pub(crate) mod sources;
pub(crate) mod spec;
pub(crate) mod tool_use;

pub use as_tool::{AgentTool, AgentToolResult};
pub use child_agent::ChildAgent;
pub(crate) use child_agent::ChildAgentTool;
pub use def::{Agent, AgentDef};
pub use graph::Graph;
pub use graph_issue::{GraphError, GraphIssue};
pub(crate) use guardrail::{Check, Judge, parse_guardrail_output};
pub use guardrail::{GuardrailContext, GuardrailInput, GuardrailOutput, InputGuardrail, OutputGuardrail};
pub(crate) use handoff::HandoffError;
pub use handoff::{Handoff, IntoHandoff};
pub use handoff_filter::{HandoffInputData, HandoffInputFilter};
pub use handoff_history::nest_history;
pub(crate) use handoff_history::nest_history_with;
pub use hooks::{HookContext, HookResult, HookedCall, RunHooks};
pub use instructions::{AgentInfo, Instructions};
pub use into_guardrail::{IntoInputGuardrail, IntoOutputGuardrail};
pub(crate) use output::OutputDef;
pub use output::OutputType;
pub(crate) use output::read_output;
pub(crate) use sources::permits_toolset;
pub use sources::{AgentSource, AgentSources};
pub use spec::{SpecError, SpecIssue, SpecParts};
pub use tool_use::{ToolResult, ToolUseBehavior};
