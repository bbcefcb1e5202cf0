//! The workflow that runs an agent with the tools of a server, and how tests look at it.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde_json::Value;
use temporal_agents::{Agent, Runner, mcp::McpTransport, tool::McpServer, wire::Item};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::{ActivityOutcome, AgentEnvironmentBuilder, FinishedRun},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::PATIENCE;

use super::python::{HttpServer, stdio};

#[workflow]
pub(crate) struct Workshop {
    agent: Agent,
}

#[workflow_methods(factory_only)]
impl Workshop {
    #[run(name = "workshop")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        let agent = ctx.state(|workshop| workshop.agent.clone());
        Ok(Runner::new(ctx).run(&agent, question).await?.final_output)
    }
}

/// How the worker reaches the server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By {
    Stdio,
    Http,
}

/// A server that can be reached.
pub(crate) struct Reached {
    pub(crate) transport: McpTransport,
    pub(super) http: Option<HttpServer>,
}

impl By {
    pub(crate) fn reach(self) -> Reached {
        match self {
            Self::Stdio => Reached { transport: stdio().into(), http: None },
            Self::Http => {
                let server = HttpServer::start();
                Reached { transport: server.transport().into(), http: Some(server) }
            }
        }
    }
}

pub(super) fn smith(server: McpServer) -> Agent {
    Agent::new("smith").model("gpt-5").mcp_server(server)
}

/// A worker with the agent and the server `workshop`.
pub(super) async fn workshop(
    agent: &Agent,
    model: &FakeModel,
    transport: impl Into<McpTransport>,
    cached: bool,
) -> anyhow::Result<AgentEnvironment> {
    let builder = environment(agent, transport)?.model(model);
    Ok(if cached { builder } else { builder.without_workflow_cache() }.start().await?)
}

/// The same without a model.
pub(super) fn environment(
    agent: &Agent,
    transport: impl Into<McpTransport>,
) -> anyhow::Result<AgentEnvironmentBuilder> {
    let of_workflow = agent.clone();
    Ok(AgentEnvironment::builder()
        .workflow_with_factory::<Workshop, _>(move || Workshop { agent: of_workflow.clone() })?
        .mcp_server("workshop", transport)
        .agents((agent.clone(),)))
}

/// Type, attempts and outcome of each activity.
pub(super) fn activities<T>(run: &FinishedRun<T>) -> Vec<(String, i32, ActivityOutcome)> {
    run.activities().into_iter().map(|one| (one.activity_type, one.attempts, one.outcome)).collect()
}

pub(super) fn done(kind: &str) -> (String, i32, ActivityOutcome) {
    (kind.to_owned(), 1, ActivityOutcome::Completed)
}

/// What the model was last told that its calls gave.
pub(super) fn outputs(model: &FakeModel) -> Vec<Value> {
    let last = model.calls().pop().expect("the model was asked");
    last.input.iter().filter_map(|item: &Item| item.get("output").cloned()).collect()
}

/// The names of the tools that the model was offered, call by call.
pub(super) fn offered(model: &FakeModel) -> Vec<Vec<String>> {
    let names = |call: &temporal_agents::wire::ModelCall| {
        call.definitions.tools.iter().map(|tool| tool.name().to_owned()).collect()
    };
    model.calls().iter().map(names).collect()
}

/// The process id that a server writes into this file.
pub(super) async fn process_in(file: &Path) -> anyhow::Result<i32> {
    let begun = Instant::now();
    loop {
        if let Some(pid) = std::fs::read_to_string(file).ok().and_then(|text| text.parse().ok()) {
            return Ok(pid);
        }
        anyhow::ensure!(begun.elapsed() < PATIENCE, "no call has reached the server: {} is missing", file.display());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(super) fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).expect("a process id");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("the server runs");
}

/// Waits until a process has ended.
pub(super) async fn ended(pid: i32) -> anyhow::Result<()> {
    let (begun, process) = (Instant::now(), rustix::process::Pid::from_raw(pid).expect("a process id"));
    while rustix::process::test_kill_process(process).is_ok() {
        anyhow::ensure!(begun.elapsed() < PATIENCE, "the server, process {pid}, runs on");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}
