//! Names and attributes of spans, the same live and from history.
//!
//! Content of messages is left out, unless it is opted in by [`CAPTURE_CONTENT`]: prompts, answers,
//! arguments, outputs, and messages of failures.

use serde_json::Value;
use temporal_agents_core::wire::{Cost, Item, TraceSettings, Usage, Verdict, native_call::call_of};

use super::{
    ids::Execution,
    span::{Attribute, Attributes, Span},
};
use crate::provider::provider_of;

/// The environment variable that adds content to spans, if it is `true`.
pub(crate) const CAPTURE_CONTENT: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

/// The attribute with the name of an MCP server, as the agent has it.
const MCP_SERVER: &str = "temporal_agents.mcp_server";
/// The attribute with the verdict of a guardrail.
const TRIGGERED: &str = "temporal_agents.guardrail.triggered";

/// Returns `true` if spans may have content.
pub(crate) fn captures_content() -> bool {
    std::env::var(CAPTURE_CONTENT).is_ok_and(|value| value.eq_ignore_ascii_case("true"))
}

/// Returns `true` if a run with these settings permits content.
pub(crate) fn may_have_content(settings: Option<&TraceSettings>) -> bool {
    settings.is_none_or(|settings| settings.include_sensitive_data != Some(false))
}

/// The name and the attributes of a span.
pub(crate) struct Described {
    pub(crate) name: String,
    pub(crate) attributes: Attributes,
    /// `true` for a request to another service.
    pub(crate) is_client: bool,
}

impl Described {
    fn new(name: String, execution: &Execution<'_>, run_id: &str) -> Self {
        let described = Self { name, attributes: Vec::new(), is_client: false };
        if execution.workflow_id.is_empty() {
            // A run outside of Temporal, or a history without ids.
            return described;
        }
        described.with("temporalWorkflowID", execution.workflow_id).with("temporalRunID", run_id)
    }

    /// Adds the id of the activity, if there is one.
    fn of_activity(self, id: &str) -> Self {
        self.maybe("temporalActivityID", Some(id).filter(|id| !id.is_empty()))
    }

    fn client(self) -> Self {
        Self { is_client: true, ..self }
    }

    /// Adds the cost of a call, for which the conventions have no attribute: as a number, since
    /// backends add it up.
    fn cost(self, cost: &Cost) -> Self {
        let Some((currency, _)) = cost.iter().next() else { return self };
        let amount = cost.amount(currency);
        self.maybe("temporal_agents.cost", amount).with("temporal_agents.currency", currency)
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Attribute>) -> Self {
        self.attributes.push((name.into(), value.into()));
        self
    }

    /// Marks the span as open, if it has not ended.
    pub(crate) fn open_if(self, is_open: bool) -> Self {
        self.maybe("temporal_agents.open", is_open.then_some(true))
    }

    pub(crate) fn maybe(self, name: &'static str, value: Option<impl Into<Attribute>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

/// Describes a whole workflow; its name is that of its type, unless its runs give another.
pub(crate) fn workflow(execution: &Execution<'_>, name: &str) -> Described {
    Described::new(format!("invoke_workflow {name}"), execution, execution.first_run_id)
        .with("gen_ai.operation.name", "invoke_workflow")
        .with("gen_ai.workflow.name", name)
}

/// Describes the work of an agent.
pub(crate) fn agent(execution: &Execution<'_>, agent: &str) -> Described {
    Described::new(format!("invoke_agent {agent}"), execution, execution.run_id)
        .with("gen_ai.operation.name", "invoke_agent")
        .with("gen_ai.agent.name", agent)
}

/// Describes a model call with all its attempts.
pub(crate) fn model_call(
    execution: &Execution<'_>,
    activity_id: &str,
    agent: &str,
    turn: u32,
    model: &str,
) -> Described {
    Described::new(format!("call_model {model}"), execution, execution.run_id)
        .of_activity(activity_id)
        .with("gen_ai.agent.name", agent)
        .with("temporal_agents.turn", turn)
}

/// Describes an attempt at a model call.
pub(crate) fn chat(execution: &Execution<'_>, activity_id: &str, attempt: u32, model: &str) -> Described {
    let (provider, model) = provider_of(model);
    Described::new(format!("chat {model}"), execution, execution.run_id)
        .client()
        .of_activity(activity_id)
        .with("temporal_agents.attempt", attempt)
        .with("gen_ai.operation.name", "chat")
        .with("gen_ai.provider.name", provider)
        .with("gen_ai.request.model", model)
}

/// Adds the answer of a model to the attempt that received it.
pub(crate) fn answered(
    chat: Described,
    output: &[Item],
    (response_id, incomplete): (Option<&str>, Option<&str>),
    usage: &Usage,
) -> Described {
    let above_zero = |count: u64| (count > 0).then_some(count);
    let is_call = |item: &Item| call_of(item, output).is_some();
    let finish = match incomplete {
        Some("max_output_tokens") => "length",
        Some(other) => other,
        None if output.iter().any(is_call) => "tool_calls",
        None => "stop",
    };
    chat.maybe("gen_ai.response.id", response_id)
        .with("gen_ai.response.finish_reasons", vec![finish.to_owned()])
        .with("gen_ai.usage.input_tokens", usage.input_tokens)
        .with("gen_ai.usage.output_tokens", usage.output_tokens)
        .maybe("gen_ai.usage.cache_read.input_tokens", above_zero(usage.input_tokens_details.cached_tokens))
        .maybe("gen_ai.usage.reasoning.output_tokens", above_zero(usage.output_tokens_details.reasoning_tokens))
        .cost(&usage.cost)
}

/// Describes a tool call with all its attempts.
pub(crate) fn tool_call(execution: &Execution<'_>, id: &str, agent: &str, turn: u32, tool: &str) -> Described {
    Described::new(format!("call_tool {tool}"), execution, execution.run_id)
        .of_activity(id)
        .with("gen_ai.agent.name", agent)
        .with("temporal_agents.turn", turn)
}

/// Describes an execution of a tool: an attempt, or a body in the workflow.
pub(crate) fn execute_tool(execution: &Execution<'_>, tool: &str, call_id: &str) -> Described {
    Described::new(format!("execute_tool {tool}"), execution, execution.run_id)
        .with("gen_ai.operation.name", "execute_tool")
        .with("gen_ai.tool.name", tool)
        .with("gen_ai.tool.call.id", call_id)
        .with("gen_ai.tool.type", "function")
}

/// Describes an attempt at a tool call; `mcp_server` has the tool, if it is one of an MCP server.
///
/// By the conventions, an existing span of the tool gets the attributes of MCP, instead of another
/// span below it. The ids of the request and of the protocol's session, the address and the
/// transport are left out: they stay on the worker, so that history does not have them.
pub(crate) fn tool_attempt(
    execution: &Execution<'_>,
    id: &str,
    attempt: u32,
    tool: &str,
    call_id: &str,
    mcp_server: Option<&str>,
) -> Described {
    execute_tool(execution, tool, call_id)
        .of_activity(id)
        .with("temporal_agents.attempt", attempt)
        .maybe("mcp.method.name", mcp_server.map(|_| "tools/call"))
        .maybe(MCP_SERVER, mcp_server)
}

/// Describes the listing of an MCP server's tools with all its attempts.
pub(crate) fn mcp_list(execution: &Execution<'_>, id: &str, server: &str) -> Described {
    Described::new(format!("list_mcp_tools {server}"), execution, execution.run_id)
        .of_activity(id)
        .with(MCP_SERVER, server)
}

/// Describes an attempt at it.
pub(crate) fn mcp_list_attempt(execution: &Execution<'_>, id: &str, attempt: u32, server: &str) -> Described {
    Described::new("tools/list".to_owned(), execution, execution.run_id)
        .client()
        .of_activity(id)
        .with("temporal_agents.attempt", attempt)
        .with("mcp.method.name", "tools/list")
        .with(MCP_SERVER, server)
}

/// Describes the transfer to another agent, which either returns to the caller, or takes over.
pub(crate) fn transfer(
    execution: &Execution<'_>,
    caller: &str,
    tool: &str,
    call_id: &str,
    to: &str,
    returns: bool,
) -> Described {
    let mut described = execute_tool(execution, tool, call_id);
    described.name = format!("execute_tool {tool} {to}");
    described
        .with("gen_ai.agent.name", caller)
        .with("gen_ai.transfer.mode", if returns { "return_to_caller" } else { "pass_control" })
        .with("gen_ai.transfer.target.name", to)
}

/// Describes the decision of a judge on a call, as its name and id; the judge's own work is below
/// it. `None` = the call is not known.
pub(crate) fn judge(execution: &Execution<'_>, call: Option<(&str, &str)>) -> Described {
    let name = call.map_or_else(|| "judge".to_owned(), |(tool, _)| format!("judge {tool}"));
    Described::new(name, execution, execution.run_id)
        .maybe("gen_ai.tool.name", call.map(|(tool, _)| tool))
        .maybe("gen_ai.tool.call.id", call.map(|(_, call_id)| call_id))
}

/// Describes a wait for a person.
pub(crate) fn wait(execution: &Execution<'_>, agent: &str, tool: &str, verdict: Option<&str>) -> Described {
    Described::new(format!("wait_for_decision {tool}"), execution, execution.run_id)
        .with("gen_ai.agent.name", agent)
        .with("gen_ai.tool.name", tool)
        .maybe("temporal_agents.decision", verdict)
}

/// Describes a span that the author of a workflow has opened.
pub(crate) fn custom(execution: &Execution<'_>, name: String) -> Described {
    Described::new(name, execution, execution.run_id)
}

/// Describes a guardrail in an activity; `triggered` = its verdict, if it has one.
pub(crate) fn guardrail(
    execution: &Execution<'_>,
    activity_id: &str,
    name: &str,
    triggered: Option<bool>,
) -> Described {
    Described::new(format!("guardrail {name}"), execution, execution.run_id)
        .of_activity(activity_id)
        .maybe(TRIGGERED, triggered)
}

/// Describes a guardrail that has tripped and is not an activity; `tool` = the tool that it belongs
/// to.
pub(crate) fn tripped(execution: &Execution<'_>, name: &str, tool: Option<&str>) -> Described {
    Described::new(format!("guardrail {name}"), execution, execution.run_id)
        .with(TRIGGERED, true)
        .maybe("gen_ai.tool.name", tool)
}

/// Describes a read or a write of a session.
pub(crate) fn session(execution: &Execution<'_>, activity_id: &str, operation: &str) -> Described {
    Described::new(format!("session {operation}"), execution, execution.run_id).of_activity(activity_id)
}

/// Returns the name of a verdict.
pub(crate) fn verdict(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Approve => "approve",
        Verdict::ApproveWith { .. } => "approve_with",
        Verdict::Reject { .. } => "reject",
        Verdict::SupplyOutput { .. } => "supply_output",
    }
}

/// Adds content, if spans may have it.
pub(crate) fn content(span: &mut Span, is_captured: bool, name: &'static str, content: Option<&Value>) {
    if let (true, Some(content)) = (is_captured, content) {
        let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        span.attributes.push((name.into(), text.into()));
    }
}
