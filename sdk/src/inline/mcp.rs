//! The MCP servers of a run without Temporal; there are none without feature `mcp`.

use std::time::Duration;

#[cfg(feature = "mcp")]
use temporal_agents_core::wire::mcp_call::McpOpened;
use temporal_agents_core::{
    drive::{ToolEffect, ToolEffectError},
    tool::{ActivityBody, BoxError, McpServer},
    wire::{McpTool, mcp_call::McpSession},
};
use tokio::time::{sleep, timeout};

use crate::{activity::asked_people::QuestionSlot, resources::Resources};

/// The failure to list the tools of a server, or to open a session with it.
pub(crate) struct Unlisted {
    pub(crate) error: BoxError,
    /// `true` if a later attempt may succeed.
    pub(crate) may_pass: bool,
    /// `true` if the request was made in a session that no longer exists.
    pub(crate) session_lost: bool,
}

#[cfg(feature = "mcp")]
impl From<crate::mcp::McpFailure> for Unlisted {
    fn from(failure: crate::mcp::McpFailure) -> Self {
        let session_lost = matches!(failure, crate::mcp::McpFailure::SessionLost { .. });
        Self { may_pass: failure.is_passing(), session_lost, error: Box::new(failure) }
    }
}

impl Resources {
    /// Lists the tools of a server, in one attempt.
    #[cfg(feature = "mcp")]
    async fn list_mcp_tools(&self, server: &McpServer, session: Option<&McpSession>) -> Result<Vec<McpTool>, Unlisted> {
        let Some(connections) = self.mcp.get(server.name()) else { return Err(unknown(server.name())) };
        let on = crate::mcp::On::of(server.factory_argument(), session.map(|session| &*session.id));
        crate::mcp::list_tools(connections, on).await.map_err(Unlisted::from)
    }

    /// Lists the tools of a server, with as many attempts as its options allow. `pause` returns the
    /// pause after an attempt, counted from 1.
    pub(crate) async fn list_mcp_tools_with_retries(
        &self,
        server: &McpServer,
        session: Option<&McpSession>,
        pause: impl Fn(u32) -> Duration,
    ) -> Result<Vec<McpTool>, Unlisted> {
        let mut attempt = 1;
        loop {
            let unlisted = match timeout(server.listing().start_to_close, self.list_mcp_tools(server, session)).await {
                Ok(Ok(tools)) => return Ok(tools),
                Ok(Err(unlisted)) => unlisted,
                Err(elapsed) => Unlisted { error: Box::new(elapsed), may_pass: true, session_lost: false },
            };
            if unlisted.session_lost || !unlisted.may_pass || attempt >= server.listing().attempts() {
                return Err(unlisted);
            }
            sleep(pause(attempt)).await;
            attempt += 1;
        }
    }

    /// Opens a session with a stateful server.
    #[cfg(feature = "mcp")]
    pub(crate) async fn open_mcp_session(&self, server: &McpServer) -> Result<McpSession, Unlisted> {
        let Some(connections) = self.mcp.get(server.name()) else { return Err(unknown(server.name())) };
        let terms = server.session_options().cloned().unwrap_or_default();
        let argument = server.factory_argument();
        let opening = crate::mcp::Opening {
            argument,
            asks_people: server.allows_elicitation(),
            set_up: terms.set_up,
            idle: terms.idle,
        };
        let McpOpened { task_queue, session: id } = self.mcp.sessions().open(connections, opening).await?;
        Ok(McpSession { server: server.name().to_owned(), argument: argument.cloned(), task_queue, id })
    }

    /// Closes a session.
    #[cfg(feature = "mcp")]
    pub(crate) fn close_mcp_session(&self, session: &McpSession) {
        self.mcp.sessions().close(&session.id);
    }

    /// Returns `true` if the session is open.
    #[cfg(feature = "mcp")]
    pub(crate) fn has_mcp_session(&self, session: &McpSession) -> bool {
        self.mcp.sessions().has(&session.id)
    }

    /// Lists the tools of a server, in one attempt.
    #[cfg(not(feature = "mcp"))]
    #[expect(clippy::unused_async, clippy::unused_self, reason = "with feature `mcp` it is and uses both")]
    async fn list_mcp_tools(&self, server: &McpServer, _: Option<&McpSession>) -> Result<Vec<McpTool>, Unlisted> {
        Err(unknown(server.name()))
    }

    /// Opens a session with a stateful server.
    #[cfg(not(feature = "mcp"))]
    #[expect(clippy::unused_async, clippy::unused_self, reason = "with feature `mcp` it is and uses both")]
    pub(crate) async fn open_mcp_session(&self, server: &McpServer) -> Result<McpSession, Unlisted> {
        Err(unknown(server.name()))
    }

    /// Closes a session.
    #[cfg(not(feature = "mcp"))]
    #[expect(clippy::unused_self, reason = "with feature `mcp` it is used")]
    pub(crate) fn close_mcp_session(&self, _: &McpSession) {}

    /// Returns `true` if the session is open.
    #[cfg(not(feature = "mcp"))]
    #[expect(clippy::unused_self, reason = "with feature `mcp` it is used")]
    pub(crate) fn has_mcp_session(&self, _: &McpSession) -> bool {
        false
    }

    /// Returns the body that runs a call of a server's tool, and the holder of a question that the
    /// server asks during the call.
    #[cfg_attr(not(feature = "mcp"), expect(clippy::unused_self, reason = "with feature `mcp` it has the servers"))]
    pub(crate) fn mcp_body(&self, call: &ToolEffect<'_>) -> Result<(ActivityBody, QuestionSlot), ToolEffectError> {
        let target = call.mcp.as_ref().expect("the call of a tool of an MCP server has its target");
        #[cfg(feature = "mcp")]
        if let Some(connections) = self.mcp.get(&target.server) {
            return Ok(crate::mcp::body(connections, target.clone()));
        }
        Err(ToolEffectError::Host(unknown(&target.server).error))
    }
}

fn unknown(server: &str) -> Unlisted {
    let error =
        format!("there is no MCP server {server:?}; add it with Resources::mcp_server(..) (feature \"mcp\")").into();
    Unlisted { error, may_pass: false, session_lost: false }
}
