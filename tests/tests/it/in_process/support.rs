//! The agents, the services of both modes, and requests to them.

use std::time::Duration;

use anyhow::Context;
use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header},
};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tempfile::TempDir;
use temporal_agents::{
    Agent, Tool,
    client::AgentRuns,
    http::AgentsService,
    in_process::InProcessRuns,
    store::SqlStore,
    tool,
    tool::{ToolDef, ToolError},
    worker::HeartbeatDeltas,
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow},
};
use temporal_agents_testing::{AgentEnvironment, FakeModel, PostgresServer};
use tokio::time::timeout;
use tower::ServiceExt;

use crate::PATIENCE;

/// Pays money back.
#[tool(start_to_close = "20s")]
pub(super) async fn pay(amount: u32) -> String {
    format!("paid {amount}")
}

/// Looks a price up.
#[tool(start_to_close = "20s")]
async fn price(article: String) -> Result<String, ToolError> {
    if article == "moon" { Err(ToolError::tell_model("not for sale")) } else { Ok(format!("{article}: 40")) }
}

/// The agent of the tests: it looks up, pays after an approval, asks the page, and hands off.
pub(super) fn clerk() -> Agent {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let page = ToolDef::client("ask_page", "Asks the page.", schema);
    let helper = Agent::new("helper").model("gpt-5").tool(price);
    Agent::new("clerk").model("gpt-5").tool(price).tool(pay.needs_approval()).tool(page).handoff(helper)
}

pub(super) fn set() -> AgentSet {
    AgentSet::new((clerk,))
}

/// A database of the tests.
pub(super) struct Database {
    pub(super) url: String,
    _directory: Option<TempDir>,
    _server: Option<PostgresServer>,
}

/// The kinds of databases.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Sqlite,
    Postgres,
}

impl Database {
    pub(super) async fn start(kind: Kind) -> anyhow::Result<Self> {
        Ok(match kind {
            Kind::Sqlite => {
                let directory = tempfile::tempdir()?;
                let url = format!("sqlite:{}", directory.path().join("agents.db").display());
                Self { url, _directory: Some(directory), _server: None }
            }
            Kind::Postgres => {
                let server = PostgresServer::start().await?;
                Self { url: server.url("postgres"), _directory: None, _server: Some(server) }
            }
        })
    }

    pub(super) async fn sqlite() -> anyhow::Result<Self> {
        Self::start(Kind::Sqlite).await
    }

    /// Returns the tasks of a new process with this model.
    pub(super) async fn tasks(&self, model: &FakeModel) -> anyhow::Result<InProcessRuns> {
        let store = SqlStore::connect(&self.url).await?;
        Ok(InProcessRuns::new(store, set(), model.clone()).lease(Duration::from_secs(2)))
    }

    /// Returns the service of a new process with this model.
    pub(super) async fn replica(&self, model: &FakeModel) -> anyhow::Result<Router> {
        Ok(service(&self.tasks(model).await?))
    }
}

/// The service of a process.
pub(super) fn service(tasks: &InProcessRuns) -> Router {
    AgentsService::with_runs(AgentRuns::in_process(tasks)).agents((clerk,)).into_router()
}

/// An environment with the same agents as workflows, and its service.
pub(super) async fn workflows(model: &FakeModel) -> anyhow::Result<(AgentEnvironment, Router)> {
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set()))?
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set()))?
        .model_provider(model.clone())
        .plugin(|plugin| plugin.deltas(HeartbeatDeltas::new()))
        .agents((clerk,))
        .start()
        .await?;
    let service = AgentsService::new(env.client(), env.task_queue()).agents((clerk,)).into_router();
    Ok((env, service))
}

pub(super) fn request(method: &str, path: &str, body: Option<&Value>) -> Request<Body> {
    let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    request.header(header::CONTENT_TYPE, "application/json").body(body).expect("a request")
}

/// Sends a request; returns the status and the body.
pub(super) async fn send(
    service: &Router,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> anyhow::Result<(StatusCode, String)> {
    let response = service.clone().oneshot(request(method, path, body)).await?;
    let status = response.status();
    let bytes = timeout(PATIENCE, response.into_body().collect()).await.context(path.to_owned())??;
    Ok((status, String::from_utf8(bytes.to_bytes().to_vec())?))
}

pub(super) async fn get(service: &Router, path: &str) -> anyhow::Result<(StatusCode, Value)> {
    let (status, body) = send(service, "GET", path, None).await?;
    Ok((status, serde_json::from_str(&body).unwrap_or(Value::Null)))
}

pub(super) async fn post(service: &Router, path: &str, body: &Value) -> anyhow::Result<(StatusCode, Value)> {
    let (status, body) = send(service, "POST", path, Some(body)).await?;
    Ok((status, serde_json::from_str(&body).unwrap_or(Value::Null)))
}

/// The values of the `data:` lines of a stream that ends.
pub(super) async fn stream(
    service: &Router,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> anyhow::Result<Vec<Value>> {
    let (status, body) = send(service, method, path, body).await?;
    anyhow::ensure!(status == StatusCode::OK, "{path}: {status} {body}");
    let data = body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    Ok(data.map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// Reads a stream until a part of it contains this text.
pub(super) async fn first(service: &Router, path: &str, text: &str) -> anyhow::Result<()> {
    Watching::open(service, path).await?.until(text).await
}

/// A stream that is being read.
pub(super) struct Watching {
    body: Body,
    read: String,
}

impl Watching {
    pub(super) async fn open(service: &Router, path: &str) -> anyhow::Result<Self> {
        let response = service.clone().oneshot(request("GET", path, None)).await?;
        anyhow::ensure!(response.status() == StatusCode::OK, "{path}: {}", response.status());
        Ok(Self { body: response.into_body(), read: String::new() })
    }

    /// Reads until this text.
    pub(super) async fn until(&mut self, text: &str) -> anyhow::Result<()> {
        while !self.read.contains(text) {
            anyhow::ensure!(self.next().await?, "the stream has ended before {text:?}: {}", self.read);
        }
        Ok(())
    }

    /// Returns the end of the execution's id, which the cursors so far have.
    pub(super) fn execution(&self) -> Option<&str> {
        self.read.split_once("p1.")?.1.split('.').next()
    }

    /// Reads to the end; returns the events.
    pub(super) async fn end(mut self) -> anyhow::Result<Vec<Value>> {
        while self.next().await? {}
        let data = self.read.lines().filter_map(|line| line.strip_prefix("data: "));
        let events = data.map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
        Ok(events.into_iter().filter(|event| event["kind"].is_string()).collect())
    }

    async fn next(&mut self) -> anyhow::Result<bool> {
        let frame = timeout(PATIENCE, self.body.frame()).await.with_context(|| self.read.clone())?;
        let Some(frame) = frame.transpose()? else { return Ok(false) };
        self.read.push_str(&String::from_utf8_lossy(frame.data_ref().context("no data")?));
        Ok(true)
    }
}

/// The events of a run until its end.
pub(super) async fn events(service: &Router, id: &str, query: &str) -> anyhow::Result<Vec<Value>> {
    let events = stream(service, "GET", &format!("/runs/{id}/events{query}"), None).await?;
    Ok(events.into_iter().filter(|event| event["kind"].is_string()).collect())
}

/// Waits until the run has this status, and returns it.
pub(super) async fn until(service: &Router, id: &str, status: &str) -> anyhow::Result<Value> {
    let looking = async {
        loop {
            let (_, run) = get(service, &format!("/runs/{id}")).await?;
            if run["status"] == status {
                return anyhow::Ok(run);
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, looking).await.with_context(|| format!("run {id} never is {status}"))?
}

pub(super) fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["kind"].as_str()).collect()
}
