//! A workflow for the agents of all cases, and what its history says.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use temporal_agents::{Agent, AgentsPlugin, ModelProvider, Resources, RunConfig, Runner};
use temporal_agents_testing::{
    AgentEnvironment, FinishedRun,
    environment::{ActivityOutcome, AgentEnvironmentBuilder},
};
use temporalio_common::protos::temporal::api::{
    enums::v1::{EventType, WorkflowTaskFailedCause},
    history::v1::{HistoryEvent, history_event::Attributes},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::{sync::Semaphore, time::timeout};

use super::{beside, blocking, by_agent, failures, known, output, pure, tool_calls};

pub(crate) const MODEL: &str = "agents.call_model";

/// The agent of a case.
fn agent(case: &str) -> Agent {
    match case.split_once(' ').map_or(case, |(module, _)| module) {
        "beside" => beside::agent(case),
        "blocking" => blocking::agent(case),
        "by_agent" => by_agent::agent(case),
        "failures" => failures::agent(case),
        "known" => known::agent(),
        "tool_calls" => tool_calls::agent(case),
        "output" => output::agent(case),
        "pure" => pure::agent(case),
        other => panic!("no agent for {other}"),
    }
}

/// The configuration of a case's run.
fn config(case: &str) -> RunConfig {
    match case {
        "known" => known::config(),
        "blocking run" => blocking::config(),
        _ if case.starts_with("tool_calls") => tool_calls::config(case),
        _ => RunConfig::default(),
    }
}

/// Runs the agent of a case; gives its output, and what the guardrails found.
#[workflow]
#[derive(Default)]
pub(crate) struct Guarded;

#[workflow_methods]
impl Guarded {
    #[run(name = "guarded")]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        (case, question): (String, String),
    ) -> WorkflowResult<(String, Value)> {
        let result = Runner::with_config(ctx, config(&case)).run(&agent(&case), question).await?;
        let guardrails = serde_json::to_value(&result.guardrails).unwrap_or_default();
        Ok((result.final_output, guardrails))
    }
}

pub(crate) type Run = FinishedRun<(String, Value)>;

/// A worker for a case, with or without the workflow cache; it has a gate for those who wait.
pub(crate) fn worker(
    case: &'static str,
    model: impl ModelProvider + 'static,
    cached: bool,
) -> anyhow::Result<(AgentEnvironmentBuilder, Gate)> {
    let gate = Gate::default();
    let builder = AgentEnvironment::builder().workflow::<Guarded>()?.model_provider(model).state(gate.clone());
    let builder = if cached { builder } else { builder.without_workflow_cache() };
    let config = config(case);
    let plugin = AgentsPlugin::new(Resources::new().state(Gate::default())).without_models();
    let plugin = config.input_guardrails.into_iter().fold(plugin, AgentsPlugin::input_guardrail);
    let plugin = config.output_guardrails.into_iter().fold(plugin, AgentsPlugin::output_guardrail);
    let plugin = config.tool_input_guardrails.into_iter().fold(plugin, AgentsPlugin::tool_input_guardrail);
    let plugin = config.tool_output_guardrails.into_iter().fold(plugin, AgentsPlugin::tool_output_guardrail);
    let of_run = move |options: &mut _| plugin.install(options).expect("it installs");
    let builder = builder.agents((move || agent(case),));
    let has_own = case == "blocking run" || case == "tool_calls run";
    Ok((if has_own { builder.worker_options(of_run) } else { builder }, gate))
}

/// Runs a case with a model that answers at once.
pub(crate) async fn run(
    case: &'static str,
    question: &str,
    model: impl ModelProvider + 'static,
    cached: bool,
) -> anyhow::Result<Run> {
    let env = worker(case, model, cached)?.0.start().await?;
    let run = env.run(Guarded::run, (case.to_owned(), question.to_owned())).await?;
    env.finish().await?;
    assert_eq!(failed_tasks(&run), [""; 0]);
    Ok(run)
}

/// Why workflow tasks failed. A run that ends while an activity reports has to be told of it first: that is no failure.
pub(crate) fn failed_tasks(run: &Run) -> Vec<String> {
    let why = |event: &HistoryEvent| match &event.attributes {
        Some(Attributes::WorkflowTaskFailedEventAttributes(failed)) => Some(failed.cause()),
        _ => None,
    };
    let causes = run.history.events.iter().filter_map(why);
    causes
        .filter(|cause| *cause != WorkflowTaskFailedCause::UnhandledCommand)
        .map(|cause| format!("{cause:?}"))
        .collect()
}

/// The activities of a run by type, and how each ended.
pub(crate) fn activities(run: &Run) -> Vec<(String, ActivityOutcome)> {
    run.activities().into_iter().map(|activity| (activity.activity_type, activity.outcome)).collect()
}

pub(crate) fn done(activity_type: &str) -> (String, ActivityOutcome) {
    (activity_type.to_owned(), ActivityOutcome::Completed)
}

/// How many activities the run asked to stop.
pub(crate) fn asked_to_stop(run: &Run) -> usize {
    let asked = |event_type| event_type == EventType::ActivityTaskCancelRequested;
    run.history.events.iter().filter(|event| asked(event.event_type())).count()
}

/// Type and message of the failure that ended the workflow.
pub(crate) fn failure(run: &Run) -> (String, String) {
    run.failure_chain().into_iter().next().unwrap_or_default()
}

pub(crate) fn workflow_error(message: &str) -> (String, String) {
    ("AgentsWorkflowError".to_owned(), message.to_owned())
}

/// What a guardrail waits for until the test opens it.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    reached: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        let closed = || Arc::new(Semaphore::new(0));
        Self { reached: closed(), open: closed() }
    }
}

impl Gate {
    /// Waits at the gate.
    pub(crate) async fn pass(&self) {
        self.reached.add_permits(1);
        let _permit = self.open.acquire().await.expect("never closed");
    }

    /// Says that somebody is there, who does not wait.
    pub(crate) fn reach(&self) {
        self.reached.add_permits(1);
    }

    /// Waits until somebody is there.
    pub(crate) async fn reached(&self) -> anyhow::Result<()> {
        let patience = Duration::from_secs(30);
        let reached = timeout(patience, self.reached.acquire()).await;
        reached.map_err(|_| anyhow::anyhow!("nobody has reached the gate within {patience:?}"))??.forget();
        Ok(())
    }

    /// Lets everybody pass.
    pub(crate) fn open(&self) {
        self.open.add_permits(1);
    }
}
