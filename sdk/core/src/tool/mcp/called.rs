//! Tools of a server as tools with a body of their own, for authors with a client of their own.

use std::{future::Future, sync::Arc};

use serde_json::{Map, Value};

use super::{McpBinding, McpServer};
use crate::{
    tool::{
        binding::{ActivityBody, ToolBinding},
        definition::ToolDef,
        error::ToolError,
    },
    wire::{McpTool, ToolOutput},
};

impl McpServer {
    /// Turns a list of tools into tools that call this function with the name of the tool at the
    /// server and the arguments. Each call is an activity of its own (`agents.tool.<name>`). Use it
    /// for a client of your own, or a list that you have stored. Names, approvals, guardrails,
    /// options and other settings are those of this server; the function itself is responsible for
    /// the connection (argument, session, `_meta`, questions to people).
    ///
    /// ```
    /// # extern crate temporal_agents_core as temporal_agents;
    /// use std::sync::Arc;
    /// use serde_json::json;
    /// use temporal_agents::{Agent, ToolError, tool::McpServer, wire::McpTool};
    ///
    /// # fn main() -> Result<(), serde_json::Error> {
    /// let listed: Vec<McpTool> =
    ///     serde_json::from_value(json!([{"name": "read_file", "description": "Reads a file."}]))?;
    /// let files = McpServer::named("files").prefix("files_");
    /// let files = files.tools_with_client(&listed, |tool, arguments| async move {
    ///     // ask your client here
    ///     Ok::<_, ToolError>(format!("{tool} with {arguments:?}").into())
    /// });
    /// let clerk: Agent = Agent::new("clerk").model("gpt-5-mini").tools(files);
    /// # let _ = clerk;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Determinism
    /// The code that creates the agent of a workflow must use the same list at every replay. For a
    /// list that may change, use [`Agent::mcp_server`](crate::agent::Agent::mcp_server), which records the
    /// list in history.
    pub fn tools_with_client<F>(
        self,
        listed: &[McpTool],
        call: impl Fn(String, Map<String, Value>) -> F + Send + Sync + 'static,
    ) -> Vec<ToolDef>
    where
        F: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        let call = Arc::new(call);
        Arc::new(self).tools_with(listed, |binding| {
            let (call, tool) = (Arc::clone(&call), binding.tool().to_owned());
            Arc::new(move |_ctx, arguments| Box::pin(call(tool.clone(), arguments)))
        })
    }

    /// Turns a list of tools into tools whose bodies this function creates.
    #[doc(hidden)]
    pub fn tools_with(
        self: &Arc<Self>,
        listed: &[McpTool],
        body: impl Fn(&McpBinding) -> ActivityBody,
    ) -> Vec<ToolDef> {
        let with_body = |tool: ToolDef| match tool.binding() {
            ToolBinding::Mcp(binding) => {
                let binding = ToolBinding::Activity { body: body(binding), options: binding.options().clone() };
                tool.with_binding(binding)
            }
            _ => tool,
        };
        self.tools(listed).into_iter().map(with_body).collect()
    }
}
