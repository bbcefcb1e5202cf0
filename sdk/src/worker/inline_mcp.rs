//! The MCP servers of a run without Temporal; without feature `mcp` there are none.

use crate::{
    drive::{ToolEffect, ToolEffectError},
    engine::EffectError,
    tool::{ActivityBody, McpServer},
    wire::McpTool,
};

/// The servers.
#[derive(Clone, Default)]
pub(super) struct InlineMcp {
    #[cfg(feature = "mcp")]
    pub(super) servers: super::mcp::McpServers,
}

/// Why a server listed nothing, and whether it may the next time.
pub(super) struct Unlisted {
    pub(super) error: EffectError,
    pub(super) may_pass: bool,
}

impl InlineMcp {
    /// The tools of a server.
    #[cfg(feature = "mcp")]
    pub(super) async fn list(&self, server: &McpServer) -> Result<Vec<McpTool>, Unlisted> {
        let Some(connections) = self.servers.get(server.name()) else { return Err(unknown(server.name())) };
        super::mcp::list_tools(connections, server.factory_argument())
            .await
            .map_err(|error| Unlisted { may_pass: error.is_passing(), error: Box::new(error) })
    }

    /// The tools of a server.
    #[cfg(not(feature = "mcp"))]
    #[expect(clippy::unused_async, reason = "with feature `mcp` it waits")]
    pub(super) async fn list(&self, server: &McpServer) -> Result<Vec<McpTool>, Unlisted> {
        Err(unknown(server.name()))
    }

    /// What runs a call of a server's tool.
    #[cfg_attr(not(feature = "mcp"), expect(clippy::unused_self, reason = "with feature `mcp` it has the servers"))]
    pub(super) fn body(&self, call: &ToolEffect<'_>) -> Result<ActivityBody, ToolEffectError> {
        let target = call.mcp.as_ref().expect("the call of a tool of an MCP server has its target");
        #[cfg(feature = "mcp")]
        if let Some(connections) = self.servers.get(&target.server) {
            return Ok(super::mcp::body(connections, target.clone()));
        }
        Err(ToolEffectError::Host(unknown(&target.server).error))
    }
}

fn unknown(server: &str) -> Unlisted {
    let error = format!("there is no MCP server {server:?}; add it with .mcp_server(..) (feature \"mcp\")").into();
    Unlisted { error, may_pass: false }
}
