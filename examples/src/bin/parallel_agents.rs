//! Runs three agents that draft at the same time, and a fourth one that judges.

use temporal_agents_examples::{
    parallel_agents::{GuestRelations, TONES, judge, model, writer},
    stage::Stage,
};

const COMPLAINT: &str = "Somebody drilled next door from six in the morning. I came here to sleep!";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let [warm, brief, formal] = TONES.map(writer);
    let stage = Stage::set::<GuestRelations>((warm, brief, formal, judge), model::scripted()).await?;
    println!();
    let answer = stage.run(GuestRelations::run, COMPLAINT.to_owned()).await?;
    println!("\nThe {} draft is sent: {}\nThe judge: {}", answer.tone, answer.text, answer.reason);
    stage.clear().await
}
