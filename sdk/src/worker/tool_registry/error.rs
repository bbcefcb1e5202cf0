//! Errors of the registration and the dispatch of tools.

use temporal_agents_core::{engine::RunError, tool::ToolIssue, wire::error_debug};

/// The reason that a tool was not registered.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Two tools have the same name.
    #[error(
        "a tool {tool:?} is already registered; rename one of the two with .named(..) or #[tool(name = ..)], or set \
         McpServer::prefix on its MCP server"
    )]
    Duplicate {
        /// Name of both tools.
        tool: String,
    },
    /// The definition of the tool is invalid.
    #[error("tool {tool:?}: {}", .issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Invalid {
        /// Name of the tool.
        tool: String,
        /// All issues of the definition.
        issues: Vec<ToolIssue>,
    },
    /// The resources of the registry have no MCP server of this name.
    #[cfg(feature = "mcp")]
    #[error(
        "the registry has no connection to MCP server {server:?}; add Resources::mcp_server({server:?}, \
         McpTransport::..)"
    )]
    MissingMcpServer {
        /// Name of the server.
        server: String,
    },
    /// An MCP server did not list its tools, after all attempts.
    #[cfg(feature = "mcp")]
    #[error("MCP server {server:?} did not list its tools: {source}")]
    Mcp {
        /// Name of the server.
        server: String,
        /// Failure of the last attempt.
        source: temporal_agents_core::tool::BoxError,
    },
    /// An MCP server is configured with a term that needs a run.
    #[cfg(feature = "mcp")]
    #[error(
        "MCP server {server:?} {term}, which needs a run; add the server to an agent with Agent::mcp_server, or \
         remove that term"
    )]
    McpNeedsRun {
        /// Name of the server.
        server: String,
        /// The term, as a predicate: `may request input from people`.
        term: &'static str,
    },
}

error_debug!(enum RegisterError {
    Duplicate { tool },
    Invalid { tool, issues },
    #[cfg(feature = "mcp")]
    MissingMcpServer { server },
    #[cfg(feature = "mcp")]
    Mcp { server, source },
    #[cfg(feature = "mcp")]
    McpNeedsRun { server, term },
});

/// The reason that a call has no output for the model.
///
/// A tool that fails is not an error: its call returns a [`DispatchResult`](super::DispatchResult)
/// with a message for the model.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// No such tool is registered. [`tell_model`](Self::tell_model) returns the message that a run
    /// would send to the model.
    #[error("there is no tool {tool:?}; the registry has {}", listed(.known))]
    Unknown {
        /// The requested name.
        tool: String,
        /// Names of the registered tools, in the order of their registration.
        known: Vec<String>,
    },
    /// The tool has no body in this process.
    #[error("tool {tool:?} is {kind}, which a registry cannot dispatch; {fix}")]
    NotDispatchable {
        /// Name of the tool.
        tool: String,
        /// Kind of the tool, such as `a child workflow`.
        kind: &'static str,
        /// The remedy, for the error message.
        fix: &'static str,
    },
    /// The tool requires a state that is missing.
    #[error("tool {tool:?} requires State<{state}>; add it with Resources::state(..)")]
    MissingState {
        /// Name of the tool.
        tool: String,
        /// Type of the state.
        state: &'static str,
    },
    /// The call waits for a decision, which a registry cannot request.
    #[error("call {call_id:?} of tool {tool:?} needs approval; dispatch it with .approved() after it was approved")]
    NeedsApproval {
        /// Name of the tool.
        tool: String,
        /// Id of the call.
        call_id: String,
    },
    /// The tool, or one of its guardrails, requires that a run ends with this call.
    #[error(transparent)]
    RunEnded(#[from] RunError),
}

error_debug!(enum DispatchError {
    Unknown { tool, known },
    NotDispatchable { tool, kind, fix },
    MissingState { tool, state },
    NeedsApproval { tool, call_id },
    RunEnded(source),
});

impl DispatchError {
    /// Returns the message for the model, if a loop can continue after the error: for a tool that
    /// is not registered.
    pub fn tell_model(&self) -> Option<String> {
        match self {
            Self::Unknown { tool, .. } => Some(format!("Tool '{tool}' not found.")),
            _ => None,
        }
    }
}

fn listed(known: &[String]) -> String {
    if known.is_empty() {
        return "none".to_owned();
    }
    known.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}
