//! Sends goods with a freight company whose operations are a Nexus service in Python.

use clap::Parser;
use temporal_agents_examples::{
    nexus::{
        Dispatch, ENDPOINT, dispatcher,
        handler::{Handler, python},
        model,
    },
    stage::{Options, Stage},
};
use temporal_agents_testing::AgentEnvironment;

const REQUEST: &str = "Two pallets of lamps, to Oslo, Narvik or Atlantis: wherever it is cheapest.";

/// The task queue of the freight company.
const FREIGHT: &str = "freight";

/// Sends goods with a freight company whose operations are a Nexus service in Python.
///
/// The handler is a Python process, which this program starts; Python 3.10 or newer is required.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Arguments::parse().options;
    let python = python()?;
    let env = AgentEnvironment::builder().agent(dispatcher);
    let stage = Stage::set_with::<Dispatch>(options, env, model::scripted()).await?;
    stage.server().create_nexus_endpoint(ENDPOINT, FREIGHT).await?;
    let _handler = Handler::start(&python, stage.server(), FREIGHT)?;
    println!();
    let answer = stage.run(Dispatch::run, REQUEST.to_owned()).await?;
    println!("\n{answer}");
    stage.clear().await
}
