//! Seats a guest who chooses the table at a client.
//!
//! By default the program chooses itself, with an invalid choice first. With `--wait` it prints the
//! command with which another process chooses: this program with `--answer`.

use clap::Parser;
use temporal_agents_examples::{
    client_tools::{Seating, answer::answer, host, model},
    stage::{Options, Stage, server::connect},
};
use temporal_agents_testing::{AgentEnvironment, ServerAddress};

const WISH: &str = "A table for two, please, by the window.";

/// Seats a guest who chooses the table at a client.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Leaves the choice to another process, and prints its command.
    #[arg(long)]
    wait: bool,
    /// Chooses for a workflow that waits, instead of running one.
    #[arg(long, num_args = 2, value_names = ["WORKFLOW_ID", "TABLE"], requires = "target")]
    answer: Option<Vec<String>>,
    /// The server of that workflow, as HOST:PORT or as a URL.
    #[arg(long, value_name = "ADDRESS")]
    target: Option<ServerAddress>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match (&arguments.answer, &arguments.target) {
        (Some(chosen), Some(target)) => answer_elsewhere(&chosen[0], &chosen[1], target).await,
        _ => seat(&arguments).await,
    }
}

async fn seat(arguments: &Arguments) -> anyhow::Result<()> {
    let env = AgentEnvironment::builder().agent(host);
    let stage = Stage::set_with::<Seating>(arguments.options, env, model::scripted()).await?;
    println!();
    let mut started = stage.start(Seating::run, WISH.to_owned()).await?;
    let id = started.handle.info().workflow_id.clone();
    // The first choice is not a number: the guardrail rejects it, and the guest is asked again.
    let chosen: &[&str] = if arguments.wait { &[] } else { &["the one by the window", "5"] };
    for choice in chosen {
        stage.look_until_asked(&mut started).await?;
        println!("! {choice}: {:?}", answer(stage.client(), &id, choice).await?);
    }
    if arguments.wait {
        stage.look_until_asked(&mut started).await?;
        let target = stage.server().target_url();
        println!("\nChoose with\n  cargo run --bin client_tools -- --target {target} --answer {id} 5\n");
    }
    println!("\n{}", stage.finish(started).await?);
    stage.clear().await
}

async fn answer_elsewhere(workflow_id: &str, choice: &str, target: &ServerAddress) -> anyhow::Result<()> {
    let client = connect(target, "default", "client_tools").await?;
    println!("! {choice}: {:?}", answer(&client, workflow_id, choice).await?);
    Ok(())
}
