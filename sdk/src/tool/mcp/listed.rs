//! From what a server lists to tools of an agent.

use std::{fmt::Write, sync::Arc};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{Approval, McpServer};
use crate::{
    tool::{
        approval::NeedsApproval, binding::ToolBinding, definition::ToolDef, enabled::Enabled,
        options::ToolActivityOptions,
    },
    wire::{MCP_ACTIVITY, MCP_CALL_TOOL, McpAnswer, McpTarget, McpTool},
};

/// The longest name that models take.
const LONGEST_NAME: usize = 64;

/// A tool of a server: where its calls go.
#[derive(Clone, Debug)]
pub struct McpBinding {
    server: Arc<McpServer>,
    tool: String,
    options: ToolActivityOptions,
}

impl McpServer {
    /// The tools of a list that the agent has; those that a function filters are there, with its rule.
    pub fn tools(self: &Arc<Self>, listed: &[McpTool]) -> Vec<ToolDef> {
        let is_offered = |tool: &&McpTool| {
            self.only.as_ref().is_none_or(|only| only.contains(&tool.name)) && !self.without.contains(&tool.name)
        };
        listed.iter().filter(is_offered).map(|tool| self.tool(tool)).collect()
    }

    fn tool(self: &Arc<Self>, listed: &McpTool) -> ToolDef {
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
            shown_name(&self.prefix, &listed.name),
            listed.description.clone().unwrap_or_default(),
            with_properties(&listed.input_schema).into(),
            ToolBinding::Mcp(binding),
        )
        .approval(approval)
        .enabled(enabled)
        .with_on_error(self.on_error.clone());
        if self.session.is_some() {
            // What one call leaves, the next one finds.
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
    /// The server.
    pub fn server(&self) -> &McpServer {
        &self.server
    }

    /// The tool's name at the server.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// How its calls are run.
    pub fn options(&self) -> &ToolActivityOptions {
        &self.options
    }

    /// The type of the activity that makes its calls.
    pub fn activity_type(&self) -> String {
        format!("{MCP_ACTIVITY}.{}.{MCP_CALL_TOOL}", self.server.name)
    }

    /// What a call with this `_meta` and these answers asks for in this session.
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

/// A server that says nothing of a tool is taken as our own tools are: it may be called again. One that says anything means the protocol's
/// defaults for what it leaves out: a tool that writes is not idempotent.
fn may_be_repeated(tool: &McpTool) -> bool {
    let [reads, repeats, destroys] = ["readOnlyHint", "idempotentHint", "destructiveHint"].map(|hint| tool.hint(hint));
    reads == Some(true) || repeats == Some(true) || [reads, repeats, destroys] == [None; 3]
}

/// A name that models take: other characters are `_`, and what is too long ends in eight digits of its digest.
fn shown_name(prefix: &str, name: &str) -> String {
    let whole = format!("{prefix}{name}");
    let taken = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let mut shown: String = whole.chars().map(taken).collect();
    if shown.len() > LONGEST_NAME {
        shown.truncate(LONGEST_NAME - 9);
        shown.push('_');
        for byte in &Sha256::digest(&whole)[..4] {
            let _ = write!(shown, "{byte:02x}");
        }
    }
    shown
}

/// Servers may leave out what providers insist on.
fn with_properties(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(members) = &mut schema {
        members.entry("type").or_insert_with(|| json!("object"));
        members.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

#[cfg(test)]
mod tests;
