//! Repairs a bicycle in a workshop whose mechanic has a tool of each kind.

use clap::Parser;
use temporal_agents::client::AgentHandle;
use temporal_agents_examples::{
    stage::{Options, Stage},
    tools::{Calendar, Shelf, Workshop, mechanic, model},
};
use temporal_agents_testing::AgentEnvironment;

const REQUEST: &str = "The chain is torn and the front tyre is flat. I need it today.";

/// Repairs a bicycle in a workshop whose mechanic has a tool of each kind.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let calendar = Calendar::default();
    let shelf = Shelf([("chain".to_owned(), 0), ("tyre".to_owned(), 4)].into());
    let env = AgentEnvironment::builder().agent(mechanic).state(shelf).state(calendar.clone());
    let stage = Stage::set_with::<Workshop>(Arguments::parse().options, env, model::scripted()).await?;
    println!();
    let mut started = stage.start(Workshop::run, REQUEST.to_owned()).await?;
    for call in stage.look_until_asked(&mut started).await? {
        let workflow = AgentHandle::new(stage.client(), &*started.handle.info().workflow_id);
        println!("! Approved: {:?}", workflow.approve(&call.id).await?);
    }
    let answer = stage.finish(started).await?;
    println!("\n{answer}\nBooked: {:?}", calendar.booked());
    stage.clear().await
}
