//! The activities of a worker's MCP servers.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use serde::Serialize;
use serde_json::{Value, json as object};
use temporal_agents_core::{
    tool::{StateMap, ToolActivityOptions, ToolBinding, ToolDef},
    wire::{
        ToolReply, ToolRequest, WIRE_VERSION,
        mcp_call::{MCP_ACTIVITY, MCP_CALL_TOOL, McpOperation, McpReply, McpRequest},
    },
};
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::{
    ask,
    call::body,
    connections::{Connections, McpServers, On},
    failure::{McpFailure, of_activity},
    sessions::Opening,
};
use crate::{
    activity::{
        failed_attempt::ToolAttempt,
        heartbeat::HeartbeatSender,
        message::{Reply, Request},
        registration::Body,
        tool::{ToolActivity, malformed, read},
    },
    conversations::ConversationCache,
    deltas::{Deltas, HeartbeatDetails},
    metrics::Metrics,
    secret::worker_env::AllowedEnv,
    store::OptionalSpillStore,
};

/// The time that a cancelled request has to end.
const GRACE: Duration = Duration::from_secs(1);

/// Returns the activities of all servers, by type.
pub(crate) fn activities(
    servers: &McpServers,
    conversations: &ConversationCache,
    beater: &HeartbeatSender,
    metrics: Option<&Metrics>,
) -> Vec<(String, Body)> {
    let has_sessions = servers.sessions().are_served();
    let of = |server| ServerActivities {
        server: Arc::clone(server),
        conversations: conversations.clone(),
        beater: beater.clone(),
        metrics: metrics.cloned(),
    };
    servers.iter().flat_map(|server| of(server).named(has_sessions)).collect()
}

/// The activities of a server: the state that they share with each other and with the worker's
/// other activities.
#[derive(Clone)]
struct ServerActivities {
    server: Arc<Connections>,
    conversations: ConversationCache,
    beater: HeartbeatSender,
    metrics: Option<Metrics>,
}

impl ServerActivities {
    fn named(self, has_sessions: bool) -> Vec<(String, Body)> {
        let name = |operation: &str| format!("{MCP_ACTIVITY}.{}.{operation}", self.server.server());
        let (called, asked) = (self.clone(), self.clone());
        let call: Body = Arc::new(move |ctx, request| calling(called.clone(), ctx, request));
        let ask: Body = Arc::new(move |ctx, request| asking(asked.clone(), ctx, request));
        let of_sessions = McpOperation::SESSION_NAMES.iter().filter(|_| has_sessions);
        let questions = McpOperation::NAMES.iter().chain(of_sessions);
        let questions = questions.map(|operation| (name(operation), Arc::clone(&ask)));
        questions.chain([(name(MCP_CALL_TOOL), call)]).collect()
    }
}

fn calling(
    shared: ServerActivities,
    ctx: Arc<ActivityContext>,
    request: Request,
) -> BoxFuture<'static, Result<Reply, ActivityError>> {
    let ServerActivities { server, conversations, beater, metrics } = shared;
    async move {
        let request: ToolRequest = read("tool request", &ctx, &request)?;
        let Some(target) = request.mcp.clone() else {
            return Err(malformed("it does not name a tool of an MCP server"));
        };
        let session = target.session.clone();
        let lost = |began, reason: &str| {
            let (server, reason) = (server.server().to_owned(), reason.to_owned());
            Err(of_activity(McpFailure::SessionLost { server, began, reason }))
        };
        if session.as_ref().is_some_and(|id| !server.sessions().has(id)) {
            let reason = "the session was closed, or its worker has begun anew";
            ToolAttempt::new(ctx.info(), &request).warn_of(reason);
            return lost(false, reason);
        }
        let (body, question) = body(&server, target);
        let binding = ToolBinding::Activity { body: Arc::clone(&body), options: ToolActivityOptions::default() };
        // The worker does not know the tool's options, so its output has the limits of every tool.
        let tool = ToolDef::new(&*request.tool, "", object!({"type": "object"}), binding);
        let (states, spills) = (StateMap::default(), OptionalSpillStore::default());
        let env = AllowedEnv::default();
        let deltas = Deltas::default();
        let activity = ToolActivity { tool, body, states, conversations, spills, env, beater, deltas, metrics };
        match activity.perform(&ctx, request).await {
            Err(ActivityError::Application(failure)) if session.is_some_and(|id| !server.sessions().has(&id)) => {
                lost(true, &failure.to_string())
            }
            performed => Ok(Reply::Tool(ToolReply { question: question.take(), ..performed? })),
        }
    }
    .boxed()
}

fn asking(
    shared: ServerActivities,
    ctx: Arc<ActivityContext>,
    request: Request,
) -> BoxFuture<'static, Result<Reply, ActivityError>> {
    let ServerActivities { server, beater, .. } = shared;
    async move {
        let McpRequest { version: _, operation, argument, session } = read("MCP request", &ctx, &request)?;
        let answering = async {
            match operation {
                McpOperation::OpenSession { set_up, idle_seconds, asks_people } => {
                    let idle = Duration::from_secs(idle_seconds);
                    let opening = Opening { argument: argument.as_ref(), asks_people, set_up, idle };
                    server.sessions().open(&server, opening).await.map(|opened| object!(opened))
                }
                McpOperation::CloseSession => {
                    server.sessions().close(session.as_deref().unwrap_or_default());
                    Ok(Value::Null)
                }
                operation => ask::answer(&server, On::of(argument.as_ref(), session.as_deref()), operation).await,
            }
        };
        let details = HeartbeatDetails::new(ctx.info().attempt);
        let result = beater.beating(&ctx, &details, GRACE, answering.boxed()).await?.map_err(of_activity)?;
        json(&McpReply { version: WIRE_VERSION, result }).map(Reply::Value)
    }
    .boxed()
}

fn json(reply: &impl Serialize) -> Result<Value, ActivityError> {
    serde_json::to_value(reply)
        .map_err(|error| ActivityError::Application(Box::new(ApplicationFailure::non_retryable(error))))
}
