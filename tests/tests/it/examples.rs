//! The examples on a real dev server, with their own scripted models: the whole result, and replay of every history.
//!
//! Each module plays one example, so that `golden_history` can record what it plays.

pub(crate) mod agents_as_tools;
pub(crate) mod approval;
mod approval_crash;
mod code_review;
pub(crate) mod deterministic_chain;
pub(crate) mod guardrails;
pub(crate) mod handoffs;
mod incident_triage;
pub(crate) mod parallel_agents;
mod provider_switch;
pub(crate) mod quickstart;
mod research;
pub(crate) mod sessions;
pub(crate) mod structured_output;
pub(crate) mod versions;

use temporal_agents::{agent::AgentSources, wire::ModelCall};
use temporal_agents_testing::{
    AgentEnvironment, DevServerOptions, FakeModel,
    environment::{AgentEnvironmentBuilder, activities},
    history::{self, History},
    replay, replay_without_cache,
};
use temporalio_client::Client;
use temporalio_common::{
    HasWorkflowDefinition, WorkflowDefinition,
    protos::temporal::api::{enums::v1::WorkflowTaskFailedCause, history::v1::history_event::Attributes},
};
use temporalio_sdk::workflows::WorkflowImplementation;

/// Whether the worker keeps workflows in memory between their tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cache {
    On,
    Off,
}

impl Cache {
    /// An environment for the workflow `W` with this cache.
    pub(crate) fn environment<W>(self) -> anyhow::Result<AgentEnvironmentBuilder>
    where
        W: WorkflowImplementation,
        <W::Run as WorkflowDefinition>::Input: Send,
    {
        let env = AgentEnvironment::builder().workflow::<W>()?;
        Ok(if self == Self::Off { env.without_workflow_cache() } else { env })
    }

    /// An environment with a server of its own: for tests that keep a server busy, or create Nexus endpoints.
    pub(crate) fn environment_alone<W>(self) -> anyhow::Result<AgentEnvironmentBuilder>
    where
        W: WorkflowImplementation,
        <W::Run as WorkflowDefinition>::Input: Send,
    {
        Ok(self.environment::<W>()?.server_options(DevServerOptions::default()))
    }
}

/// What an example did.
#[derive(Debug)]
pub(crate) struct Played<T> {
    pub(crate) output: T,
    /// Of all its runs, in their order. They replay.
    pub(crate) histories: Vec<History>,
    /// What its model was asked.
    pub(crate) calls: Vec<ModelCall>,
}

impl<T> Played<T> {
    /// The types of the activities of all runs, in the order in which they were scheduled. All have completed, at once.
    pub(crate) fn activities(&self) -> Vec<String> {
        let mut types = Vec::new();
        for record in self.histories.iter().flat_map(activities) {
            assert_eq!(
                (record.attempts, &record.outcome),
                (1, &temporal_agents_testing::environment::ActivityOutcome::Completed),
                "{record:?}"
            );
            types.push(record.activity_type);
        }
        types
    }
}

/// Plays an example of one run.
pub(crate) async fn play<W, R>(
    cache: Cache,
    agents: impl AgentSources,
    model: FakeModel,
    run: R,
    input: R::Input,
) -> anyhow::Result<Played<R::Output>>
where
    W: WorkflowImplementation,
    <W::Run as WorkflowDefinition>::Input: Send,
    R: HasWorkflowDefinition,
    R::Input: Send,
{
    let env = cache.environment::<W>()?.agents(agents).model(&model).start().await?;
    let finished = env.run(run, input).await?;
    let histories = histories::<W>(&env, &finished.workflow_id).await?;
    let output = finished.output()?;
    env.finish().await?;
    Ok(Played { output, histories, calls: model.calls() })
}

/// The histories of all runs of a workflow of this environment; see [`histories_of`].
pub(crate) async fn histories<W>(env: &AgentEnvironment, workflow_id: &str) -> anyhow::Result<Vec<History>>
where
    W: WorkflowImplementation,
    <W::Run as WorkflowDefinition>::Input: Send,
{
    histories_of::<W>(env.client(), workflow_id).await
}

/// Why a workflow task failed, unless it ended the workflow while something else came in: the server then has it done again.
fn failed_cause(event: &Event) -> Option<WorkflowTaskFailedCause> {
    match &event.attributes {
        Some(Attributes::WorkflowTaskFailedEventAttributes(failed)) => {
            Some(failed.cause()).filter(|cause| *cause != WorkflowTaskFailedCause::UnhandledCommand)
        }
        _ => None,
    }
}

/// The histories of all runs of a workflow, the first one first, each replayed as workers with and without a cache do.
pub(crate) async fn histories_of<W>(client: &Client, workflow_id: &str) -> anyhow::Result<Vec<History>>
where
    W: WorkflowImplementation,
    <W::Run as WorkflowDefinition>::Input: Send,
{
    let histories = executions_of(client, workflow_id).await?;
    for history in &histories {
        replay::<W>(history).await?;
        replay_without_cache::<W>(history).await?;
        let failed: Vec<_> = history.events.iter().filter_map(failed_cause).collect();
        assert_eq!(failed, [], "failed workflow tasks of {workflow_id}");
    }
    Ok(histories)
}

/// The histories of all runs of a workflow, the first one first.
pub(crate) async fn executions_of(client: &Client, workflow_id: &str) -> anyhow::Result<Vec<History>> {
    let mut histories = Vec::new();
    let mut run = history::fetch(client, workflow_id, None).await?.events.first().and_then(first_run_of);
    while let Some(run_id) = run {
        let history = history::fetch(client, workflow_id, Some(&*run_id)).await?;
        run = history.events.last().and_then(next_run_of);
        histories.push(history);
    }
    Ok(histories)
}

type Event = temporalio_common::protos::temporal::api::history::v1::HistoryEvent;

fn first_run_of(event: &Event) -> Option<String> {
    match &event.attributes {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => {
            Some(started.first_execution_run_id.clone())
        }
        _ => None,
    }
}

fn next_run_of(event: &Event) -> Option<String> {
    match &event.attributes {
        Some(Attributes::WorkflowExecutionContinuedAsNewEventAttributes(continued)) => {
            Some(continued.new_execution_run_id.clone())
        }
        _ => None,
    }
}
