//! Databases of tests, and their rows, read by other code than that which writes them.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{AnyPool, any::AnyPoolOptions};
use temporal_agents::{
    Agent, Tool,
    client::RunEvents,
    projection::Projector,
    store::SqlStore,
    tool,
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call},
};
use temporalio_client::{Client, NamespacedClient, grpc::WorkflowService, tonic::IntoRequest};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution, workflowservice::v1::DeleteWorkflowExecutionRequest,
};
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::databases::{Kind, TestDatabase};

use crate::PATIENCE;

/// A database with the tables of runs.
pub(super) struct Database {
    pub(super) store: SqlStore,
    pub(super) url: String,
    pub(super) rows: AnyPool,
    /// Removes the database when it is dropped.
    _created: TestDatabase,
}

/// A run as its rows say.
#[derive(Debug, PartialEq)]
pub(super) struct Stored {
    pub(super) status: String,
    pub(super) agent: Option<String>,
    pub(super) execution: String,
    pub(super) has_ended: bool,
    pub(super) output: Option<Value>,
    pub(super) events: Vec<Value>,
    /// Roles and texts.
    pub(super) messages: Vec<(String, String)>,
}

/// A run in `agents_runs`: key, status, agent, execution, end, output and sequence.
type RunColumns = (String, String, Option<String>, String, Option<i64>, Option<String>, i64);

impl Database {
    pub(super) async fn start(kind: Kind) -> anyhow::Result<Self> {
        let database = kind.create().await?;
        let url = database.url.clone();
        let store = SqlStore::connect(&url).await?;
        let rows = AnyPoolOptions::new().max_connections(2).connect(&url).await?;
        Ok(Self { store, url, rows, _created: database })
    }

    /// Returns the run with this id. The numbers of its events have no gap.
    pub(super) async fn run(&self, id: &str) -> anyhow::Result<Option<Stored>> {
        let query =
            "SELECT run_key, status, agent, execution, ended_at, output, sequence FROM agents_runs WHERE id = $1";
        let row: Option<RunColumns> = sqlx::query_as(query).bind(id).fetch_optional(&self.rows).await?;
        let Some((key, status, agent, execution, ended_at, output, sequence)) = row else { return Ok(None) };
        let query =
            "SELECT sequence, event FROM agents_run_events WHERE run_key = $1 AND sequence <= $2 ORDER BY sequence";
        let rows: Vec<(i64, String)> = sqlx::query_as(query).bind(&key).bind(sequence).fetch_all(&self.rows).await?;
        assert!(rows.iter().map(|(number, _)| *number).eq(1..=sequence), "{id}: events 1 to {sequence}");
        let query = "SELECT role, content FROM agents_messages WHERE run_key = $1 ORDER BY sequence, position";
        let messages = sqlx::query_as(query).bind(&key).fetch_all(&self.rows).await?;
        let events = rows.iter().map(|(_, event)| serde_json::from_str(event)).collect::<Result<_, _>>()?;
        let output = output.map(|output| serde_json::from_str(&output)).transpose()?;
        Ok(Some(Stored { status, agent, execution, has_ended: ended_at.is_some(), output, events, messages }))
    }

    /// Waits until the rows of a run fit.
    pub(super) async fn until(&self, id: &str, fits: impl Fn(&Stored) -> bool) -> anyhow::Result<Stored> {
        let mut latest = None;
        let looking = async {
            loop {
                latest = self.run(id).await?;
                match latest.take_if(|run| fits(run)) {
                    Some(run) => return anyhow::Ok(run),
                    None => sleep(Duration::from_millis(50)).await,
                }
            }
        };
        match timeout(PATIENCE, looking).await {
            Ok(run) => run,
            Err(_) => anyhow::bail!("the rows of {id} do not change: {latest:?}"),
        }
    }

    /// Returns the number of runs.
    pub(super) async fn count(&self) -> anyhow::Result<i64> {
        let (count,) = sqlx::query_as("SELECT COUNT(*) FROM agents_runs").fetch_one(&self.rows).await?;
        Ok(count)
    }
}

/// A projector in this process, until it is stopped.
pub(super) struct Running(oneshot::Sender<()>, JoinHandle<()>);

impl Running {
    pub(super) fn start(projector: Projector) -> Self {
        let (stopping, stopped) = oneshot::channel();
        Self(stopping, tokio::spawn(projector.run(async { drop(stopped.await) })))
    }

    pub(super) async fn stop(self) -> anyhow::Result<()> {
        drop(self.0);
        Ok(timeout(PATIENCE, self.1).await??)
    }
}

/// Pays money back.
#[tool(start_to_close = "20s")]
async fn pay(amount: u32) -> String {
    format!("paid {amount}")
}

pub(super) fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").tool(pay.needs_approval())
}

/// A model that asks for an approval when somebody wants money, and otherwise repeats the message.
fn model() -> FakeModel {
    FakeModel::function(|call, _| {
        let last = call.input.last().expect("an input");
        match last.text() {
            Some(message) if message.contains("money") => tool_call("pay", json!({"amount": 40})),
            Some(message) => text(format!("You say: {message}")),
            None => text("You have it."),
        }
    })
}

/// An environment with runs and chats of the clerk. A chat continues as new whenever it may.
pub(super) async fn environment() -> anyhow::Result<AgentEnvironment> {
    let set = || AgentSet::new((clerk,)).continue_when(ContinueOptions::builder().new_events(0).build());
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set()))?
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set()))?
        .model_provider(model())
        .agents((clerk,));
    Ok(builder.start().await?)
}

/// The facts of a workflow that has ended, as the reader of histories returns them.
pub(super) async fn facts(client: &Client, id: &str) -> anyhow::Result<Vec<Value>> {
    let reading = async {
        let mut events = RunEvents::new(client).watch(id);
        let mut facts = Vec::new();
        while let Some(event) = events.next().await {
            facts.push(serde_json::to_value(event?)?);
        }
        anyhow::Ok(facts)
    };
    timeout(PATIENCE, reading).await?
}

/// Deletes a workflow from the server, and waits until it is gone.
pub(super) async fn delete(client: &Client, id: &str) -> anyhow::Result<()> {
    let execution = Some(WorkflowExecution { workflow_id: id.to_owned(), run_id: String::new() });
    let request = DeleteWorkflowExecutionRequest { namespace: client.namespace(), workflow_execution: execution };
    WorkflowService::delete_workflow_execution(&mut client.clone(), request.into_request()).await?;
    let gone = async {
        while facts_begin(client, id).await {
            sleep(Duration::from_millis(50)).await;
        }
    };
    Ok(timeout(PATIENCE, gone).await?)
}

async fn facts_begin(client: &Client, id: &str) -> bool {
    RunEvents::new(client).attempts(id).await.is_ok()
}
