//! The environment of the examples: a dev server, a worker, a model, and a printer of the run's
//! events.
//!
//! Programs that use temporal-agents do not need this module. The first chapter of the guide shows
//! the worker of such a program.

pub mod mcp_server;
pub mod model;
pub mod process;
pub mod server;

use std::time::Duration;

use anyhow::anyhow;
use clap::{Args, Parser};
use temporal_agents::{
    AgentsPlugin, Resources,
    agent::AgentSources,
    agentic_session::WorkflowApprover,
    client::{
        AgentHandle,
        event_lines::{EventWriter, RunPrinter},
    },
    provider::OpenAi,
    wire::{AgentInterruption, EventKind},
    worker::HeartbeatDeltas,
};
use temporal_agents_testing::{
    AgentEnvironment, DevServer, DevServerOptions, FakeModel,
    environment::{AgentEnvironmentBuilder, WorkerThread},
};
use temporalio_client::{Client, WorkflowHandle};
use temporalio_common::{HasWorkflowDefinition, WorkflowDefinition};
use temporalio_sdk::{WorkerOptions, workflows::WorkflowImplementation};

/// Interval between polls of what has no stream of events.
pub const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time before a call of a session is approved, as if by a person.
const APPROVAL_DELAY: Duration = Duration::from_secs(1);

/// Runs an example of temporal-agents on a Temporal dev server, which it starts itself.
///
/// No key is needed: without OPENAI_API_KEY a scripted model answers.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

/// The options of every example.
#[derive(Args, Clone, Copy, Debug)]
pub struct Options {
    /// Keeps the server and its web UI running until Ctrl-C.
    #[arg(long)]
    keep: bool,
}

/// A dev server, and a worker with the agents of one example.
#[derive(Debug)]
pub struct Stage {
    env: AgentEnvironment,
    keep: bool,
}

/// A workflow that was started.
#[expect(missing_debug_implementations, reason = "the client's handle has none")]
pub struct Started<W> {
    /// Handle of the workflow; it refers to the latest run, also after continue-as-new.
    pub handle: WorkflowHandle<Client, W>,
    printer: RunPrinter,
}

impl Stage {
    /// Starts a server, and a worker that has the workflow `W` and these agents.
    ///
    /// # Errors
    /// The server cannot be started, or the agents are invalid.
    pub async fn set<W>(agents: impl AgentSources, scripted: FakeModel) -> anyhow::Result<Self>
    where
        W: WorkflowImplementation,
        <W::Run as WorkflowDefinition>::Input: Send,
    {
        let Arguments { options } = Arguments::parse();
        Self::set_with::<W>(options, AgentEnvironment::builder().agents(agents), scripted).await
    }

    /// Starts a server, and a worker with these options and with the additional registrations of
    /// `env`.
    ///
    /// # Errors
    /// The server cannot be started, or the agents are invalid.
    pub async fn set_with<W>(
        options: Options,
        env: AgentEnvironmentBuilder,
        scripted: FakeModel,
    ) -> anyhow::Result<Self>
    where
        W: WorkflowImplementation,
        <W::Run as WorkflowDefinition>::Input: Send,
    {
        let env = if model::has_key() {
            env.model_provider(OpenAi::from_env()?)
        } else {
            env.model_provider(scripted.chunk_pause(model::CHUNK_PAUSE))
        };
        let stage = Self::set_up::<W>(options, env).await?;
        model::announce();
        Ok(stage)
    }

    /// Starts a server, and a worker with the model of `env`, whether or not a key is set. The
    /// models stream.
    ///
    /// # Errors
    /// The server cannot be started, or the agents are invalid.
    pub async fn set_up<W>(Options { keep }: Options, env: AgentEnvironmentBuilder) -> anyhow::Result<Self>
    where
        W: WorkflowImplementation,
        <W::Run as WorkflowDefinition>::Input: Send,
    {
        println!("Starting a Temporal dev server ...");
        // The tokens of the models reach the printer.
        let env = env.plugin(|plugin| plugin.deltas(HeartbeatDeltas::new()));
        let env = env.workflow::<W>()?.server_options(DevServerOptions::builder().ui(keep).build());
        Ok(Self { env: Box::pin(env.start()).await?, keep })
    }

    /// Stops the worker, and starts one of an older build in its place, which has the workflow `W` and these agents.
    ///
    /// # Errors
    /// A worker cannot stop or start, or the agents are invalid.
    pub async fn go_back_to<W>(
        &mut self,
        agents: impl AgentSources,
        scripted: FakeModel,
    ) -> anyhow::Result<WorkerThread>
    where
        W: WorkflowImplementation,
        <W::Run as WorkflowDefinition>::Input: Send,
    {
        self.env.stop_worker().await?;
        let mut options = WorkerOptions::new(self.env.task_queue()).register_workflow::<W>()?.build();
        let resources: Resources =
            if model::has_key() { OpenAi::from_env()?.into() } else { scripted.chunk_pause(model::CHUNK_PAUSE).into() };
        let plugin = AgentsPlugin::new(resources).deltas(HeartbeatDeltas::new());
        plugin.agents(agents).install(&mut options)?;
        Ok(WorkerThread::start(self.server().target_url(), self.server().namespace(), options)?)
    }

    /// Stops a worker of an older build, and starts the example's own.
    ///
    /// # Errors
    /// A worker cannot stop or start.
    pub async fn deploy(&mut self, mut before: WorkerThread) -> anyhow::Result<()> {
        // On a blocking thread: the operations that the worker waits for may run on this runtime.
        tokio::task::spawn_blocking(move || before.stop()).await??;
        Ok(self.env.start_worker()?)
    }

    /// Runs a workflow to its end, prints its events, and returns its result.
    ///
    /// # Errors
    /// The workflow fails, or its history does not replay.
    pub async fn run<W>(&self, workflow: W, input: W::Input) -> anyhow::Result<W::Output>
    where
        W: HasWorkflowDefinition,
        W::Input: Send,
    {
        let started = self.start(workflow, input).await?;
        self.finish(started).await
    }

    /// Starts a workflow.
    ///
    /// # Errors
    /// The server rejects the request.
    pub async fn start<W>(&self, workflow: W, input: W::Input) -> anyhow::Result<Started<W>>
    where
        W: HasWorkflowDefinition,
        W::Input: Send,
    {
        let started = self.env.start_workflow(workflow, input).await?;
        let handle = self.env.client().get_workflow_handle(&*started.info().workflow_id);
        let printer = RunPrinter::new(self.env.client(), &*handle.info().workflow_id);
        Ok(Started { handle, printer })
    }

    /// Prints the events up to the next one that `is_last` selects. Returns `false` if the workflow
    /// has ended without it.
    ///
    /// # Errors
    /// The history cannot be read.
    pub async fn look_until<W>(
        &self,
        started: &mut Started<W>,
        is_last: impl Fn(&EventKind) -> bool,
    ) -> anyhow::Result<bool> {
        Ok(started.printer.print_until(is_last).await?)
    }

    /// Prints the events until the workflow waits for a decision or an output, and returns the
    /// interruptions; none if it has ended before. A second call prints up to the next pause.
    ///
    /// # Errors
    /// The workflow does not answer the query.
    pub async fn look_until_asked<W: HasWorkflowDefinition>(
        &self,
        started: &mut Started<W>,
    ) -> anyhow::Result<Vec<AgentInterruption>> {
        if !self.look_until(started, |event| matches!(event, EventKind::RunPaused {})).await? {
            return Ok(Vec::new());
        }
        let workflow = AgentHandle::new(self.client(), &*started.handle.info().workflow_id);
        Ok(workflow.state().await?.interruptions)
    }

    /// Returns the client of the server.
    pub fn client(&self) -> &Client {
        self.env.client()
    }

    /// Returns the server.
    pub fn server(&self) -> &DevServer {
        self.env.server()
    }

    /// Prints the events until the workflow has ended, and returns its result.
    ///
    /// # Errors
    /// The workflow fails, or its history does not replay.
    pub async fn finish<W: HasWorkflowDefinition>(&self, mut started: Started<W>) -> anyhow::Result<W::Output> {
        started.printer.print_to_end().await?;
        if let Some(summary) = started.printer.summary() {
            println!("{summary}");
        }
        let run = self.env.await_run(&started.handle).await?;
        let cause = run.failure_chain().pop().map(|(_, message)| message);
        run.output().map_err(|error| anyhow!("the workflow failed: {}", cause.unwrap_or_else(|| error.to_string())))
    }

    /// Waits for the end of a workflow as [`finish`](Self::finish) does, and approves all requests
    /// of its agentic sessions.
    ///
    /// # Errors
    /// The workflow fails, or does not answer a query.
    pub async fn finish_approving<W: HasWorkflowDefinition>(&self, started: Started<W>) -> anyhow::Result<W::Output> {
        let (workflow_id, writer) = (started.handle.info().workflow_id.clone(), started.printer.writer());
        tokio::select! {
            output = self.finish(started) => output,
            error = self.approve_all(&workflow_id, &writer) => error.map(|never| match never {}),
        }
    }

    async fn approve_all(&self, workflow_id: &str, writer: &EventWriter) -> anyhow::Result<std::convert::Infallible> {
        loop {
            for approval in WorkflowApprover::pending(self.client(), workflow_id).await? {
                for call in approval.state().await?.interruptions {
                    // The events of the session so far, the question too, are printed meanwhile.
                    tokio::time::sleep(APPROVAL_DELAY).await;
                    let answer = approval.approve(&call.id).await?;
                    writer.line(&format!("! {} approved: {answer:?}", call.tool))?;
                }
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Stops worker and server; with `--keep` only at Ctrl-C.
    ///
    /// # Errors
    /// The worker has failed.
    pub async fn clear(self) -> anyhow::Result<()> {
        server::keep_up(self.env.server(), self.keep).await?;
        Ok(self.env.finish().await?)
    }
}
