//! Deploys a changed agent while an order waits for approval.

use clap::Parser;
use temporal_agents::{client::AgentHandle, wire::AgentInterruption};
use temporal_agents_examples::{
    stage::{Options, Stage, Started},
    versions::{Shop, before, desk, desk_v2, model},
};
use temporal_agents_testing::AgentEnvironment;

const WISH: &str = "A scarf, please. I like red.";

/// Deploys a changed agent while an order waits for approval.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments { options } = Arguments::parse();
    let env = AgentEnvironment::builder().agents((desk, desk_v2));
    let mut stage = Stage::set_with::<Shop>(options, env, model::scripted()).await?;
    let before = stage.go_back_to::<before::Shop>((desk,), model::scripted()).await?;
    println!("\nBefore the deploy.\n");
    let mut open = stage.start(Shop::run, WISH.to_owned()).await?;
    let asked = stage.look_until_asked(&mut open).await?;
    anyhow::ensure!(!asked.is_empty(), "the model orders nothing");
    println!("\nThe new worker is deployed; the order waits.\n");
    stage.deploy(before).await?;
    let mut new = stage.start(Shop::run, WISH.to_owned()).await?;
    let asked_next = stage.look_until_asked(&mut new).await?;
    println!("\nThe new order: {}\n", approved(&stage, new, asked_next).await?);
    println!("\nThe open order: {}", approved(&stage, open, asked).await?);
    stage.clear().await
}

/// Approves these calls of the order, and returns its result.
async fn approved(
    stage: &Stage,
    order: Started<impl temporalio_common::HasWorkflowDefinition<Output = String>>,
    calls: Vec<AgentInterruption>,
) -> anyhow::Result<String> {
    let desk = AgentHandle::new(stage.client(), &*order.handle.info().workflow_id);
    for call in calls {
        println!("! {} is approved: {:?}", call.id, desk.approve(&call.id).await?);
    }
    stage.finish(order).await
}
