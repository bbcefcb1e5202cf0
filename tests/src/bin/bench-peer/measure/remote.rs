//! Measures calls of a provider's tool over Redis, beside the same calls as activities on a task
//! queue: 40 in flight at a time, in one run.
//!
//! Each measurement is a process of its own, with a server, a worker and, for Redis, a provider
//! with 40 calls at a time. The time of a call is that between the server's records that its
//! activity was scheduled and that it has completed.

use std::{collections::BTreeMap, time::Instant};

use anyhow::{Context, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{
    Agent, Resources, Tool,
    remote::transport::RedisTransport,
    tool,
    tool::RemoteToolset,
    wire::{AgentRequest, RemoteTool},
    worker::{ToolProvider, ToolRegistry},
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, RedisServer,
    fake_model::{text, tool_calls},
};
use temporalio_common::protos::temporal::api::{
    enums::v1::EventType,
    history::v1::{History, HistoryEvent, history_event::Attributes},
};
use tokio::process::Command;

use super::figures::median;

/// Calls in flight: the most activities of tools that a run has at a time.
const IN_FLIGHT: usize = 40;

/// The way of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Over {
    /// A provider behind Redis.
    Redis,
    /// Activities on the task queue of the run.
    Activities,
}

impl Over {
    const ALL: [Self; 2] = [Self::Redis, Self::Activities];

    fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Activities => "activities",
        }
    }
}

/// The figures of one measurement.
#[derive(Serialize, Deserialize)]
struct Figures {
    wall_s: f64,
    p50_ms: f64,
    p99_ms: f64,
    peak_mib: f64,
}

/// Returns its text.
#[tool]
async fn echo(text: String) -> String {
    text
}

/// Measures each way `rounds` times in turn, and prints the medians.
pub(crate) async fn remote(rounds: u32, calls: usize) -> anyhow::Result<()> {
    let mut measured: Vec<Vec<Figures>> = Over::ALL.iter().map(|_| Vec::new()).collect();
    for round in 1..=rounds {
        for (over, measured) in Over::ALL.into_iter().zip(&mut measured) {
            eprintln!("round {round} of {rounds}: {}", over.name());
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["remote", "--calls", &calls.to_string(), "--over", over.name()]).kill_on_drop(true);
            let output = command.output().await?;
            let errors = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "the measurement failed: {errors}");
            measured.push(serde_json::from_slice(&output.stdout).with_context(|| format!("no figures: {errors}"))?);
        }
    }
    println!("| {calls} calls, {IN_FLIGHT} in flight | wall, s | p50 of a call, ms | p99, ms | memory peak, MiB |");
    println!("|---|---:|---:|---:|---:|");
    for (over, measured) in Over::ALL.into_iter().zip(measured) {
        let of = |figure: fn(&Figures) -> f64| median(measured.iter().map(figure).collect());
        let (wall, p50) = (of(|it| it.wall_s), of(|it| it.p50_ms));
        let (p99, peak) = (of(|it| it.p99_ms), of(|it| it.peak_mib));
        println!("| {} | {wall:.2} | {p50:.0} | {p99:.0} | {peak:.0} |", over.name());
    }
    println!("Medians of {rounds} rounds; the process is the worker, and for Redis the provider as well.");
    Ok(())
}

/// Measures once, and prints the figures as a line of JSON.
pub(crate) async fn remote_once(over: Over, calls: usize) -> anyhow::Result<()> {
    let made = (0..calls).map(|at| ("echo", json!({"text": format!("call {at}")})));
    let model = FakeModel::script([tool_calls(made), text("done")]);
    let figures = match over {
        Over::Activities => {
            let agent = Agent::new("caller").model("gpt-5").tool(echo);
            measure(&agent, &model, Resources::new(), calls).await?
        }
        Over::Redis => {
            let server = RedisServer::start().await?;
            let transport = RedisTransport::new(&server.url())?;
            let registry = ToolRegistry::default().register(echo)?;
            let provider = ToolProvider::new("demo", registry, transport.clone()).concurrency(IN_FLIGHT);
            let serving = tokio::spawn(async move { provider.serve(std::future::pending()).await });
            let tool = echo.definition();
            let described = RemoteTool::new(tool.name(), tool.description(), tool.accepts().clone()).idempotent();
            let agent = Agent::new("caller").model("gpt-5").tools(RemoteToolset::named("demo").tools([described]));
            let figures = measure(&agent, &model, Resources::new().tool_streams(transport), calls).await;
            serving.abort();
            figures?
        }
    };
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

async fn measure(agent: &Agent, model: &FakeModel, resources: Resources, calls: usize) -> anyhow::Result<Figures> {
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((agent.clone(),))))?
        .agents((agent.clone(),))
        .resources(|_| resources)
        .model(model)
        .start()
        .await?;
    let began = Instant::now();
    let run = env.run(AgentWorkflow::run, AgentRequest::new("caller", "Go.")).await?;
    let wall_s = began.elapsed().as_secs_f64();
    let mut took = took_ms(&run.history);
    run.output()?;
    env.finish().await?;
    ensure!(took.len() == calls, "{} of {calls} calls have completed", took.len());
    took.sort_by(f64::total_cmp);
    let at = |share: usize| took[(took.len() * share / 100).min(took.len() - 1)];
    Ok(Figures { wall_s, p50_ms: at(50), p99_ms: at(99), peak_mib: peak_mib()? })
}

/// Milliseconds of each activity of a tool, from its schedule to its end.
fn took_ms(history: &History) -> Vec<f64> {
    let mut scheduled = BTreeMap::new();
    let mut took = Vec::new();
    for event in &history.events {
        match &event.attributes {
            Some(Attributes::ActivityTaskScheduledEventAttributes(activity)) => {
                let kind = activity.activity_type.as_ref().map_or("", |kind| &*kind.name);
                if kind != "agents.call_model" {
                    scheduled.insert(event.event_id, millis(event));
                }
            }
            Some(Attributes::ActivityTaskCompletedEventAttributes(ended)) => {
                took.extend(scheduled.get(&ended.scheduled_event_id).map(|began| millis(event) - began));
            }
            _ => debug_assert_ne!(event.event_type(), EventType::ActivityTaskFailed),
        }
    }
    took
}

fn millis(event: &HistoryEvent) -> f64 {
    let time = event.event_time.unwrap_or_default();
    let seconds = u32::try_from(time.seconds.rem_euclid(1_000_000)).unwrap_or_default();
    f64::from(seconds) * 1e3 + f64::from(time.nanos) / 1e6
}

/// The most memory that this process has had.
fn peak_mib() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM in /proc/self/status")?;
    let kib: u32 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(f64::from(kib) / 1024.0)
}
