//! MCP servers that the provider calls.

use serde_json::{Value, json};

use super::{HostedTool, builder, texts};

/// The tools of an MCP server; made by [`HostedTool::mcp`] and [`HostedTool::mcp_connector`].
///
/// A call that needs approval pauses the run, as that of a tool of your own does; [`Agent::on_mcp_approval`](crate::Agent::on_mcp_approval)
/// decides at once instead.
#[derive(Clone, Debug, PartialEq)]
pub struct HostedMcp(pub(super) HostedTool);

builder!(HostedMcp);

/// Which calls of an MCP server's tools need approval.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequireApproval {
    /// All: the provider's own default.
    Always,
    /// None.
    Never,
    /// Those of these tools.
    AlwaysFor(Vec<String>),
    /// Those of all other tools.
    NeverFor(Vec<String>),
}

impl HostedMcp {
    /// Which calls need approval.
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

    /// Offers these tools of the server alone.
    #[must_use]
    pub fn allowed_tools(self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.set("allowed_tools", texts(tools))
    }

    /// What the server is for, for the model.
    #[must_use]
    pub fn server_description(self, description: impl Into<String>) -> Self {
        self.set("server_description", description.into())
    }

    /// A header that the provider sends to the server. It is recorded in history: no place for a secret.
    #[must_use]
    pub fn header(self, name: &str, value: impl Into<Value>) -> Self {
        Self(self.0.with_in("headers", name, value))
    }
}
