//! Runs that the server did continue and that a build cannot: the workflow task fails until another build takes over.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use temporal_agents::{
    Agent, Tool,
    client::{AgentHandle, ChatHandle},
    tool,
    wire::{AgentRequest, ChatOutcome, ChatRequest},
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::WorkerThread,
    fake_model::{text, tool_call},
    history::{self, History},
};
use temporalio_client::{WorkflowGetResultOptions, WorkflowStartOptions};
use temporalio_common::protos::temporal::api::{
    enums::v1::EventType,
    history::v1::{WorkflowExecutionFailedEventAttributes, history_event::Attributes},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkerOptions, WorkflowContext, WorkflowResult};
use temporalio_workflow::ContinueAsNewOptions;

use crate::held_model::HeldModel;

/// Gives money back.
#[tool]
async fn refund(order: u32) -> String {
    format!("refunded {order}")
}

fn desk() -> Agent {
    Agent::new("desk").model("gpt-5").tool(refund.needs_approval())
}

fn desk_without_refunds() -> Agent {
    Agent::new("desk").model("gpt-5")
}

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5")
}

/// Continues as new as often as it can.
fn set(agents: impl temporal_agents::agent::AgentSources) -> AgentSet {
    AgentSet::new(agents).continue_when(ContinueOptions::builder().new_events(0).build())
}

/// The agents of the build that is deployed. An execution has those that were there when a worker first had its history.
#[derive(Clone)]
struct Build(Arc<Mutex<AgentSet>>);

impl Build {
    fn new(set: AgentSet) -> Self {
        Self(Arc::new(Mutex::new(set)))
    }

    fn deploy(&self, set: AgentSet) {
        *self.0.lock().expect("nobody panics with it") = set;
    }

    fn set(&self) -> AgentSet {
        self.0.lock().expect("nobody panics with it").clone()
    }

    async fn environment(&self, model: &HeldModel) -> anyhow::Result<AgentEnvironment> {
        let (chats, runs) = (self.clone(), self.clone());
        Ok(AgentEnvironment::builder()
            .workflow_with_factory::<ChatWorkflow, _>(move || ChatWorkflow::factory(chats.set())())?
            .workflow_with_factory::<AgentWorkflow, _>(move || AgentWorkflow::factory(runs.set())())?
            .model_provider(model.clone())
            .agents((desk, clerk))
            .start()
            .await?)
    }
}

/// Why the first failed task of the latest execution has failed, once there is one.
async fn failed_task(env: &AgentEnvironment, workflow_id: &str) -> anyhow::Result<String> {
    let looking = async {
        loop {
            let history = history::fetch(env.client(), workflow_id, None).await?;
            if let Some(message) = task_failure(&history) {
                return anyhow::Ok(message);
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), looking).await?
}

fn task_failure(history: &History) -> Option<String> {
    history.events.iter().find_map(|event| match &event.attributes {
        Some(Attributes::WorkflowTaskFailedEventAttributes(failed)) => {
            Some(failed.failure.as_ref().map(|failure| failure.message.clone()).unwrap_or_default())
        }
        _ => None,
    })
}

fn message(agent: &str, workflow_id: &str, why: &str) -> String {
    format!(
        "the run{agent} that workflow {workflow_id:?} continues cannot be continued by this worker: {why}\n\
         Nothing is lost: this workflow task fails and is retried until a worker can continue the run. Roll back to \
         the build that had what is missing, or deploy one that has it again."
    )
}

#[tokio::test]
async fn a_chat_whose_agent_is_gone_waits_for_a_build_that_has_it() -> anyhow::Result<()> {
    let build = Build::new(set((desk,)));
    let held = HeldModel::new(&FakeModel::script([text("hello")]));
    let mut env = build.environment(&held).await?;
    let started = env.start_workflow(ChatWorkflow::run, ChatRequest::new("desk")).await?;
    let id = started.info().workflow_id.clone();
    let chat = ChatHandle::new(env.client(), &*id);
    let deploys = async {
        held.asked().await?;
        build.deploy(set((clerk,)));
        held.answer();
        let found = failed_task(&env, &id).await?;
        build.deploy(set((desk,)));
        anyhow::Ok(found)
    };
    let (said, found) = tokio::join!(chat.send_as("m1", "Hello?"), deploys);
    let why = "the workflow has no agent \"desk\"; it has: clerk (agent \"desk\")";
    assert_eq!(found?, message(" of agent \"desk\"", &id, why));
    assert_eq!(said?.outcome, ChatOutcome::Answered { output: json!("hello") });
    env.stop_worker().await?;
    env.start_worker()?;
    chat.end().await?;
    assert_eq!(env.await_run(&started).await?.output()?, 1);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_whose_pending_tool_is_gone_waits_for_a_build_that_has_it() -> anyhow::Result<()> {
    let build = Build::new(set((desk,)));
    let held = HeldModel::new(&FakeModel::script([tool_call("refund", json!({"order": 7})), text("done")]));
    let mut env = build.environment(&held).await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("desk", "My money!")).await?;
    let id = started.info().workflow_id.clone();
    held.asked().await?;
    build.deploy(set((desk_without_refunds,)));
    held.answer();
    let why = "the state of the run does not match its agents:\n\
               - agent \"desk\" has no tool \"refund\", but call \"call_0_0\" of it is pending";
    assert_eq!(failed_task(&env, &id).await?, message(" of agent \"desk\"", &id, why));
    env.stop_worker().await?;
    build.deploy(set((desk,)));
    env.start_worker()?;
    let approved = AgentHandle::new(env.client(), &*id).approve("call_0_0").await?;
    assert!(approved.counts(), "{approved:?}");
    held.answer();
    assert_eq!(env.await_run(&started).await?.output()?, json!("done"));
    env.finish().await?;
    Ok(())
}

/// A release of tomorrow, which continues as an `AgentWorkflow` in a form of its own.
#[workflow]
#[derive(Default)]
struct Tomorrow;

#[workflow_methods]
impl Tomorrow {
    #[run(name = "tomorrow")]
    #[expect(clippy::unused_async, reason = "a workflow is async")]
    async fn run(ctx: &mut WorkflowContext<Self>, input: Value) -> WorkflowResult<Value> {
        let options = ContinueAsNewOptions::builder().workflow_type("AgentWorkflow".to_owned()).build();
        match ctx.continue_as_new(input, options)? {}
    }
}

/// Its `AgentWorkflow`.
#[workflow]
#[derive(Default)]
struct AgentWorkflowOfTomorrow;

#[workflow_methods]
impl AgentWorkflowOfTomorrow {
    #[run(name = "AgentWorkflow")]
    #[expect(clippy::unused_async, reason = "a workflow is async")]
    async fn run(_ctx: &mut WorkflowContext<Self>, input: Value) -> WorkflowResult<Value> {
        Ok(input["carried"]["version"].clone())
    }
}

#[tokio::test]
async fn a_run_of_a_newer_release_waits_for_a_worker_that_reads_it() -> anyhow::Result<()> {
    let set = set((desk,));
    let mut env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .workflow::<Tomorrow>()?
        .model(&FakeModel::script([]))
        .agents((desk,))
        .start()
        .await?;
    let options = WorkflowStartOptions::new(env.task_queue(), "newer").build();
    let input = json!({"version": "9.0", "agent": "desk", "carried": {"version": "9.0"}});
    let started = env.client().start_workflow(Tomorrow::run, input, options).await?;
    let found = failed_task(&env, "newer").await?;
    assert!(
        found.starts_with(
            "the run of agent \"desk\" that workflow \"newer\" continues cannot be continued by this worker: its \
             input is not an agent request that this release can read: "
        ),
        "{found}"
    );
    assert!(found.contains("9.0") && found.contains("Roll back"), "{found}");
    env.stop_worker().await?;
    let newer = WorkerOptions::new(env.task_queue()).register_workflow::<AgentWorkflowOfTomorrow>()?.build();
    let mut newer = WorkerThread::start(env.server().target_url(), env.server().namespace(), newer)?;
    assert_eq!(started.get_result(WorkflowGetResultOptions::default()).await?, json!("9.0"));
    newer.stop()?;
    env.finish().await?;
    Ok(())
}

/// The history of the execution that waits, as an earlier release has ended it.
fn ended_at_once(history: &History) -> History {
    let began = |event: &EventType| *event != EventType::WorkflowTaskFailed;
    let mut events: Vec<_> = history.events.iter().take_while(|event| began(&event.event_type())).cloned().collect();
    let id = i64::try_from(events.len()).unwrap_or_default();
    let mut completed = events[events.len() - 1].clone();
    completed.event_id = id + 1;
    completed.event_type = EventType::WorkflowTaskCompleted as i32;
    completed.attributes = Some(Attributes::WorkflowTaskCompletedEventAttributes(
        temporalio_common::protos::temporal::api::history::v1::WorkflowTaskCompletedEventAttributes {
            scheduled_event_id: id - 1,
            started_event_id: id,
            ..Default::default()
        },
    ));
    let mut failed = completed.clone();
    failed.event_id = id + 2;
    failed.event_type = EventType::WorkflowExecutionFailed as i32;
    failed.attributes =
        Some(Attributes::WorkflowExecutionFailedEventAttributes(WorkflowExecutionFailedEventAttributes {
            workflow_task_completed_event_id: id + 1,
            ..Default::default()
        }));
    events.extend([completed, failed]);
    History { events }
}

#[tokio::test]
async fn a_history_of_a_run_that_failed_before_replays() -> anyhow::Result<()> {
    let build = Build::new(set((desk,)));
    let held = HeldModel::new(&FakeModel::script([tool_call("refund", json!({"order": 7}))]));
    let env = build.environment(&held).await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("desk", "My money!")).await?;
    let id = started.info().workflow_id.clone();
    held.asked().await?;
    build.deploy(set((desk_without_refunds,)));
    held.answer();
    failed_task(&env, &id).await?;
    let waits = history::fetch(env.client(), &id, None).await?;
    env.replay(&ended_at_once(&waits)).await?;
    env.finish().await?;
    Ok(())
}
