//! Prompts and resources of an MCP server, for a workflow's author.

use std::{cell::Cell, rc::Rc};

use serde_json::{Map, Value};
use temporal_agents_core::{
    drive::McpEffectError,
    tool::{BoxError, McpServer},
    wire::{McpTool, error_debug, failure::AGENTS_WORKFLOW_ERROR, mcp_call::McpOperation},
};
use temporalio_workflow::{WorkflowContext, WorkflowTermination, common::error::ApplicationFailure};

use super::{
    context::DurableContext,
    effect::mcp_call::{self, Asked},
    host::short_id,
};

/// A handle by which a workflow itself sends requests to an MCP server, each as an activity: for
/// its prompts, its resources, its tools.
///
/// ```no_run
/// # use temporal_agents::{tool::McpServer, workflow::{McpHandle, McpHandleError}};
/// # use temporalio_workflow::WorkflowContext;
/// # async fn example<W: 'static>(ctx: &WorkflowContext<W>) -> Result<(), McpHandleError> {
/// let library = McpHandle::new(ctx, McpServer::named("library"));
/// let house_rules = library.read_resource("rules://house").await?["contents"][0]["text"].clone();
/// # Ok(())
/// # }
/// ```
///
/// Responses are JSON in the format of the protocol, and are recorded in history.
pub struct McpHandle {
    ctx: Rc<dyn DurableContext>,
    server: McpServer,
    id: String,
    asked: Cell<u32>,
}

/// A request to an MCP server that failed after all attempts.
#[derive(thiserror::Error)]
#[error("MCP server {server:?} did not {operation}: {source}")]
pub struct McpHandleError {
    server: String,
    operation: &'static str,
    source: BoxError,
}

error_debug!(struct McpHandleError { server, operation, source });

impl McpHandle {
    /// Creates a handle for the server, with its list options and its argument. Requests to a
    /// stateful server use a connection that belongs to no session.
    pub fn new<W: 'static>(ctx: &WorkflowContext<W>, server: McpServer) -> Self {
        let ctx: Rc<dyn DurableContext> = Rc::new(ctx.clone());
        let id = short_id(ctx.next_run_number());
        Self { ctx, server, id, asked: Cell::new(0) }
    }

    /// Returns all tools of the server.
    pub async fn list_tools(&self) -> Result<Vec<McpTool>, McpHandleError> {
        let operation = McpOperation::ListTools;
        let name = operation.name();
        mcp_call::tools(self.ask(operation).await?).map_err(|source| self.failed(name, source))
    }

    /// Returns the server's prompts: `{"prompts": [{"name": .., "description": .., "arguments":
    /// [..]}]}`.
    pub async fn list_prompts(&self) -> Result<Value, McpHandleError> {
        self.ask(McpOperation::ListPrompts).await
    }

    /// Returns a prompt: `{"description": .., "messages": [{"role": .., "content": ..}]}`.
    pub async fn get_prompt(&self, name: &str, arguments: Map<String, Value>) -> Result<Value, McpHandleError> {
        self.ask(McpOperation::GetPrompt { name: name.to_owned(), arguments }).await
    }

    /// Returns the server's resources: `{"resources": [{"uri": .., "name": .., "mimeType": ..}]}`.
    pub async fn list_resources(&self) -> Result<Value, McpHandleError> {
        self.ask(McpOperation::ListResources).await
    }

    /// Returns the server's resource templates: `{"resourceTemplates": [{"uriTemplate": .., "name":
    /// ..}]}`.
    pub async fn list_resource_templates(&self) -> Result<Value, McpHandleError> {
        self.ask(McpOperation::ListResourceTemplates).await
    }

    /// Returns a resource: `{"contents": [{"uri": .., "mimeType": .., "text": ..}]}`, or `"blob"`,
    /// in base 64, instead of `"text"`.
    pub async fn read_resource(&self, uri: &str) -> Result<Value, McpHandleError> {
        self.ask(McpOperation::ReadResource { uri: uri.to_owned() }).await
    }

    async fn ask(&self, operation: McpOperation) -> Result<Value, McpHandleError> {
        let (number, name) = (self.asked.get(), operation.name());
        self.asked.set(number + 1);
        let summary = match &operation {
            McpOperation::GetPrompt { name, .. } => format!("prompt {name} of {}", self.server.name()),
            McpOperation::ReadResource { uri } => format!("resource {uri} of {}", self.server.name()),
            operation => format!("{} of {}", operation.name(), self.server.name()),
        };
        let asked = Asked { server: &self.server, operation, summary, session: None };
        let token = self.ctx.cancellation_token().child_token();
        let answer = mcp_call::ask(&self.ctx, asked, format!("{}-mcp-{number}", self.id), token.clone()).await;
        answer.map_err(|error| match error {
            McpEffectError::Cancelled => self.failed(name, Box::new(Cancelled)),
            McpEffectError::Failed(source) | McpEffectError::SessionLost(source) => self.failed(name, source),
        })
    }

    fn failed(&self, operation: &'static str, source: BoxError) -> McpHandleError {
        McpHandleError { server: self.server.name().to_owned(), operation, source }
    }
}

impl std::fmt::Debug for McpHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpHandle").field("server", &self.server).field("asked", &self.asked).finish_non_exhaustive()
    }
}

/// The workflow was cancelled during the request.
#[derive(Debug, thiserror::Error)]
#[error("the workflow was cancelled")]
struct Cancelled;

impl From<McpHandleError> for WorkflowTermination {
    fn from(error: McpHandleError) -> Self {
        if error.source.is::<Cancelled>() {
            return Self::cancelled();
        }
        ApplicationFailure::builder(error).type_name(AGENTS_WORKFLOW_ERROR.to_owned()).build().into()
    }
}
