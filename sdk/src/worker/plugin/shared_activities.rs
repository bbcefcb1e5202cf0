//! Activities of the crate that serve all agents of a worker.

use std::{collections::BTreeMap, sync::Arc};

use futures::FutureExt;
#[cfg(feature = "nexus")]
use temporal_agents_core::wire::nexus_endpoint::NEXUS_ENDPOINT_ACTIVITY;
use temporal_agents_core::wire::{
    carried::{KEEP_STATE_ACTIVITY, LOAD_STATE_ACTIVITY},
    tool_batch::TOOL_BATCH_ACTIVITY,
};

use super::json;
#[cfg(feature = "nexus")]
use crate::activity::nexus_endpoint;
use crate::activity::{
    heartbeat::HeartbeatSender,
    kept_state,
    message::Reply,
    registration::{Body, of_values},
    tool_batch::ToolBatchActivity,
    tool_versions::ToolVersions,
};

/// Returns the activity of runs that make several tool calls in one activity.
pub(super) fn batches_of(tools: BTreeMap<String, Arc<ToolVersions>>, beater: &HeartbeatSender) -> (String, Body) {
    let batch = Arc::new(ToolBatchActivity::new(tools, beater.clone()));
    let body: Body = Arc::new(move |ctx, request| {
        let batch = Arc::clone(&batch);
        async move { batch.run(&ctx, &request).await.map(Reply::ToolBatch) }.boxed()
    });
    (TOOL_BATCH_ACTIVITY.to_owned(), body)
}

/// Returns the activities of runs that continue as new with a large state.
pub(super) fn state_activities() -> [(String, Body); 2] {
    let keep = of_values(|ctx, request| async move { json(&kept_state::keep(&ctx, request)?) }.boxed());
    let load = of_values(|ctx, request| async move { json(&kept_state::load(&ctx, request).await?) }.boxed());
    [(KEEP_STATE_ACTIVITY.to_owned(), keep), (LOAD_STATE_ACTIVITY.to_owned(), load)]
}

/// Returns the activity of runs that call Nexus operations.
#[cfg(feature = "nexus")]
pub(super) fn looking_up_endpoints() -> (String, Body) {
    let body = of_values(|ctx, request| async move { json(&nexus_endpoint::run(&ctx, request).await?) }.boxed());
    (NEXUS_ENDPOINT_ACTIVITY.to_owned(), body)
}
