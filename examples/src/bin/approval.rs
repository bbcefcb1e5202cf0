//! Settles a complaint with a refund that a person has to approve.
//!
//! By default the program approves it itself. With `--wait` it prints the command with which
//! another process decides: this program with `--decide`.

use std::time::Duration;

use clap::Parser;
use temporal_agents::wire::{EventKind, Verdict};
use temporal_agents_examples::{
    approval::{Case, Refunds, clerk, decide::decide, ledger::Ledger, model},
    stage::{Options, Stage, server::connect},
};
use temporal_agents_testing::{AgentEnvironment, ServerAddress};
use temporalio_client::Client;

const COMPLAINT: &str = "The samovar of order A-1042 came in pieces. I want my 240 euros back.";

/// Settles a complaint with a refund that a person has to approve.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Leaves the decision to another process, and prints its command.
    #[arg(long)]
    wait: bool,
    /// Decides on the pending calls of a workflow, instead of running one.
    #[arg(long, num_args = 2..=3, value_names = ["WORKFLOW_ID", "approve|reject", "MESSAGE"], requires = "target")]
    decide: Option<Vec<String>>,
    /// The server of that workflow, as HOST:PORT or as a URL.
    #[arg(long, value_name = "ADDRESS")]
    target: Option<ServerAddress>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match (&arguments.decide, &arguments.target) {
        (Some(decision), Some(target)) => decide_elsewhere(decision, target).await,
        _ => settle(&arguments).await,
    }
}

async fn settle(arguments: &Arguments) -> anyhow::Result<()> {
    let file = format!("temporal-agents-refunds-{}.txt", std::process::id());
    let ledger = Ledger { path: std::env::temp_dir().join(file), confirmation: Duration::from_millis(200) };
    let env = AgentEnvironment::builder().agent(clerk).state(ledger.clone());
    let stage = Stage::set_with::<Refunds>(arguments.options, env, model::scripted()).await?;
    println!();
    let patience = Duration::from_secs(if arguments.wait { 60 } else { 2 });
    let mut case = stage.start(Refunds::run, Case::new(COMPLAINT, patience)).await?;
    let workflow_id = case.handle.info().workflow_id.clone();
    if !stage.look_until_asked(&mut case).await?.is_empty() {
        if arguments.wait {
            let command =
                format!("cargo run --bin approval -- --target {} --decide {workflow_id}", stage.server().target_url());
            println!("\nDecide with\n  {command} approve\n  {command} reject \"we only pay for tea cups\"\n");
        } else {
            println!("\nNobody decides for two seconds ...");
            stage.look_until(&mut case, |event| matches!(event, EventKind::RunContinued { .. })).await?;
            tell_decisions(stage.client(), &workflow_id, &Verdict::Approve).await?;
        }
    }
    let outcome = stage.finish(case).await;
    println!("\n{}\nThe ledger says {:?}.", outcome?, ledger.payments()?);
    std::fs::remove_file(&ledger.path).ok();
    stage.clear().await
}

async fn decide_elsewhere(decision: &[String], target: &ServerAddress) -> anyhow::Result<()> {
    let verdict = match decision[1].as_str() {
        "approve" => Verdict::Approve,
        "reject" => Verdict::Reject { message: decision.get(2).cloned() },
        other => anyhow::bail!("approve or reject, not {other:?}"),
    };
    let client = connect(target, "default", "approval").await?;
    tell_decisions(&client, &decision[0], &verdict).await
}

async fn tell_decisions(client: &Client, workflow_id: &str, verdict: &Verdict) -> anyhow::Result<()> {
    for (call, answer) in decide(client, workflow_id, verdict).await? {
        println!("! {verdict:?} for {}: {answer:?}", call.id);
    }
    Ok(())
}
