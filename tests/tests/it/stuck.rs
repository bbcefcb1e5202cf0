//! Runs that make no progress: what HTTP and the worker's log say, on a real server.
//!
//! With `--nocapture` the tests print these texts.

mod broken_code;
mod differing_replay;
mod failing_model;
mod no_database;
mod no_worker;

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header},
};
use futures::StreamExt;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, AgentsPlugin,
    agent::AgentSources,
    http::AgentsService,
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow},
};
use temporal_agents_testing::{DevServer, DevServerOptions, environment::WorkerThread};
use temporalio_client::{Client, ClientOptions};
use temporalio_sdk::WorkerOptions;
use tokio::time::timeout;
use tower::ServiceExt;

use crate::{
    PATIENCE,
    http_service::{get, post},
    logs,
};

fn desk() -> Agent {
    Agent::new("desk").model("gpt-5")
}

/// A server, and a task queue on it.
struct Site {
    server: DevServer,
    client: Client,
}

const QUEUE: &str = "desk";

impl Site {
    async fn start() -> anyhow::Result<Self> {
        Self::on(DevServer::start().await?).await
    }

    async fn start_with(options: DevServerOptions) -> anyhow::Result<Self> {
        Self::on(DevServer::start_with(options).await?).await
    }

    async fn on(server: DevServer) -> anyhow::Result<Self> {
        logs::keep();
        let client = server.client_with(ClientOptions::new(server.namespace()).build()).await?;
        Ok(Self { server, client })
    }

    /// A replica of the service, which knows nothing yet.
    fn service(&self, agents: impl AgentSources) -> Router {
        AgentsService::new(&self.client, QUEUE).agents(agents).into_router()
    }

    fn worker(&self, plugin: Option<AgentsPlugin>, options: WorkerOptions) -> anyhow::Result<WorkerThread> {
        let client = ClientOptions::new(self.server.namespace()).build();
        let target = self.server.target_url();
        Ok(match plugin {
            Some(plugin) => WorkerThread::start_agents(target, client, plugin, options)?,
            None => WorkerThread::start_with(target, client, options)?,
        })
    }

    async fn shutdown(self) {
        drop(self.client);
        self.server.shutdown().await;
    }
}

/// The options of a worker of the ready-made workflows with these agents.
fn ready_made(set: &AgentSet) -> anyhow::Result<WorkerOptions> {
    let options = WorkerOptions::new(QUEUE)
        .register_workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set.clone()))?
        .register_workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set.clone()))?;
    Ok(options.build())
}

/// Starts a run of the desk.
async fn start(service: &Router, id: &str) -> anyhow::Result<()> {
    let new = json!({"agent": "desk", "input": "Pay me 40.", "id": id});
    assert_eq!(post(service, "/runs", &new).await?.0, StatusCode::CREATED);
    Ok(())
}

/// The problem of a run, as soon as it is of this kind: alone, and as a list shows it.
async fn problem(service: &Router, id: &str, kind: &str) -> anyhow::Result<Value> {
    let looking = async {
        let path = format!("/runs/{id}");
        let problem = loop {
            let (_, run) = get(service, &path).await?;
            if run["problem"]["kind"] == kind {
                break run["problem"].clone();
            }
        };
        listed(service, id, kind).await?;
        println!("{id}: {}. {}", problem["message"], problem["remedy"]);
        anyhow::Ok(problem)
    };
    timeout(PATIENCE, looking).await?
}

/// The problem of a run in the list, as soon as it is of this kind.
async fn listed(service: &Router, id: &str, kind: &str) -> anyhow::Result<Value> {
    let looking = async {
        loop {
            let (_, list) = get(service, "/runs").await?;
            let mut runs = list["runs"].as_array().into_iter().flatten();
            if let Some(run) = runs.find(|run| run["id"] == id && run["problem"]["kind"] == kind) {
                return anyhow::Ok(run["problem"].clone());
            }
        }
    };
    timeout(PATIENCE, looking).await?
}

/// The first part of a stream that contains this text.
async fn streamed(service: &Router, method: &str, path: &str, body: &Value, text: &str) -> anyhow::Result<String> {
    let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    let response =
        service.clone().oneshot(request.header(header::CONTENT_TYPE, "application/json").body(body)?).await?;
    assert_eq!(response.status(), StatusCode::OK);
    let mut parts = response.into_body().into_data_stream();
    let reading = async {
        while let Some(part) = parts.next().await {
            let part = String::from_utf8(part?.to_vec())?;
            if part.contains(text) {
                return anyhow::Ok(part);
            }
        }
        anyhow::bail!("the stream has ended without {text}")
    };
    timeout(PATIENCE, reading).await?
}

/// The lines of the log about a workflow with this text, as soon as there are any.
async fn logged(workflow_id: &str, text: &str) -> anyhow::Result<Vec<String>> {
    let looking = async {
        loop {
            let lines = logs::with(workflow_id);
            let lines: Vec<String> = lines.into_iter().filter(|line| line.contains(text)).collect();
            if !lines.is_empty() {
                return lines;
            }
            tokio::task::yield_now().await;
        }
    };
    Ok(timeout(PATIENCE, looking).await?)
}
