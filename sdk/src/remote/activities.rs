//! The activities that call remote tools: one for each transport of the worker.

use std::sync::Arc;

use futures::FutureExt;
use serde_json::json;
use temporal_agents_core::{
    tool::{StateMap, ToolActivityOptions, ToolBinding, ToolDef, remote_toolset::activity_type},
    wire::ToolRequest,
};

use super::{ToolTransport, ToolTransports};
use crate::{
    activity::{
        heartbeat::HeartbeatSender,
        message::Reply,
        registration::Body,
        tool::{ToolActivity, malformed, read},
    },
    conversations::ConversationCache,
    deltas::Deltas,
    metrics::Metrics,
    secret::worker_env::AllowedEnv,
    store::OptionalSpillStore,
};

/// Returns the activities of all transports, by type.
pub(crate) fn activities(
    transports: &ToolTransports,
    conversations: &ConversationCache,
    beater: &HeartbeatSender,
    deltas: &Deltas,
    metrics: Option<&Metrics>,
) -> Vec<(String, Body)> {
    let of_transport = |(name, transport): (&str, &ToolTransport)| {
        let transport = transport.clone();
        let (conversations, beater, deltas) = (conversations.clone(), beater.clone(), deltas.clone());
        let metrics = metrics.cloned();
        let body: Body = Arc::new(move |ctx, request| {
            let transport = transport.clone();
            let (conversations, beater, deltas) = (conversations.clone(), beater.clone(), deltas.clone());
            let metrics = metrics.clone();
            async move {
                let request: ToolRequest = read("tool request", &ctx, &request)?;
                let Some(target) = request.remote.clone() else {
                    return Err(malformed("it does not name a tool of a provider"));
                };
                let body = transport.body(target);
                let binding =
                    ToolBinding::Activity { body: Arc::clone(&body), options: ToolActivityOptions::default() };
                // The worker does not know the tool's options, so its output has the limits of
                // every tool.
                let tool = ToolDef::new(&*request.tool, "", json!({"type": "object"}), binding);
                let (states, spills) = (StateMap::default(), OptionalSpillStore::default());
                let env = AllowedEnv::default();
                let activity = ToolActivity { tool, body, states, conversations, spills, env, beater, deltas, metrics };
                activity.perform(&ctx, request).await.map(Reply::Tool)
            }
            .boxed()
        });
        (activity_type(name), body)
    };
    transports.iter().map(of_transport).collect()
}
