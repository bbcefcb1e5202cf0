//! Researches in an archive of 18 yearbooks with one agentic session of 38 turns.
//!
//! `cargo run --bin research` needs no key: without `OPENAI_API_KEY` a scripted model plays. With
//! `--crash` the worker is killed in the middle, and another one continues from the checkpoint.

use std::{path::PathBuf, pin::pin, time::Duration};

use clap::{Parser, Subcommand};
use temporal_agents_examples::{
    research::{
        Question, Report, Research, archive, crash,
        progress::Progress,
        worker::{self, Desk, TASK_QUEUE},
    },
    stage::{POLL_INTERVAL, model},
};
use temporal_agents_testing::{DevServer, DevServerOptions, ServerAddress};
use temporalio_client::{WorkflowGetResultOptions, WorkflowHandle, WorkflowStartOptions};

const QUESTION: &str = "How has the first cherry blossom moved over the years?";

/// Researches in an archive of 18 yearbooks with one agentic session of 38 turns.
#[derive(Parser)]
struct Arguments {
    /// Kills the worker in the middle, and counts the turns that are made again.
    #[arg(long)]
    crash: bool,
    /// Leaves the server and its UI up until Ctrl-C.
    #[arg(long)]
    keep: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// The worker that `--crash` starts and kills.
    #[command(hide = true)]
    Worker { address: ServerAddress, namespace: String, folder: PathBuf, pace_millis: u64 },
    /// The MCP server, which a worker starts.
    #[command(hide = true, name = archive::ARGUMENT)]
    Archive,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match arguments.command {
        Some(Command::Worker { address, namespace, folder, pace_millis }) => {
            let pace = Duration::from_millis(pace_millis);
            worker::serve(&Desk { address: address.to_string(), namespace, folder, pace }, archive::transport()?)
        }
        Some(Command::Archive) => Ok(tokio::runtime::Runtime::new()?.block_on(archive::serve_stdio())?),
        None => tokio::runtime::Runtime::new()?.block_on(demonstrate(&arguments)),
    }
}

async fn demonstrate(arguments: &Arguments) -> anyhow::Result<()> {
    println!("Starting a Temporal dev server ...");
    let server = DevServer::start_with(DevServerOptions::builder().ui(true).build()).await?;
    println!("Server {}, UI {}", server.address(), server.ui_url().unwrap_or_default());
    model::announce();
    let desk = Desk {
        address: server.address().to_owned(),
        namespace: server.namespace().to_owned(),
        folder: std::env::temp_dir().join(format!("temporal-agents-research-{}", std::process::id())),
        pace: Duration::from_millis(100),
    };
    std::fs::create_dir_all(&desk.folder)?;
    let outcome = run(&server, &desk, arguments.crash).await;
    std::fs::remove_dir_all(&desk.folder)?;
    if arguments.keep {
        println!("The server stays up until Ctrl-C.");
        tokio::signal::ctrl_c().await?;
    }
    server.shutdown().await;
    outcome
}

async fn run(server: &DevServer, desk: &Desk, crash: bool) -> anyhow::Result<()> {
    println!("\n> {QUESTION}\n");
    // Short in the crash demonstration, so that the server soon notices that the worker is lost.
    let question = Question { text: QUESTION.to_owned(), heartbeat_seconds: if crash { 3 } else { 30 } };
    let options = WorkflowStartOptions::new(TASK_QUEUE, "research-1");
    // The crash demonstration ends by itself, whatever goes wrong.
    let options = options.maybe_execution_timeout(crash.then_some(Duration::from_mins(4))).build();
    let handle = server.client().await?.start_workflow(Research::run, question, options).await?;
    let mut progress = Progress::new(desk.journal());
    if crash {
        let victim = worker::spawn(desk)?;
        println!("* worker 1 is process {}", victim.pid());
        let kill = crash::kill_in_the_middle(victim, &desk.checkpoints(), &mut progress).await?;
        let successor = worker::spawn(desk)?;
        println!("* worker 2 is process {}", successor.pid());
        tell(&watch(&handle, &mut progress).await?);
        let turns = crash::count(&progress.look()?, kill)?;
        println!(
            "Turns before the crash that were not repeated: {}. Repeated, because it was under way: {}. After the crash: {}.",
            turns.kept.len(),
            turns.repeated.len(),
            turns.later.len()
        );
    } else {
        let _worker = worker::start(desk, archive::transport()?)?;
        tell(&watch(&handle, &mut progress).await?);
    }
    Ok(())
}

/// Prints progress until the workflow has ended, and returns its report.
async fn watch<W>(
    handle: &WorkflowHandle<temporalio_client::Client, W>,
    progress: &mut Progress,
) -> anyhow::Result<Report>
where
    W: temporalio_common::HasWorkflowDefinition<Output = Report>,
{
    let mut result = pin!(handle.get_result(WorkflowGetResultOptions::default()));
    loop {
        tokio::select! {
            report = &mut result => {
                progress.look()?;
                return Ok(report?);
            }
            () = tokio::time::sleep(POLL_INTERVAL) => progress.look()?,
        };
    }
}

fn tell(report: &Report) {
    println!("\nReport: {}", report.conclusion);
    for finding in &report.findings {
        println!("  {}: day {}", finding.year, finding.day);
    }
    println!();
}
