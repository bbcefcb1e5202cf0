//! Conversion of the tools that a server lists into tools of an agent.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Approval, McpServer};
use crate::{
    tool::{
        approval::NeedsApproval,
        binding::ToolBinding,
        definition::ToolDef,
        enabled::Enabled,
        from_outside::{shown_names, with_required_members},
        options::ToolActivityOptions,
    },
    wire::{
        McpAnswer, McpTool,
        mcp_call::{MCP_ACTIVITY, MCP_CALL_TOOL, McpTarget},
    },
};

/// The binding of a server's tool: the server, the tool's name there, and the options of its calls.
#[derive(Clone, Debug)]
pub struct McpBinding {
    server: Arc<McpServer>,
    tool: String,
    options: ToolActivityOptions,
}

impl McpServer {
    /// Returns the tools of a list that are offered to the agent. Tools that
    /// [`filter`](Self::filter) may exclude are included, with the filter as their rule.
    pub fn tools(self: &Arc<Self>, listed: &[McpTool]) -> Vec<ToolDef> {
        let is_offered = |tool: &&McpTool| {
            self.only.as_ref().is_none_or(|only| only.contains(&tool.name)) && !self.without.contains(&tool.name)
        };
        let offered: Vec<&McpTool> = listed.iter().filter(is_offered).collect();
        let names = shown_names(&self.prefix, offered.iter().map(|tool| &*tool.name));
        offered.into_iter().zip(names).map(|(tool, name)| self.tool(tool, name)).collect()
    }

    /// `true` if the options permit a call of its tools to be made twice; the server may still mark
    /// a tool as not idempotent.
    #[doc(hidden)]
    pub fn is_idempotent(&self) -> bool {
        self.call_options.idempotent
    }

    fn tool(self: &Arc<Self>, listed: &McpTool, shown_name: String) -> ToolDef {
        let binding = McpBinding {
            server: Arc::clone(self),
            tool: listed.name.clone(),
            options: ToolActivityOptions {
                idempotent: self.call_options.idempotent && may_be_repeated(listed),
                ..self.call_options.clone()
            },
        };
        let approval = match &self.approval {
            Approval::All(approval) => approval.clone(),
            Approval::Of(named) if named.contains(&listed.name) => NeedsApproval::Always,
            Approval::Of(_) => NeedsApproval::Never,
        };
        let enabled = match &self.filter {
            None => Enabled::default(),
            Some(filter) => {
                let (filter, listed) = (Arc::clone(filter), listed.clone());
                Enabled::when(move |run, agent, _turn| filter(run, agent, &listed))
            }
        };
        let mut tool = ToolDef::unchecked(
            shown_name,
            listed.description.clone().unwrap_or_default(),
            with_required_members(&listed.input_schema).into(),
            ToolBinding::Mcp(binding),
        )
        .approval(approval)
        .enabled(enabled)
        .with_on_error(self.on_error.clone());
        if self.session.is_some() {
            // A call may depend on the state that the previous call left at the server.
            tool = tool.exclusive(format!("MCP server {}", self.name));
        }
        for guardrail in &self.input_guardrails {
            tool = tool.with_input_guardrail(guardrail.clone());
        }
        for guardrail in &self.output_guardrails {
            tool = tool.with_output_guardrail(guardrail.clone());
        }
        tool
    }
}

impl McpBinding {
    /// Returns the server.
    pub fn server(&self) -> &McpServer {
        &self.server
    }

    /// Returns the name of the tool at the server.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the options of the tool's calls.
    pub fn options(&self) -> &ToolActivityOptions {
        &self.options
    }

    /// Returns the type of the activity that makes the tool's calls.
    pub fn activity_type(&self) -> String {
        format!("{MCP_ACTIVITY}.{}.{MCP_CALL_TOOL}", self.server.name)
    }

    /// Returns the target of a call with this `_meta` and these answers, in this session.
    pub fn target(&self, meta: Map<String, Value>, session: Option<String>, answers: Vec<McpAnswer>) -> McpTarget {
        McpTarget {
            server: self.server.name.clone(),
            tool: self.tool.clone(),
            argument: self.server.argument.clone(),
            session,
            meta,
            structured_content: self.server.structured_content,
            answers: self.server.asks_people.then_some(answers),
            once: !self.options.idempotent,
        }
    }
}

/// Returns `true` if a call of the tool may be repeated. A tool without any hint is handled like
/// tools of this library: it may be repeated. If the server sends any hint, the protocol's defaults
/// apply to those that it leaves out: a tool that writes is not idempotent.
fn may_be_repeated(tool: &McpTool) -> bool {
    let [reads, repeats, destroys] = ["readOnlyHint", "idempotentHint", "destructiveHint"].map(|hint| tool.hint(hint));
    reads == Some(true) || repeats == Some(true) || [reads, repeats, destroys] == [None; 3]
}

#[cfg(test)]
mod tests;
