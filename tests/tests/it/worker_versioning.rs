//! Worker Deployment Versioning: open runs stay on their build, new ones start on the current one.

use std::time::Duration;

use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, ModelProvider,
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
use tokio::time::timeout;

use crate::{PATIENCE, held_model::HeldModel};

const QUEUE: &str = "desk";
const DEPLOYMENT: &str = "desk";

fn desk() -> Agent {
    Agent::new("desk").model("gpt-5")
}

/// A worker of this build, which pins its workflows; its model says which build it is.
fn worker(
    server: &DevServer,
    build: &str,
    model: impl ModelProvider + 'static,
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
    AgentsPlugin::new(model).agents((desk,)).install(&mut options)?;
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
    Ok(timeout(PATIENCE, setting).await?)
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
    let mut old = worker(&server, "1", one.clone(), ContinueOptions::default())?;
    make_current(&client, "1").await?;
    let options = |id: &str| WorkflowStartOptions::new(QUEUE, id).build();
    let open = client.start_workflow(AgentWorkflow::run, AgentRequest::new("desk", "Hello?"), options("open")).await?;
    one.asked().await?;
    let mut new = worker(&server, "2", two.clone(), ContinueOptions::default())?;
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

/// A server with both builds at work and a chat on build 1; build 2 is the current one: a new run has been seen on it.
/// The chat continues as new after each message, where `moves` with the current build.
struct TwoBuilds {
    server: DevServer,
    client: Client,
    workers: [WorkerThread; 2],
    chat: ChatHandle,
}

impl TwoBuilds {
    async fn start(moves: bool) -> anyhow::Result<Self> {
        let server = DevServer::start().await?;
        let client = server.client().await?;
        let answering = |build: &'static str| FakeModel::function(move |_, _| text(format!("build {build}")));
        let continues = || ContinueOptions::builder().new_events(0).upgrade_to_current_build(moves).build();
        let old = worker(&server, "1", answering("1"), continues())?;
        make_current(&client, "1").await?;
        let options = WorkflowStartOptions::new(QUEUE, "chat").build();
        client.start_workflow(ChatWorkflow::run, ChatRequest::new("desk"), options).await?;
        let chat = ChatHandle::new(&client, "chat");
        assert_eq!(said(&chat, "m1").await?, "build 1");
        // The execution after the first message is there, and on its build, before the other becomes the current one.
        chat.transcript().await?;
        let new = worker(&server, "2", answering("2"), continues())?;
        make_current(&client, "2").await?;
        let two_builds = Self { server, client, workers: [old, new], chat };
        timeout(PATIENCE, two_builds.new_runs_are_on_the_current_one()).await??;
        Ok(two_builds)
    }

    /// The server tells its task queues in its own time that another build is the current one.
    async fn new_runs_are_on_the_current_one(&self) -> anyhow::Result<()> {
        for run in 0.. {
            let options = WorkflowStartOptions::new(QUEUE, format!("run-{run}")).build();
            let request = AgentRequest::new("desk", "Hello?");
            let started = self.client.start_workflow(AgentWorkflow::run, request, options).await?;
            if started.get_result(WorkflowGetResultOptions::default()).await? == json!("build 2") {
                break;
            }
        }
        Ok(())
    }

    async fn stop(self) -> anyhow::Result<()> {
        for mut worker in self.workers {
            worker.stop()?;
        }
        drop((self.chat, self.client));
        self.server.shutdown().await;
        Ok(())
    }
}

/// The answer to one message of the chat.
async fn said(chat: &ChatHandle, message_id: &str) -> anyhow::Result<String> {
    match chat.send_as(message_id, "Hello?").await?.outcome {
        ChatOutcome::Answered { output } => Ok(output.as_str().unwrap_or_default().to_owned()),
        other => anyhow::bail!("{message_id}: {other:?}"),
    }
}

#[tokio::test]
async fn a_pinned_chat_stays_on_its_build_when_it_continues_as_new() -> anyhow::Result<()> {
    let builds = TwoBuilds::start(false).await?;
    for message_id in ["m2", "m3", "m4"] {
        assert_eq!(said(&builds.chat, message_id).await?, "build 1");
    }
    builds.stop().await
}

#[tokio::test]
async fn a_pinned_chat_moves_to_the_current_build_at_its_continue_as_new() -> anyhow::Result<()> {
    let builds = TwoBuilds::start(true).await?;
    // The message after which it continues is still answered where the chat is; the next one where it has moved to.
    let moved = async {
        for message in 2.. {
            if said(&builds.chat, &format!("m{message}")).await? == "build 2" {
                break;
            }
        }
        assert_eq!(said(&builds.chat, "after").await?, "build 2");
        anyhow::Ok(())
    };
    timeout(PATIENCE, moved).await??;
    builds.stop().await
}
