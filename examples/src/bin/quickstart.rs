//! Runs a travel desk of two agents on a real Temporal server, which it starts itself.
//!
//! `cargo run --bin quickstart` needs no key: without `OPENAI_API_KEY` a scripted model answers.
//! With `--crash` the worker is killed twice during the run.

use std::time::Duration;

use clap::{Parser, Subcommand};
use temporal_agents::client::event_lines::RunPrinter;
use temporal_agents_examples::{
    quickstart::{
        crash,
        trip::{Request, Trip},
        worker::{self, Pace, TASK_QUEUE},
    },
    stage::model,
};
use temporal_agents_testing::{DevServer, DevServerOptions, ServerAddress, environment::activities, history};
use temporalio_client::{WorkflowGetResultOptions, WorkflowStartOptions};

/// Runs a travel desk of two agents on a real Temporal server.
#[derive(Parser)]
struct Arguments {
    /// Request of the traveller.
    #[arg(long, default_value = "Two nights in Oslo, by train from Bergen, please.")]
    prompt: String,
    /// Kills the worker twice during the run and proves that nothing is lost.
    #[arg(long)]
    crash: bool,
    /// Keeps the server and its UI running until Ctrl-C.
    #[arg(long)]
    keep: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the worker process that `--crash` starts and kills.
    #[command(hide = true)]
    Worker { address: ServerAddress, namespace: String, model_millis: u64, tool_millis: u64, hesitation_millis: u64 },
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if let Some(Command::Worker { address, namespace, model_millis, tool_millis, hesitation_millis }) =
        &arguments.command
    {
        let pace = Pace {
            model: Duration::from_millis(*model_millis),
            tool: Duration::from_millis(*tool_millis),
            hesitation: Duration::from_millis(*hesitation_millis),
        };
        return worker::serve(&address.to_string(), namespace, pace);
    }
    tokio::runtime::Runtime::new()?.block_on(demonstrate(&arguments))
}

async fn demonstrate(arguments: &Arguments) -> anyhow::Result<()> {
    println!("Starting a Temporal dev server ...");
    let server = DevServer::start_with(DevServerOptions::builder().ui(true).build()).await?;
    println!("Server {}", server.address());
    model::announce();
    let outcome = run(&server, arguments).await;
    if arguments.keep {
        println!("The server stays up until Ctrl-C.");
        tokio::signal::ctrl_c().await?;
    }
    server.shutdown().await;
    outcome
}

async fn run(server: &DevServer, arguments: &Arguments) -> anyhow::Result<()> {
    let client = server.client().await?;
    let workflow_id = "trip-1";
    let request = Request {
        prompt: arguments.prompt.clone(),
        // Short in the crash demonstration, so that a killed model call is detected soon.
        heartbeat_seconds: if arguments.crash { 2 } else { 30 },
    };
    println!();
    let options = WorkflowStartOptions::new(TASK_QUEUE, workflow_id).task_timeout(Duration::from_secs(2));
    // The crash demonstration ends even on errors; a real provider may take longer.
    let options = options.maybe_execution_timeout(arguments.crash.then_some(Duration::from_secs(55))).build();
    let handle = client.start_workflow(Trip::run, request, options).await?;
    let mut printer = RunPrinter::new(&client, workflow_id);
    if arguments.crash {
        let writer = printer.writer();
        let (kills, third) = tokio::select! {
            kills = crash::kill_twice(server, &client, workflow_id, &writer) => kills?,
            ended = printer.print_to_end() => {
                ended?;
                anyhow::bail!("the run was over before both kills")
            }
        };
        printer.print_to_end().await?;
        tokio::task::spawn_blocking(|| third.finish()).await??;
        crash::prove(&activities(&history::fetch(&client, workflow_id, None).await?), &kills)?;
    } else {
        let pace =
            Pace { model: Duration::from_millis(200), tool: Duration::from_millis(200), hesitation: Duration::ZERO };
        let (_worker, traces) = worker::start(&server.target_url(), server.namespace(), pace).await?;
        printer.print_to_end().await?;
        traces.flush().await;
    }
    let run_id = handle.info().run_id.clone().unwrap_or_default();
    let result = handle.get_result(WorkflowGetResultOptions::default()).await;
    println!();
    if let Ok(plan) = &result {
        println!("Answer: go to {} for {} euros, because {}", plan.city, plan.euros, plan.reason);
    }
    println!("{}", printer.summary().unwrap_or_default());
    match server.ui_url().filter(|_| arguments.keep) {
        Some(ui) => {
            let namespace = server.namespace();
            println!("Workflow {workflow_id}: {ui}/namespaces/{namespace}/workflows/{workflow_id}/{run_id}/history");
        }
        None => println!("Workflow {workflow_id}; with --keep the server stays up, to look at it in the UI."),
    }
    anyhow::ensure!(result.is_ok(), "the run failed; its last event says why");
    Ok(())
}
