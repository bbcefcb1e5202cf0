//! MCP servers that the provider calls.

use serde_json::{Value, json};

use super::{HostedTool, builder, texts};

/// The tools of an MCP server; created by [`HostedTool::mcp`] and [`HostedTool::mcp_connector`].
///
/// A call that needs approval pauses the run, like a call of an agent's own tool;
/// [`Agent::on_mcp_approval`](crate::agent::Agent::on_mcp_approval) decides at once instead.
#[derive(Clone, Debug, PartialEq)]
pub struct HostedMcp(pub(super) HostedTool);

builder!(HostedMcp);

/// A rule that decides which calls of an MCP server's tools need approval.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequireApproval {
    /// All calls: the provider's own default.
    Always,
    /// No calls.
    Never,
    /// Calls of these tools.
    AlwaysFor(Vec<String>),
    /// Calls of all other tools.
    NeverFor(Vec<String>),
}

impl HostedMcp {
    /// Sets the rule that decides which calls need approval.
    #[must_use]
    pub fn require_approval(self, approval: RequireApproval) -> Self {
        let value = match approval {
            RequireApproval::Always => Value::from("always"),
            RequireApproval::Never => Value::from("never"),
            RequireApproval::AlwaysFor(tools) => json!({"always": {"tool_names": tools}}),
            RequireApproval::NeverFor(tools) => json!({"never": {"tool_names": tools}}),
        };
        self.set("require_approval", value)
    }

    /// Offers only these tools of the server.
    #[must_use]
    pub fn allowed_tools(self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.set("allowed_tools", texts(tools))
    }

    /// Sets the description of the server for the model.
    #[must_use]
    pub fn server_description(self, description: impl Into<String>) -> Self {
        self.set("server_description", description.into())
    }

    /// Adds a header that the provider sends to the server. It is recorded in history, so it must
    /// not hold a secret.
    #[must_use]
    pub fn header(self, name: &str, value: impl Into<Value>) -> Self {
        Self(self.0.with_in("headers", name, value))
    }
}
