//! Runs the body of an activity tool without an activity: on a thread for tool bodies, and with a
//! time limit.

use std::{future::pending, sync::Arc, time::Duration};

use serde_json::{Map, Value};
use temporal_agents_core::{
    tool::{ActivityBody, ToolContext, ToolError},
    wire::ToolOutput,
};
use tokio::time::{error::Elapsed, timeout};

use super::run_threads::{BodyThread, run_on_tool_thread};
use crate::{
    activity::answer,
    events::{AttemptContext, within},
};

/// A body that has ended.
pub(crate) struct Ended {
    pub(crate) outcome: Result<ToolOutput, ToolError>,
    /// The context as the body has left it.
    pub(crate) ctx: ToolContext,
}

/// Runs a body with a time limit, in the context of its attempt.
///
/// # Errors
/// [`Elapsed`] when the body takes longer than `limit`. The body is dropped; one that blocks its
/// thread runs on until it yields.
pub(crate) async fn run_within(
    limit: Duration,
    thread: &BodyThread,
    body: &ActivityBody,
    ctx: ToolContext,
    arguments: Map<String, Value>,
    context: Option<AttemptContext>,
) -> Result<Ended, Elapsed> {
    let running = within(context, run(Arc::clone(body), ctx, arguments));
    match timeout(limit, run_on_tool_thread(thread, running)).await {
        Ok(Some(ended)) => Ok(ended),
        // The thread of the body was lost. Waits until the time limit, as a run waits for the
        // timeout of an activity whose worker was lost.
        Ok(None) => timeout(limit, pending()).await,
        Err(elapsed) => Err(elapsed),
    }
}

async fn run(body: ActivityBody, mut ctx: ToolContext, arguments: Map<String, Value>) -> Ended {
    let outcome = answer::run(&body, &mut ctx, arguments).await;
    Ended { outcome, ctx }
}
