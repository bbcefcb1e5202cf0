//! What an MCP server is asked through an activity, apart from calls of its tools.

use std::rc::Rc;

use serde_json::Value;
use temporalio_workflow::{ActivityExecutionError, WorkflowCancellationToken};

use super::{
    context::{DurableContext, McpAsked},
    failure::{EffectFailure, is_not_registered},
    tool_call::activity::activity_options,
};
use crate::{
    drive::McpEffectError,
    engine::EffectError,
    tool::McpServer,
    wire::{MCP_ACTIVITY, McpOperation, McpReply, McpRequest, McpTool, WIRE_VERSION},
};

/// No worker on the task queue reaches the server.
#[derive(Debug, thiserror::Error)]
#[error(
    "no worker on task queue {task_queue:?} has MCP server {server:?}; add it with AgentsPlugin::mcp_server on that queue's worker"
)]
pub(super) struct NoMcpServer {
    pub(super) server: String,
    pub(super) task_queue: String,
    #[source]
    pub(super) source: EffectError,
}

/// A question to a server.
pub(super) struct Asked<'s> {
    pub(super) server: &'s McpServer,
    pub(super) operation: McpOperation,
    /// The line the Temporal UI shows, unless the server's options have another.
    pub(super) summary: String,
}

/// Asks; gives what the server answered.
pub(super) async fn ask(
    ctx: &Rc<dyn DurableContext>,
    asked: Asked<'_>,
    id: String,
    token: WorkflowCancellationToken,
) -> Result<Value, McpEffectError> {
    let Asked { server, operation, summary } = asked;
    let options = server.listing();
    let activity_type = format!("{MCP_ACTIVITY}.{}.{}", server.name(), operation.name());
    let request = McpRequest { version: WIRE_VERSION, operation, argument: server.factory_argument().cloned() };
    let scheduled = activity_options(options, || summary, id, token);
    match ctx.mcp_activity(McpAsked { activity_type, request }, scheduled).await {
        Ok(reply) => {
            let McpReply { version: _, result } = reply.read("MCP reply").map_err(EffectError::from)?;
            Ok(result)
        }
        Err(failure) if matches!(failure, ActivityExecutionError::Cancelled(_)) || failure.as_cancelled().is_some() => {
            Err(McpEffectError::Cancelled)
        }
        Err(failure) if is_not_registered(&failure) => {
            let task_queue = options.task_queue.clone().unwrap_or_else(|| ctx.task_queue());
            let (server, source) = (server.name().to_owned(), Box::new(EffectFailure::new(failure)));
            Err(McpEffectError::Failed(Box::new(NoMcpServer { server, task_queue, source })))
        }
        Err(failure) => Err(McpEffectError::Failed(Box::new(EffectFailure::new(failure)))),
    }
}

/// The tools in an answer.
pub(super) fn tools(mut result: Value) -> Result<Vec<McpTool>, EffectError> {
    let tools = result.get_mut("tools").map(Value::take).unwrap_or_default();
    serde_json::from_value(tools).map_err(|error| format!("the list of tools cannot be read: {error}").into())
}
