//! Chats of frontends whose users select a device.

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header},
};
use http_body_util::BodyExt;
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Resources,
    client::AgentRuns,
    gate::GateMode,
    http::{AgentsService, BearerToken},
    in_process::InProcessRuns,
    remote::{device::DeviceGateway, transport::MemoryTransport},
    store::SqlStore,
    wire::RunMode,
    workflow::{AgentSet, ChatWorkflow},
};
use temporal_agents_testing::{AgentEnvironment, FakeModel};
use tower::ServiceExt;

use super::support::{Laptop, agent, model};
use crate::databases::{Kind, TestDatabase};

/// The protocols of frontends.
#[derive(Clone, Copy, Debug)]
enum Protocol {
    AgUi,
    AiSdk,
}

impl Protocol {
    /// Returns the path and the body of a message in the thread `desk` with these toolsets.
    fn request(self, id: &str, toolsets: Option<&[&str]>) -> (&'static str, Value) {
        match self {
            Self::AgUi => {
                let message = json!({"id": "m", "role": "user", "content": "Work."});
                let mut body = json!({"threadId": "desk", "runId": id, "messages": [message], "tools": []});
                if let Some(toolsets) = toolsets {
                    body["forwardedProps"] = json!({"theme": "dark", "toolsets": toolsets});
                }
                ("/agui/assistant", body)
            }
            Self::AiSdk => {
                let message = json!({"id": id, "role": "user", "parts": [{"type": "text", "text": "Work."}]});
                let mut body = json!({"id": "desk", "messages": [message], "trigger": "submit-message"});
                if let Some(toolsets) = toolsets {
                    body["toolsets"] = json!(toolsets);
                }
                ("/chat/assistant", body)
            }
        }
    }
}

/// A service of one mode whose caller is Ada.
struct Desk {
    env: Option<AgentEnvironment>,
    service: Router,
    _database: TestDatabase,
}

fn set() -> AgentSet {
    AgentSet::new((agent(),)).allow_toolsets(["laptop"])
}

impl Desk {
    async fn open(mode: RunMode, model: &FakeModel, transport: &MemoryTransport) -> anyhow::Result<Self> {
        let database = Kind::Sqlite.create().await?;
        let (env, runs) = if mode == RunMode::InProcess {
            let resources =
                Resources::new().model_provider(model.clone()).devices(DeviceGateway::new(transport.clone()));
            let tasks = InProcessRuns::new(SqlStore::connect(&database.url).await?, set(), resources);
            (None, AgentRuns::in_process(&tasks))
        } else {
            let gateway = DeviceGateway::new(transport.clone());
            let env = AgentEnvironment::builder()
                .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set()))?
                .agents((agent(),))
                .resources(|resources| resources.devices(gateway))
                .model(model)
                .start()
                .await?;
            let runs = AgentRuns::new(env.client(), env.task_queue());
            (Some(env), runs)
        };
        let service = AgentsService::with_runs(runs).agents(&set()).access(BearerToken::new("secret", "ada"));
        Ok(Self { env, service: service.into_router(), _database: database })
    }

    async fn say(
        &self,
        protocol: Protocol,
        id: &str,
        toolsets: Option<&[&str]>,
    ) -> anyhow::Result<(StatusCode, String)> {
        let (path, body) = protocol.request(id, toolsets);
        let request = Request::post(path)
            .header(header::AUTHORIZATION, "Bearer secret")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()))?;
        let response = self.service.clone().oneshot(request).await?;
        let status = response.status();
        let body = tokio::time::timeout(crate::PATIENCE, response.into_body().collect()).await??.to_bytes();
        Ok((status, String::from_utf8(body.to_vec())?))
    }

    async fn close(self) -> anyhow::Result<()> {
        match self.env {
            Some(env) => Ok(env.finish().await?),
            None => Ok(()),
        }
    }
}

#[rstest]
#[tokio::test]
async fn a_thread_has_the_device_that_it_begins_with(
    #[values(Protocol::AgUi, Protocol::AiSdk)] protocol: Protocol,
    #[values(RunMode::Temporal, RunMode::InProcess)] mode: RunMode,
) -> anyhow::Result<()> {
    let (laptop, transport) = (Laptop::default(), MemoryTransport::new());
    let device = laptop.connect(&DeviceGateway::new(transport.clone()), Some(GateMode::Autonomous)).await?;
    let model = model(&[("dev_laptop_read", json!({}))]);
    let desk = Desk::open(mode, &model, &transport).await?;
    let (status, answer) = desk.say(protocol, "one", Some(&["laptop"])).await?;
    assert!(status == StatusCode::OK && answer.contains("done"), "{status}: {answer}");
    assert_eq!(*laptop.sessions.lock().expect("not poisoned"), ["assistant:desk"], "the chat is the session");
    // The frontend may repeat its selection, or leave it out; it cannot change it.
    for toolsets in [Some(&["laptop"][..]), None] {
        let (status, answer) = desk.say(protocol, &format!("{toolsets:?}"), toolsets).await?;
        assert!(status == StatusCode::OK && answer.contains("done"), "{status}: {answer}");
    }
    let (_, answer) = desk.say(protocol, "other", Some(&[])).await?;
    assert!(answer.contains("the chat was started with the toolsets"), "{answer}");
    device.abort();
    desk.close().await
}

#[rstest]
#[tokio::test]
async fn a_thread_cannot_select_a_closed_toolset(
    #[values(Protocol::AgUi, Protocol::AiSdk)] protocol: Protocol,
) -> anyhow::Result<()> {
    let (model, transport) = (FakeModel::script([]), MemoryTransport::new());
    let desk = Desk::open(RunMode::InProcess, &model, &transport).await?;
    let (status, answer) = desk.say(protocol, "one", Some(&["desktop"])).await?;
    assert_eq!(status, StatusCode::FORBIDDEN, "{answer}");
    assert!(answer.contains("\\\"desktop\\\"") && answer.contains("AgentSet::allow_toolsets"), "{answer}");
    desk.close().await
}
