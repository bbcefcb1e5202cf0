//! Answers a customer with two secrets that the run needs, and searches its history for both.

use std::process::Command;

use anyhow::Context;
use clap::Parser;
use prost::Message;
use temporal_agents_examples::{
    secrets::{Customers, Desk, TOKEN, desk, model},
    stage::{Options, Stage, model::CHUNK_PAUSE},
};
use temporal_agents_testing::{
    AgentEnvironment,
    history::{self, History},
};

const QUESTION: &str = "What do you know of Ada?";
const CARD: &str = "4111 1111 1111 1111";

/// Answers a customer with two secrets that the run needs, and searches its history for both.
///
/// The model is scripted, even with a key: there is no CRM that a real one could reach.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

fn main() -> anyhow::Result<()> {
    let options = Arguments::parse().options;
    match std::env::var(TOKEN) {
        Ok(token) if !token.is_empty() => tokio::runtime::Runtime::new()?.block_on(answer(options, &token)),
        _ => with_a_token(),
    }
}

/// Runs this program again, with a token in its environment.
fn with_a_token() -> anyhow::Result<()> {
    println!("{TOKEN} is not set: this run has a made-up one.");
    let mut again = Command::new(std::env::current_exe()?);
    let status = again.args(std::env::args_os().skip(1)).env(TOKEN, "crm-demo-3f9a7c51e2").status()?;
    std::process::exit(status.code().unwrap_or(1))
}

async fn answer(options: Options, token: &str) -> anyhow::Result<()> {
    let customers = Customers([("Ada".to_owned(), format!("Ada buys lamps and pays with card {CARD}"))].into());
    let model = model::scripted().chunk_pause(CHUNK_PAUSE);
    let env = AgentEnvironment::builder()
        .agent(desk)
        .state(customers)
        .model_provider(model.clone())
        .resources(|resources| resources.allow_env([TOKEN]));
    let stage = Stage::set_up::<Desk>(options, env).await?;
    println!();
    let started = stage.start(Desk::run, QUESTION.to_owned()).await?;
    let workflow_id = started.handle.info().workflow_id.clone();
    println!("\n{}\n", stage.finish(started).await?);

    let call = model.calls().pop().context("the model was asked")?;
    println!("The provider received the token: {}", yes(model::token(&call) == Some(token)));
    let history = history::fetch(stage.client(), &workflow_id, None).await?;
    println!("The history has {} events. It holds", history.events.len());
    println!("  the reference to {TOKEN}: {}", yes(holds(&history, "$worker_env")));
    println!("  the token: {}", yes(holds(&history, token)));
    println!("  what the tool found: {}", yes(holds(&history, "Ada buys lamps")));
    println!("  the card number: {}", yes(holds(&history, CARD)));
    anyhow::ensure!(!holds(&history, token) && !holds(&history, CARD), "a secret is in history");
    stage.clear().await
}

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

/// Returns `true` if a history contains this string: in the bytes of its events and payloads, or in
/// its JSON.
fn holds(history: &History, text: &str) -> bool {
    let bytes = history.encode_to_vec();
    bytes.windows(text.len()).any(|window| window == text.as_bytes()) || history::to_json(history).contains(text)
}
