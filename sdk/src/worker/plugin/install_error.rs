//! What keeps a worker from running its agents.

use crate::{agent::GraphIssue, wire::error_debug};

/// Everything that keeps a worker from running its agents.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the worker cannot run its agents:\n{}", .issues.iter().map(|issue| format!("- {issue}")).collect::<Vec<_>>().join("\n"))]
pub struct InstallError {
    /// The issues.
    pub issues: Vec<InstallIssue>,
}

error_debug!(struct InstallError { issues });

/// One thing that keeps a worker from running its agents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstallIssue {
    /// Nothing was given.
    #[error("the plugin has neither a model provider nor agents nor tools")]
    Empty,
    /// Agents, and nothing to ask for their models: each model call would wait for hours for a worker that has it.
    #[error(
        "there are agents but no model provider; add .model_provider(..), or .models_elsewhere() if another worker calls models"
    )]
    NoProvider,
    /// The agents are wrong.
    #[error(transparent)]
    Graph(#[from] GraphIssue),
    /// A tool needs a state that is not there.
    #[error("tool {tool:?} needs State<{state}>; add .state(..) with one to AgentsPlugin")]
    MissingState {
        /// The tool.
        tool: String,
        /// The state's type.
        state: &'static str,
    },
    /// A tool spills what is too large, and there is no store for it.
    #[error("tool {tool:?} spills outputs that are too large; add .spill_store(..) to AgentsPlugin")]
    MissingSpillStore {
        /// The tool.
        tool: String,
    },
    /// Two different tools have one name and the same parameters, so a call says for neither of them that it is meant.
    #[error(
        "two different tools are named {tool:?}: their parameters are the same, and they differ in {}; rename one with \
         #[tool(name = ..)] or .named(..), or make them alike",
        .differs.join(", ")
    )]
    DuplicateTool {
        /// The name.
        tool: String,
        /// What differs, in plain English.
        differs: Vec<&'static str>,
    },
    /// Two versions of a tool have other parameters, and some arguments fit both.
    #[error(
        "two versions of tool {tool:?} have other parameters, and some arguments fit both: add .versioned() to the newer one, so that its \
         calls say which version they are for; versions of an AgentSet are marked by .agents(&set)"
    )]
    UnmarkedVersion {
        /// The name.
        tool: String,
    },
    /// An agent has the tools of an MCP server that this worker does not reach.
    #[error(
        "agent {agent:?} has the tools of MCP server {server:?}, which this worker does not reach; \
         add .mcp_server({server:?}, McpTransport::..) to AgentsPlugin (feature \"mcp\")"
    )]
    MissingMcpServer {
        /// The agent.
        agent: String,
        /// The server.
        server: String,
    },
    /// An agent has sessions with an MCP server, and a plain worker holds none.
    #[error(
        "agent {agent:?} has sessions with MCP server {server:?}, which keeps a state for each; a plain worker holds none, so run it with \
         AgentsWorker::new(.., &plugin, options) in place of plugin.install(..)"
    )]
    StatefulMcpServer {
        /// The agent.
        agent: String,
        /// The server.
        server: String,
    },
    /// The name of an MCP server is no part of an activity's type.
    #[error("the name of MCP server {server:?} must be 1 to 64 letters, digits, '_' and '-'")]
    McpServerName {
        /// The server.
        server: String,
    },
}
