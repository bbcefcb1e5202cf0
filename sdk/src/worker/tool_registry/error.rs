//! What goes wrong when tools are registered, and when they are dispatched.

use crate::{engine::RunError, tool::ToolIssue, wire::error_debug};

/// Why a tool was not registered.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Two tools have one name.
    #[error(
        "there is a tool {tool:?} already; rename one of the two with .named(..) or #[tool(name = ..)], or give the MCP server it is of a \
         McpServer::prefix"
    )]
    Duplicate {
        /// The name.
        tool: String,
    },
    /// Its definition is wrong.
    #[error("tool {tool:?}: {}", .issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Invalid {
        /// The tool.
        tool: String,
        /// All that is wrong.
        issues: Vec<ToolIssue>,
    },
    /// An MCP server could not be asked for its tools, after all attempts.
    #[cfg(feature = "mcp")]
    #[error("MCP server {server:?} did not list its tools: {source}")]
    Mcp {
        /// The server.
        server: String,
        /// What went wrong.
        source: crate::engine::EffectError,
    },
    /// An MCP server is to be used in a way that needs a run.
    #[cfg(feature = "mcp")]
    #[error(
        "MCP server {server:?} {term}, which needs a run; give the server to an agent with Agent::mcp_server, or drop that term"
    )]
    McpNeedsRun {
        /// The server.
        server: String,
        /// What it is to do.
        term: &'static str,
    },
}

error_debug!(enum RegisterError {
    Duplicate { tool },
    Invalid { tool, issues },
    #[cfg(feature = "mcp")]
    Mcp { server, source },
    #[cfg(feature = "mcp")]
    McpNeedsRun { server, term },
});

/// Why a call gave nothing to tell the model.
///
/// A tool that fails is none of them: its call gives a [`Dispatched`](super::Dispatched) that says what the model is told.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// There is no such tool. [`tell_model`](Self::tell_model) has what a run would tell the model.
    #[error("there is no tool {tool:?}; the registry has {}", listed(.known))]
    Unknown {
        /// What was asked for.
        tool: String,
        /// The tools there are, in the order of their registration.
        known: Vec<String>,
    },
    /// The tool has no body here.
    #[error("tool {tool:?} is {kind}, which a registry cannot dispatch; {fix}")]
    NotHere {
        /// The tool.
        tool: String,
        /// What it is: `a child workflow`.
        kind: &'static str,
        /// What to do.
        fix: &'static str,
    },
    /// The tool needs a state that is not there.
    #[error("tool {tool:?} needs State<{state}>; add .state(..) with one to the ToolRegistry")]
    MissingState {
        /// The tool.
        tool: String,
        /// The state's type.
        state: &'static str,
    },
    /// The call waits for a decision, and nobody is asked here.
    #[error("call {call_id:?} of tool {tool:?} needs approval; dispatch it with .approved() once somebody has decided")]
    NeedsApproval {
        /// The tool.
        tool: String,
        /// The call.
        call_id: String,
    },
    /// The tool, or a guardrail of it, says that a run ends with this call.
    #[error(transparent)]
    EndsTheRun(#[from] RunError),
}

error_debug!(enum DispatchError {
    Unknown { tool, known },
    NotHere { tool, kind, fix },
    MissingState { tool, state },
    NeedsApproval { tool, call_id },
    EndsTheRun(source),
});

impl DispatchError {
    /// What the model is told, where a loop can go on: of a tool that is not there.
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
