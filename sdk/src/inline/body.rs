//! The body of an activity tool without an activity: on a thread for bodies, and given up when its time is over.

use std::{future::pending, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use serde_json::{Map, Value};
use tokio::time::{error::Elapsed, timeout};

use super::run_threads::{BodyThread, on_a_body_thread};
use crate::activity::answer::panic_message;
use crate::{
    tool::{ActivityBody, ToolContext, ToolError},
    wire::ToolOutput,
};

/// The outcome of a body; the outer error is its panic. With it the context, as the body has left it.
type Ended = (Result<Result<ToolOutput, ToolError>, String>, ToolContext);

/// Runs a body.
///
/// # Errors
/// [`Elapsed`] when it takes longer than this. It is dropped; one that blocks its thread works on until it lets go.
pub(crate) async fn run_within(
    limit: Duration,
    thread: &BodyThread,
    body: &ActivityBody,
    ctx: ToolContext,
    arguments: Map<String, Value>,
) -> Result<Ended, Elapsed> {
    match timeout(limit, on_a_body_thread(thread, run(Arc::clone(body), ctx, arguments))).await {
        Ok(Some(ended)) => Ok(ended),
        // Its thread is lost with it. The run goes on when its time is over, as where an activity's worker is lost.
        Ok(None) => timeout(limit, pending()).await,
        Err(elapsed) => Err(elapsed),
    }
}

async fn run(body: ActivityBody, mut ctx: ToolContext, arguments: Map<String, Value>) -> Ended {
    // The body is called inside, so that its panic is caught also before it is a future.
    let settled = AssertUnwindSafe(async { body(&mut ctx, arguments).await }).catch_unwind().await;
    (settled.map_err(|panic| panic_message(&*panic)), ctx)
}
