//! Worker Deployment Versioning: open runs stay on their build, new ones start on the current one.

use std::time::Duration;

use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin,
    client::ChatHandle,
    wire::{AgentRequest, ChatOutcome, ChatRequest},
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow, ContinueOptions},
};
use temporal_agents_testing::{DevServer, FakeModel, environment::WorkerThread, fake_model::text, history};
use temporalio_client::{
    Client, WorkflowGetResultOptions, WorkflowStartOptions, grpc::WorkflowService, tonic::IntoRequest,
};
use temporalio_common::{
    protos::temporal::api::{
        history::v1::history_event::Attributes, workflowservice::v1::SetWorkerDeploymentCurrentVersionRequest,
    },
    worker::{VersioningBehavior, WorkerDeploymentOptions, WorkerDeploymentVersion},
};
use temporalio_sdk::WorkerOptions;

use crate::held_model::HeldModel;

const QUEUE: &str = "desk";
const DEPLOYMENT: &str = "desk";

fn desk() -> Agent {
    Agent::new("desk").model("gpt-5")
}

/// A worker of this build, which pins its workflows; its model says which build it is.
fn worker(
    server: &DevServer,
    build: &str,
    model: &HeldModel,
    options: ContinueOptions,
) -> anyhow::Result<WorkerThread> {
    let set = AgentSet::new((desk,)).continue_when(options);
    let version = WorkerDeploymentVersion::builder().deployment_name(DEPLOYMENT).build_id(build).build();
    let deployment = WorkerDeploymentOptions::new(version)
        .use_worker_versioning(true)
        .default_versioning_behavior(VersioningBehavior::Pinned)
        .build();
    let mut options = WorkerOptions::new(QUEUE)
        .deployment_options(deployment)
        .graceful_shutdown_period(Duration::from_secs(1))
        .register_workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set.clone()))?
        .register_workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set))?
        .build();
    AgentsPlugin::new(model.clone()).agents((desk,)).install(&mut options)?;
    Ok(WorkerThread::start(server.target_url(), server.namespace(), options)?)
}

fn model(build: &'static str) -> HeldModel {
    HeldModel::new(&FakeModel::function(move |_, _| text(format!("build {build}"))))
}

/// Makes a build the current one, once the server knows it by its worker.
async fn make_current(client: &Client, build: &str) -> anyhow::Result<()> {
    let request = SetWorkerDeploymentCurrentVersionRequest {
        namespace: client.options().namespace.clone(),
        deployment_name: DEPLOYMENT.to_owned(),
        build_id: build.to_owned(),
        identity: "test".to_owned(),
        ..SetWorkerDeploymentCurrentVersionRequest::default()
    };
    let setting = async {
        loop {
            let mut client = client.clone();
            if WorkflowService::set_worker_deployment_current_version(&mut client, request.clone().into_request())
                .await
                .is_ok()
            {
                return;
            }
        }
    };
    Ok(tokio::time::timeout(Duration::from_mins(1), setting).await?)
}

/// The builds that have worked on the latest execution of a workflow.
async fn builds(client: &Client, workflow_id: &str) -> anyhow::Result<Vec<String>> {
    let history = history::fetch(client, workflow_id, None).await?;
    let mut builds: Vec<String> = history
        .events
        .into_iter()
        .filter_map(|event| match event.attributes {
            Some(Attributes::WorkflowTaskCompletedEventAttributes(completed)) => {
                Some(completed.deployment_version?.build_id)
            }
            _ => None,
        })
        .collect();
    builds.dedup();
    Ok(builds)
}

#[tokio::test]
async fn open_runs_stay_on_their_build_and_new_ones_start_on_the_current_one() -> anyhow::Result<()> {
    let server = DevServer::start().await?;
    let client = server.client().await?;
    let (one, two) = (model("1"), model("2"));
    let mut old = worker(&server, "1", &one, ContinueOptions::default())?;
    make_current(&client, "1").await?;
    let options = |id: &str| WorkflowStartOptions::new(QUEUE, id).build();
    let open = client.start_workflow(AgentWorkflow::run, AgentRequest::new("desk", "Hello?"), options("open")).await?;
    one.asked().await?;
    let mut new = worker(&server, "2", &two, ContinueOptions::default())?;
    make_current(&client, "2").await?;
    two.answer();
    let later =
        client.start_workflow(AgentWorkflow::run, AgentRequest::new("desk", "Hello?"), options("later")).await?;
    assert_eq!(later.get_result(WorkflowGetResultOptions::default()).await?, json!("build 2"));
    one.answer();
    assert_eq!(open.get_result(WorkflowGetResultOptions::default()).await?, json!("build 1"));
    assert_eq!((builds(&client, "open").await?, builds(&client, "later").await?), (vec!["1".into()], vec!["2".into()]));
    old.stop()?;
    new.stop()?;
    drop(client);
    server.shutdown().await;
    Ok(())
}

/// What a chat is answered by: one message on build 1, and two after build 2 has become the current one. It continues as new after each.
async fn answers(moves: bool) -> anyhow::Result<Vec<String>> {
    let server = DevServer::start().await?;
    let client = server.client().await?;
    let (one, two) = (model("1"), model("2"));
    for _ in 0..3 {
        one.answer();
        two.answer();
    }
    let continues = || ContinueOptions::builder().new_events(0).upgrade_to_current_build(moves).build();
    let mut old = worker(&server, "1", &one, continues())?;
    make_current(&client, "1").await?;
    let options = WorkflowStartOptions::new(QUEUE, "chat").build();
    client.start_workflow(ChatWorkflow::run, ChatRequest::new("desk"), options).await?;
    let chat = ChatHandle::new(&client, "chat");
    let mut answers = Vec::new();
    let mut new = None;
    for message in ["m1", "m2", "m3"] {
        match chat.send_as(message, "Hello?").await?.outcome {
            ChatOutcome::Answered { output } => answers.push(output.as_str().unwrap_or_default().to_owned()),
            other => anyhow::bail!("{message}: {other:?}"),
        }
        if new.is_none() {
            // The execution after the first message is there, and on its build, before the other becomes the current one.
            chat.transcript().await?;
            new = Some(worker(&server, "2", &two, continues())?);
            make_current(&client, "2").await?;
        }
    }
    old.stop()?;
    if let Some(mut new) = new {
        new.stop()?;
    }
    drop((chat, client));
    server.shutdown().await;
    Ok(answers)
}

#[tokio::test]
async fn a_pinned_chat_stays_on_its_build_when_it_continues_as_new() -> anyhow::Result<()> {
    assert_eq!(answers(false).await?, ["build 1", "build 1", "build 1"]);
    Ok(())
}

#[tokio::test]
async fn a_pinned_chat_moves_to_the_current_build_at_its_continue_as_new() -> anyhow::Result<()> {
    let answers = answers(true).await?;
    assert_eq!((&*answers[0], &*answers[2]), ("build 1", "build 2"), "{answers:?}");
    Ok(())
}
