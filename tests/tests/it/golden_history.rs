//! Histories recorded by a release replay for ever: `tests/golden/histories/<version>/*.json`, in Temporal's own JSON.
//!
//! With `UPDATE_GOLDEN=1` a missing file is recorded from a real run; a file that is there is never touched.

use std::{path::PathBuf, time::Duration};

use temporal_agents::Runner;
use temporal_agents_examples::quickstart::{
    model,
    trip::{Almanac, Plan, Request, Trip, travel_desk},
};
use temporal_agents_testing::{AgentEnvironment, history, replay};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// The workflow of the recorded histories, changed: it waits a second before it asks the desk.
#[workflow]
#[derive(Default)]
struct ChangedTrip;

#[workflow_methods]
impl ChangedTrip {
    #[run(name = "trip")]
    async fn run(ctx: &mut WorkflowContext<Self>, request: Request) -> WorkflowResult<Plan> {
        ctx.timer(Duration::from_secs(1)).await;
        Ok(Runner::new(ctx).run(&travel_desk(), request.prompt).await?.final_output)
    }
}

fn golden(version: &str, name: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join("golden/histories").join(version).join(format!("{name}.json"))
}

async fn record(path: PathBuf) -> anyhow::Result<()> {
    let env = AgentEnvironment::builder()
        .workflow::<Trip>()?
        .model_provider(model::scripted(Duration::ZERO))
        .state(Almanac { delay: Duration::ZERO })
        .agents((travel_desk,))
        .start()
        .await?;
    let request = Request { prompt: "Two nights in Oslo, please.".to_owned(), heartbeat_seconds: 30 };
    let run = env.run(Trip::run, request).await?;
    history::save(path, &run.history)?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn the_history_of_the_quickstart_replays() -> anyhow::Result<()> {
    let path = golden("v0.1", "trip");
    if !path.exists() {
        anyhow::ensure!(std::env::var_os("UPDATE_GOLDEN").is_some(), "{} is missing", path.display());
        record(path.clone()).await?;
    }
    replay::<Trip>(&history::load(path)?).await?;
    Ok(())
}

#[tokio::test]
async fn a_workflow_that_does_something_else_first_does_not_replay() -> anyhow::Result<()> {
    let history = history::load(golden("v0.1", "trip"))?;
    let failure = replay::<ChangedTrip>(&history).await.expect_err("another command comes first");
    let message = failure.to_string();
    assert!(message.contains("TMPRL1100") || message.to_lowercase().contains("nondeterminis"), "{message}");
    Ok(())
}
