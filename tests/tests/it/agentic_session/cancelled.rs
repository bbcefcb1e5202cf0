//! A session whose activity is cancelled.

use std::{future::pending, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Model, ModelProvider, Resources,
    agentic_session::AgenticSession,
    inline::InlineRunner,
    provider::ModelError,
    tool,
    tool::{State, ToolContext, ToolError},
    wire::{ModelCall, ModelResponse},
};
use temporal_agents_testing::{AgentEnvironment, FakeModel, environment::ActivityOutcome, fake_model::tool_call};
use temporalio_client::{WorkflowCancelOptions, errors::WorkflowGetResultError};
use tokio::{
    sync::Semaphore,
    time::{sleep, timeout},
};

use crate::PATIENCE;

use super::desk::{Desk, Office, Order};

/// What the test is told.
#[derive(Clone)]
pub(super) struct Told {
    pub(super) begun: Arc<Semaphore>,
    pub(super) ended: Arc<Semaphore>,
}

impl Told {
    pub(super) fn nothing() -> Self {
        let none = || Arc::new(Semaphore::new(0));
        Self { begun: none(), ended: none() }
    }
}

/// Waits until it was said.
pub(super) async fn until(said: &Semaphore) -> anyhow::Result<()> {
    let heard = timeout(PATIENCE, said.acquire()).await;
    heard.map_err(|_| anyhow::anyhow!("nobody has said so within {PATIENCE:?}"))??.forget();
    Ok(())
}

/// Says so when it is dropped.
struct Ends(Arc<Semaphore>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

/// A model that never answers.
#[derive(Clone)]
pub(super) struct Silent(pub(super) Told);

impl Model for Silent {
    fn call(&self, _: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(async {
            let _ends = Ends(Arc::clone(&self.0.ended));
            self.0.begun.add_permits(1);
            pending().await
        })
    }
}

impl ModelProvider for Silent {
    fn model<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        let model: Arc<dyn Model> = Arc::new(self.clone());
        Box::pin(std::future::ready(Ok(Some(model))))
    }
}

/// Digs until it is told to stop, and then takes its time to fill the hole.
#[tool]
async fn dig(ctx: &ToolContext, State(told): State<Told>) -> Result<String, ToolError> {
    told.begun.add_permits(1);
    while !ctx.is_cancelled() {
        tokio::task::yield_now().await;
    }
    // Longer than the heartbeat timeout.
    sleep(Duration::from_secs(3)).await;
    told.ended.add_permits(1);
    Ok("filled the hole".to_owned())
}

pub(super) fn desk(inline: InlineRunner) -> Desk {
    Desk::new(move |ctx, _| {
        let inline = inline.clone();
        async move {
            AgenticSession::run(&ctx, async |session| {
                let digger = Agent::new("digger").model("gpt-5").tool(dig);
                Ok(session.runner(&inline).run(&digger, "Dig.").await?.final_output.into())
            })
            .await
        }
    })
}

/// Cancels the workflow once it has begun, and gives how long it took to end.
async fn cancel(env: &AgentEnvironment, told: &Told, heartbeat_timeout: Duration) -> anyhow::Result<Duration> {
    let order = Order { heartbeat_timeout, ..Order::new(Value::Null) };
    let started = env.start_workflow(Office::run, order).await?;
    until(&told.begun).await?;
    started.cancel(WorkflowCancelOptions::default()).await?;
    let cancelled = tokio::time::Instant::now();
    until(&told.ended).await?;
    let took = cancelled.elapsed();
    let run = env.await_run(&started).await?;
    let outcomes: Vec<_> = run.activities().into_iter().map(|record| (record.attempts, record.outcome)).collect();
    assert_eq!(outcomes, [(1, ActivityOutcome::Cancelled)]);
    let ended = run.output().expect_err("it was cancelled");
    assert!(matches!(ended, WorkflowGetResultError::Cancelled { .. }), "{ended:?}");
    Ok(took)
}

#[tokio::test]
async fn a_hanging_model_call_of_a_cancelled_session_is_dropped_within_a_heartbeat() -> anyhow::Result<()> {
    let told = Told::nothing();
    let env = desk(InlineRunner::new(Resources::new().model_provider(Silent(told.clone())).state(told.clone())))
        .environment()?
        .start()
        .await?;
    let heartbeat_timeout = Duration::from_secs(5);
    let took = cancel(&env, &told, heartbeat_timeout).await?;
    assert!(took < heartbeat_timeout, "{took:?}");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_cancelled_session_heartbeats_while_its_tool_cleans_up() -> anyhow::Result<()> {
    let told = Told::nothing();
    let model = FakeModel::script([tool_call("dig", json!({}))]);
    let inline = InlineRunner::new(Resources::new().model_provider(model.clone()).state(told.clone()));
    let env = desk(inline).environment()?.start().await?;
    cancel(&env, &told, Duration::from_secs(2)).await?;
    env.finish().await?;
    Ok(())
}
