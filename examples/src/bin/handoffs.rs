//! Hands off a customer from agent to agent, with two matters in one conversation.

use temporal_agents_examples::{
    handoffs::{Hotline, desk, model},
    stage::Stage,
};

const COMPLAINT: &str =
    "Customer C-77 here. Why is my invoice 20 euros too high? And the line has been dead since Monday.";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let stage = Stage::set::<Hotline>((desk,), model::scripted()).await?;
    println!();
    let goodbye = stage.run(Hotline::run, COMPLAINT.to_owned()).await?;
    println!("\nThe {} has the last word: {}", goodbye.by, goodbye.text);
    stage.clear().await
}
