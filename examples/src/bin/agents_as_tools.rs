//! Labels an exhibit: an agent that calls two others like functions.

use temporal_agents_examples::{
    agents_as_tools::{Museum, curator, model},
    stage::Stage,
};

const EXHIBIT: &str = "A plate from Delft, made about 1680, with a blue hare on white tin glaze.";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let stage = Stage::set::<Museum>((curator,), model::scripted()).await?;
    println!();
    let label = stage.run(Museum::run, EXHIBIT.to_owned()).await?;
    println!("\nThe label:\n  {}\n  {}\n  {}", label.english, label.french, label.german);
    stage.clear().await
}
