//! The tools of MCP servers, whose calls are requests to their servers.

use std::sync::Arc;

use super::{RegisterError, ToolRegistry};
use crate::{
    inline::mcp::{InlineMcp, Unlisted},
    mcp::{self, McpServers, McpTransport},
    tool::{ActivityBody, McpServer, ToolDef},
};

impl ToolRegistry {
    /// Requests the tools of a server, and adds them on these terms; each call is a request to the
    /// server. Connections are shared, reopened after they were lost, and closed after 5 idle
    /// minutes.
    ///
    /// They are tools with bodies of their own: an agent that has them needs no `mcp_server`, and
    /// in a workflow their activities are `agents.tool.<name>`. The list is that of the time of
    /// registration. In a workflow, [`Agent::mcp_server`](crate::Agent::mcp_server), whose list is
    /// in history, is safer with a server that may change. A function that returns `_meta` receives
    /// the call, and of the run context only the keys that the tool names.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use temporal_agents::{mcp::McpTransport, tool::McpServer, worker::ToolRegistry};
    ///
    /// let files = McpServer::named("files").only(["read_file"]);
    /// let registry = ToolRegistry::new()
    ///     .register_mcp(files, McpTransport::stdio("mcp-server-files", ["/srv/papers"]))
    ///     .await?;
    /// println!("{}", registry.dispatch("read_file", r#"{"path": "a.txt"}"#).await?.text());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RegisterError`], if the server did not answer, after as many attempts as its
    /// `list_options` specify; if it keeps a state or requests values from people, which needs a
    /// run; or if its tools cannot be added to the others.
    pub async fn register_mcp(
        mut self,
        server: McpServer,
        transport: impl Into<McpTransport>,
    ) -> Result<Self, RegisterError> {
        self.add_mcp(server, transport).await?;
        Ok(self)
    }

    /// Adds the tools of a server to an existing registry, like
    /// [`register_mcp`](Self::register_mcp); an error leaves the registry unchanged.
    ///
    /// # Errors
    /// [`RegisterError`].
    pub async fn add_mcp(
        &mut self,
        server: McpServer,
        transport: impl Into<McpTransport>,
    ) -> Result<(), RegisterError> {
        let tools = self.listed(server, transport.into()).await?;
        self.add_all(tools)
    }

    async fn listed(&self, server: McpServer, transport: McpTransport) -> Result<Vec<ToolDef>, RegisterError> {
        let name = server.name().to_owned();
        let needs_run = |term| RegisterError::McpNeedsRun { server: name.clone(), term };
        if server.session_options().is_some() {
            return Err(needs_run("keeps a state for each connection"));
        }
        if server.allows_elicitation() {
            return Err(needs_run("may request input from people"));
        }
        let mut servers = McpServers::default();
        servers.allow(&self.env);
        servers.add(name.clone(), transport);
        let reached = InlineMcp { servers };
        let listed = reached.list_with_retries(&server, None, |attempt| self.patience.pause(attempt)).await;
        let listed =
            listed.map_err(|Unlisted { error, .. }| RegisterError::Mcp { server: name.clone(), source: error })?;
        let Some(connections) = reached.servers.get(&name).map(Arc::clone) else { return Ok(Vec::new()) };
        let body = |binding: &crate::tool::McpBinding| -> ActivityBody {
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
