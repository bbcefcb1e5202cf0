//! The activities of a worker's servers.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use serde::Serialize;
use serde_json::{Value, json as object};
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::{
    ask,
    call::body,
    connections::{Connections, McpServers},
    failure::of_activity,
};
use crate::{
    tool::{StateMap, ToolActivityOptions, ToolBinding, ToolDef},
    wire::{
        MCP_ACTIVITY, MCP_CALL_TOOL, McpOperation, McpReply, McpRequest, ToolRequest, WIRE_VERSION,
        failure::MALFORMED_REQUEST,
    },
    worker::{
        conversations::ConversationCache,
        heartbeat::beating,
        registration::Body,
        spill::Spills,
        tool_activity::{ToolActivity, read},
        worker_env::AllowedEnv,
    },
};

/// How long a cancelled question has to end.
const GRACE: Duration = Duration::from_secs(1);

/// All of them, by type.
pub(in crate::worker) fn activities(servers: &McpServers, conversations: &ConversationCache) -> Vec<(String, Body)> {
    servers.iter().flat_map(|server| of_server(server, conversations)).collect()
}

fn of_server(server: &Arc<Connections>, conversations: &ConversationCache) -> Vec<(String, Body)> {
    let name = |operation: &str| format!("{MCP_ACTIVITY}.{}.{operation}", server.server());
    let (called, conversations) = (Arc::clone(server), conversations.clone());
    let call: Body = Arc::new(move |ctx, request| calling(Arc::clone(&called), conversations.clone(), ctx, request));
    let asked = Arc::clone(server);
    let ask: Body = Arc::new(move |ctx, request| asking(Arc::clone(&asked), ctx, request));
    let questions = McpOperation::NAMES.iter().map(|operation| (name(operation), Arc::clone(&ask)));
    questions.chain([(name(MCP_CALL_TOOL), call)]).collect()
}

fn calling(
    server: Arc<Connections>,
    conversations: ConversationCache,
    ctx: ActivityContext,
    request: Value,
) -> BoxFuture<'static, Result<Value, ActivityError>> {
    async move {
        let request: ToolRequest = read("tool request", &ctx, request)?;
        let Some(target) = request.mcp.clone() else { return Err(malformed("it names no tool of an MCP server")) };
        let body = body(&server, target);
        let binding = ToolBinding::Activity { body: Arc::clone(&body), options: ToolActivityOptions::default() };
        // Of its terms the worker knows none, so what it returns has the limits of every tool.
        let tool = ToolDef::new(&*request.tool, "", object!({"type": "object"}), binding);
        let (states, spills) = (StateMap::default(), Spills::default());
        let env = AllowedEnv::default();
        let activity = ToolActivity { tool, body, states, conversations, spills, env };
        json(&activity.perform(&ctx, request).await?)
    }
    .boxed()
}

fn asking(
    server: Arc<Connections>,
    ctx: ActivityContext,
    request: Value,
) -> BoxFuture<'static, Result<Value, ActivityError>> {
    async move {
        let McpRequest { version: _, operation, argument } = read("MCP request", &ctx, request)?;
        let result = beating(&ctx, GRACE, ask::answer(&server, argument.as_ref(), operation).boxed())
            .await?
            .map_err(of_activity)?;
        json(&McpReply { version: WIRE_VERSION, result })
    }
    .boxed()
}

fn malformed(reason: &'static str) -> ActivityError {
    let failure = ApplicationFailure::builder(reason.to_owned())
        .type_name(MALFORMED_REQUEST.to_owned())
        .non_retryable(true)
        .build();
    ActivityError::Application(Box::new(failure))
}

fn json(reply: &impl Serialize) -> Result<Value, ActivityError> {
    serde_json::to_value(reply)
        .map_err(|error| ActivityError::Application(Box::new(ApplicationFailure::non_retryable(error))))
}
