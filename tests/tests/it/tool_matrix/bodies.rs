//! What the tools do: as they are asked to.

use std::{
    collections::BTreeSet,
    panic,
    sync::{LazyLock, Once},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture, future::LocalBoxFuture};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use temporal_agents::{ToolContext, ToolError, WorkflowToolContext, tool::RemoteActivity, wire::ToolOutput};
use tokio::{sync::watch, time::timeout};

use crate::PATIENCE;

use super::{cells::Outcome, elsewhere};

/// A little more than a tool may return, and less than a server takes.
pub(super) const LARGE: usize = 2_050_000;
pub(super) const PANIC: &str = "the floor gave way";

/// What a tool is asked to do.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(super) struct Asked {
    pub(super) how: String,
}

/// The tools that are at work, and stay so until they are cancelled.
static AT_WORK: LazyLock<watch::Sender<BTreeSet<String>>> = LazyLock::new(|| watch::Sender::new(BTreeSet::new()));

/// A tool says that it is at work.
pub(super) fn begins(tool: &str) {
    AT_WORK.send_modify(|at_work| {
        at_work.insert(tool.to_owned());
    });
}

/// Waits until this tool is at work.
pub(super) async fn until_at_work(tool: &str) -> anyhow::Result<()> {
    let mut at_work = AT_WORK.subscribe();
    let begun = timeout(PATIENCE, at_work.wait_for(|at_work| at_work.contains(tool))).await;
    begun.map_err(|_| anyhow::anyhow!("tool {tool} is not at work within {PATIENCE:?}"))??;
    Ok(())
}

/// What is done at once, and `None` for what takes time.
fn at_once(how: &str) -> Option<Result<ToolOutput, ToolError>> {
    match how {
        "error" => Some(Err(ToolError::failed("the disk at 10.0.0.7 is full"))),
        "panic" => panic!("{PANIC}"),
        "oversized" => Some(Ok("x".repeat(LARGE).into())),
        "timeout" | "cancelled" => None,
        _ => Some(Ok("fine".into())),
    }
}

/// In the workflow, at once.
pub(super) fn inline(_: &mut ToolContext, Asked { how }: Asked) -> Result<ToolOutput, ToolError> {
    at_once(&how).expect("an inline tool cannot wait")
}

/// In an activity: one that is late does nothing until it is cancelled.
pub(super) fn activity(ctx: &mut ToolContext, Asked { how }: Asked) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
    async move {
        if let Some(done) = at_once(&how) {
            return done;
        }
        begins(&ctx.info().tool);
        while !ctx.is_cancelled() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok("stopped".into())
    }
    .boxed()
}

/// In the workflow, where it waits: for an activity that is late, or for a timer.
pub(super) fn workflow(
    ctx: &mut WorkflowToolContext,
    Asked { how }: Asked,
) -> LocalBoxFuture<'_, Result<ToolOutput, ToolError>> {
    async move {
        if how == Outcome::Timeout.name() {
            let late = RemoteActivity::named(elsewhere::activity()).task_queue(elsewhere::QUEUE).attempts(1);
            ctx.activity(late.start_to_close(Duration::from_secs(1)), json!({"how": how})).await?;
        }
        if how == Outcome::Cancelled.name() {
            begins(&ctx.info().tool);
            ctx.sleep(Duration::from_hours(1)).await?;
        }
        at_once(&how).unwrap_or_else(|| Ok("an hour later".into()))
    }
    .boxed_local()
}

/// Says nothing of the panics of this test; see `panics.rs`.
pub(super) fn without_backtraces() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if info.payload_as_str() != Some(PANIC) {
                tell(info);
            }
        }));
    });
}
