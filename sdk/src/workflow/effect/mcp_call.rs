//! Requests to MCP servers through activities, except for calls of their tools.

use std::rc::Rc;

use serde_json::Value;
use temporal_agents_core::{
    drive::McpEffectError,
    engine::TriedFor,
    tool::{BoxError, McpServer},
    wire::{
        McpTool, WIRE_VERSION,
        mcp_call::{MCP_ACTIVITY, McpOperation, McpReply, McpRequest, McpSession},
    },
};
use temporalio_workflow::WorkflowCancellationToken;

use super::{
    failure::{EffectFailure, is_not_registered},
    mcp_session,
    tool_call::activity::activity_options,
    until_deployed::{Requirement, Unanswered, Wanted, with_activity_id},
};
use crate::workflow::{
    context::{DurableContext, McpCall},
    limits::size,
};

/// No worker on the task queue has the server.
#[derive(Debug, thiserror::Error)]
#[error(
    "no worker on task queue {task_queue:?} has MCP server {server:?}; add it with Resources::mcp_server on that \
     queue's worker{tried_for}"
)]
pub(in crate::workflow) struct NoMcpServer {
    pub(in crate::workflow) server: String,
    pub(in crate::workflow) task_queue: String,
    pub(in crate::workflow) tried_for: TriedFor,
    #[source]
    pub(in crate::workflow) source: BoxError,
}

/// No worker on the task queue holds sessions with the server.
#[derive(Debug, thiserror::Error)]
#[error(
    "no worker on task queue {task_queue:?} holds sessions with MCP server {server:?}; add it with \
     Resources::mcp_server, and run that queue's worker with AgentsWorker{tried_for}"
)]
pub(in crate::workflow) struct NoMcpSessions {
    server: String,
    task_queue: String,
    tried_for: TriedFor,
    #[source]
    source: BoxError,
}

/// A request to a server.
pub(in crate::workflow) struct Asked<'s> {
    pub(in crate::workflow) server: &'s McpServer,
    pub(in crate::workflow) operation: McpOperation,
    /// Summary in the Temporal UI, unless the server's options set another one.
    pub(in crate::workflow) summary: String,
    /// Session of the request, if the server is stateful.
    pub(in crate::workflow) session: Option<&'s McpSession>,
}

/// Sends the request, and returns the response of the server.
pub(in crate::workflow) async fn ask(
    ctx: &Rc<dyn DurableContext>,
    asked: Asked<'_>,
    id: String,
    token: WorkflowCancellationToken,
) -> Result<Value, McpEffectError> {
    let Asked { server, operation, summary, session } = asked;
    let in_session = session.map(|session| mcp_session::options(server.listing(), session));
    let options = in_session.as_ref().unwrap_or(server.listing());
    let opens = matches!(operation, McpOperation::OpenSession { .. });
    let activity_type = format!("{MCP_ACTIVITY}.{}.{}", server.name(), operation.name());
    let (argument, id_of) = (server.factory_argument().cloned(), session.map(|session| session.id.clone()));
    let request = McpRequest { version: WIRE_VERSION, operation, argument, session: id_of };
    size::check("the request to the MCP server", &request).map_err(McpEffectError::Failed)?;
    let mut scheduled = activity_options(options, || summary, &id, token.clone());
    if session.is_some() {
        mcp_session::limit(server, &mut scheduled);
    }
    let longest = if session.is_some() { mcp_session::NO_DEPLOY_WAIT } else { options.schedule_to_close };
    let wanted = Wanted { ctx, id: &id, what: Requirement::McpServer(server.name()), longest, token: &token };
    let schedule = |id| {
        let asked = McpCall { activity_type: activity_type.clone(), request: request.clone() };
        ctx.mcp_activity(asked, with_activity_id(&scheduled, id))
    };
    match wanted.answer(schedule).await {
        Ok(answered) => {
            let McpReply { version: _, result } = answered.result.read("MCP reply").map_err(BoxError::from)?;
            Ok(result)
        }
        Err(Unanswered::Cancelled) => Err(McpEffectError::Cancelled),
        Err(Unanswered::Failed(failure, tried_for)) if is_not_registered(&failure) => {
            let tried_for = TriedFor(tried_for);
            let task_queue = options.task_queue.clone().unwrap_or_else(|| ctx.task_queue());
            let (server, source) = (server.name().to_owned(), Box::new(EffectFailure::new(failure)));
            if opens {
                return Err(McpEffectError::Failed(Box::new(NoMcpSessions { server, task_queue, tried_for, source })));
            }
            Err(McpEffectError::Failed(Box::new(NoMcpServer { server, task_queue, tried_for, source })))
        }
        Err(Unanswered::Failed(failure, _)) if session.is_some() && mcp_session::lost(&failure).is_some() => {
            Err(McpEffectError::SessionLost(Box::new(EffectFailure::new(failure))))
        }
        Err(Unanswered::Failed(failure, tried_for)) => {
            Err(McpEffectError::Failed(Box::new(EffectFailure::after(failure, tried_for))))
        }
    }
}

/// Returns the tools in a response.
pub(in crate::workflow) fn tools(mut result: Value) -> Result<Vec<McpTool>, BoxError> {
    let tools = result.get_mut("tools").map(Value::take).unwrap_or_default();
    serde_json::from_value(tools).map_err(|error| format!("the list of tools cannot be read: {error}").into())
}
