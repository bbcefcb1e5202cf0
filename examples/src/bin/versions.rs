//! Deploys a changed agent while an order waits for approval.

use clap::Parser;
use temporal_agents::client::AgentHandle;
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
    println!("\nBefore the deploy.\n> {WISH}\n");
    let mut open = stage.start(Shop::run, WISH.to_owned()).await?;
    let calls = stage.look_until_asked(&mut open).await?;
    anyhow::ensure!(!calls.is_empty(), "the model orders nothing");
    println!("\nThe new worker is deployed; the order waits.\n> {WISH}\n");
    stage.deploy(before).await?;
    let new = stage.start(Shop::run, WISH.to_owned()).await?;
    println!("\nThe new order: {}", approved(&stage, new).await?);
    println!("The open order: {}", approved(&stage, open).await?);
    stage.clear().await
}

/// Approves the pending calls of the order, and returns its result.
async fn approved(
    stage: &Stage,
    mut order: Started<impl temporalio_common::HasWorkflowDefinition<Output = String>>,
) -> anyhow::Result<String> {
    let desk = AgentHandle::new(stage.client(), &*order.handle.info().workflow_id);
    for call in stage.look_until_asked(&mut order).await? {
        println!("? {} wants to call {}({})", call.agent, call.tool, call.arguments);
        println!("! approved: {:?}", desk.approve(&call.id).await?);
    }
    stage.finish(order).await
}
