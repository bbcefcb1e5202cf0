//! The error of [`AgentsPlugin::install`](super::AgentsPlugin::install).

use temporal_agents_core::{agent::GraphIssue, wire::error_debug};

/// All issues that prevent a worker from running its agents.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the worker cannot run its agents:\n{}",
    .issues.iter().map(|issue| format!("- {issue}")).collect::<Vec<_>>().join("\n")
)]
#[non_exhaustive]
pub struct InstallError {
    /// The issues, in the order in which they were found; never empty.
    pub issues: Vec<InstallIssue>,
}

error_debug!(struct InstallError { issues });

/// An issue that prevents a worker from running its agents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstallIssue {
    /// Nothing was added to the plugin.
    #[error("the plugin has neither a model provider nor agents nor tools")]
    Empty,
    /// The plugin has agents, but no provider of their models: each model call would wait for hours
    /// for a worker that has one.
    #[error(
        "there are agents but no model provider; add Resources::model_provider(..), or AgentsPlugin::without_models() \
         if another worker calls models"
    )]
    NoProvider,
    /// The graph of agents is invalid.
    #[error(transparent)]
    Graph(#[from] GraphIssue),
    /// A tool requires a state that is missing.
    #[error("tool {tool:?} requires State<{state}>; add it with Resources::state(..)")]
    MissingState {
        /// Name of the tool.
        tool: String,
        /// Type of the state.
        state: &'static str,
    },
    /// A tool spills outputs that are too large, and there is no store for them.
    #[error("tool {tool:?} spills outputs that are too large; add Resources::spill_store(..)")]
    MissingSpillStore {
        /// Name of the tool.
        tool: String,
    },
    /// Workflows of the worker run agents as data, and there is no store of them.
    #[error("the worker's AgentSet has specs, and there is no store of agents; add Resources::agent_store(..)")]
    MissingAgentStore,
    /// Two different tools have the same name and the same parameters, so that a call does not
    /// determine which one it is for.
    #[error(
        "two different tools are named {tool:?}: their parameters are the same, and they differ in {}; rename one \
         with #[tool(name = ..)] or .named(..), or make them equal",
        .differs.join(", ")
    )]
    DuplicateTool {
        /// Name of both tools.
        tool: String,
        /// The parts in which they differ, in plain English.
        differs: Vec<&'static str>,
    },
    /// Two versions of a tool have different parameters, and some arguments fit both.
    #[error(
        "two versions of tool {tool:?} have different parameters, and some arguments fit both: add .versioned() to \
         the newer one, so that its calls contain their version; versions of an AgentSet are marked by .agents(&set)"
    )]
    UnmarkedVersion {
        /// Name of the tool.
        tool: String,
    },
    /// An agent has the tools of an MCP server that this worker does not reach.
    #[error(
        "agent {agent:?} has the tools of MCP server {server:?}, to which this worker has no connection; add \
         Resources::mcp_server({server:?}, McpTransport::..) (feature \"mcp\")"
    )]
    MissingMcpServer {
        /// Name of the agent.
        agent: String,
        /// Name of the server.
        server: String,
    },
    /// An agent has a remote tool whose transport this worker does not have.
    #[error(
        "agent {agent:?} has the remote tool {tool:?}, whose transport {transport:?} this worker does not have; add \
         Resources::named_tool_streams({transport:?}, ..)"
    )]
    MissingTransport {
        /// Name of the agent.
        agent: String,
        /// Name of the tool.
        tool: String,
        /// Name of the transport.
        transport: String,
    },
    /// An agent has sessions with an MCP server, and a plain worker holds no sessions.
    #[error(
        "agent {agent:?} has sessions with MCP server {server:?}, which keeps a state for each; a plain worker holds \
         none, so run it with AgentsWorker::new(.., &plugin, options) in place of plugin.install(..)"
    )]
    StatefulMcpServer {
        /// Name of the agent.
        agent: String,
        /// Name of the server.
        server: String,
    },
    /// The name of an MCP server cannot be a part of an activity's type.
    #[error("the name of MCP server {server:?} must be 1 to 64 letters, digits, '_' and '-'")]
    McpServerName {
        /// Name of the server.
        server: String,
    },
}
