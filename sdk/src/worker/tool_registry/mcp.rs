//! The tools of MCP servers, whose calls are requests to their servers.

use std::sync::Arc;

use temporal_agents_core::tool::{ActivityBody, McpServer, ToolDef};

use super::{RegisterError, ToolRegistry};
use crate::{inline::mcp::Unlisted, mcp};

impl ToolRegistry {
    /// Requests the tools of a server, and adds them on these terms; each call is a request to the
    /// server, which [`Resources::mcp_server`](crate::Resources::mcp_server) has added under the
    /// same name. Connections are shared, reopened after they were lost, and closed when idle.
    ///
    /// They are tools with bodies of their own: an agent that has them needs no `mcp_server`, and
    /// in a workflow their activities are `agents.tool.<name>`. The list is that of the time of
    /// registration. In a workflow, [`Agent::mcp_server`](temporal_agents_core::agent::Agent::mcp_server), whose list is
    /// in history, is safer with a server that may change. A function that returns `_meta` receives
    /// the call, and of the run context only the keys that the tool names.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use temporal_agents::{Resources, mcp::McpTransport, tool::McpServer, worker::ToolRegistry};
    ///
    /// let files = McpTransport::stdio("mcp-server-files", ["/srv/papers"]);
    /// let registry = ToolRegistry::new(Resources::new().mcp_server("files", files))
    ///     .register_mcp(McpServer::named("files").only(["read_file"]))
    ///     .await?;
    /// println!("{}", registry.dispatch("read_file", r#"{"path": "a.txt"}"#).await?.text());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RegisterError`], if the resources of the registry have no such server; if it did not
    /// answer, after as many attempts as its `list_options` specify; if it keeps a state or
    /// requests values from people, which needs a run; or if its tools cannot be added to the
    /// others.
    pub async fn register_mcp(mut self, server: McpServer) -> Result<Self, RegisterError> {
        self.add_mcp(server).await?;
        Ok(self)
    }

    /// Adds the tools of a server to an existing registry, like
    /// [`register_mcp`](Self::register_mcp); an error leaves the registry unchanged.
    ///
    /// # Errors
    /// [`RegisterError`].
    pub async fn add_mcp(&mut self, server: McpServer) -> Result<(), RegisterError> {
        let tools = self.listed(server).await?;
        self.add_all(tools)
    }

    async fn listed(&self, server: McpServer) -> Result<Vec<ToolDef>, RegisterError> {
        let name = server.name().to_owned();
        let needs_run = |term| RegisterError::McpNeedsRun { server: name.clone(), term };
        if server.session_options().is_some() {
            return Err(needs_run("keeps a state for each connection"));
        }
        if server.allows_elicitation() {
            return Err(needs_run("may request input from people"));
        }
        let Some(connections) = self.resources.mcp.get(&name).map(Arc::clone) else {
            return Err(RegisterError::MissingMcpServer { server: name });
        };
        let pause = |attempt| self.patience.pause(attempt);
        let listed = self.resources.list_mcp_tools_with_retries(&server, None, pause).await;
        let listed = listed.map_err(|Unlisted { error, .. }| RegisterError::Mcp { server: name, source: error })?;
        let body = |binding: &temporal_agents_core::tool::McpBinding| -> ActivityBody {
            let (connections, binding) = (Arc::clone(&connections), binding.clone());
            Arc::new(move |ctx, arguments| {
                let meta = binding.server().meta_rule().map(|meta| meta(ctx.run(), ctx.info())).unwrap_or_default();
                let (call, _nobody_is_asked) = mcp::body(&connections, binding.target(meta, None, Vec::new()));
                Box::pin(async move { call(ctx, arguments).await })
            })
        };
        Ok(Arc::new(server).tools_with(&listed, body))
    }
}
