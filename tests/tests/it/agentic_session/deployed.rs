//! A session whose worker is stopped, as a deploy does: it gives the session back at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources,
    agentic_session::AgenticSession,
    inline::InlineRunner,
    remote::transport::MemoryTransport,
    tool,
    tool::{RemoteToolset, State, ToolContext, ToolError},
    wire::RemoteTool,
    worker::{ToolProvider, ToolRegistry},
};
use temporal_agents_testing::{
    FakeModel,
    environment::WorkerThread,
    fake_model::{text, tool_call},
};
use temporalio_sdk::WorkerOptions;
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};

use crate::PATIENCE;

use super::desk::{Desk, Office, Order, office};

const QUEUE: &str = "desk";

/// Looks out of the window.
#[tool]
async fn look() -> Result<String, ToolError> {
    Ok("rain".to_owned())
}

/// Publishes, and takes no notice of being told to stop before it has.
#[tool(idempotent = false)]
async fn publish(State(work): State<Work>, ctx: &ToolContext) -> Result<String, ToolError> {
    work.begun.fetch_add(1, Ordering::SeqCst);
    while !ctx.is_cancelled() {
        sleep(Duration::from_millis(10)).await;
    }
    sleep(Duration::from_millis(200)).await;
    Ok("published".to_owned())
}

/// How often it was published or delivered, and when a delivery may end.
#[derive(Clone, Default)]
struct Work {
    begun: Arc<AtomicU32>,
    may_end: Arc<Notify>,
}

/// Delivers, as soon as it may.
#[tool]
async fn deliver(State(work): State<Work>) -> String {
    work.begun.fetch_add(1, Ordering::SeqCst);
    work.may_end.notified().await;
    "delivered".to_owned()
}

#[tokio::test]
async fn a_tool_that_ends_well_while_its_worker_stops_is_not_run_again() -> anyhow::Result<()> {
    let (model, work) = (FakeModel::script([tool_call("publish", json!({})), text("done")]), Work::default());
    let env = office()?.start().await?;
    let inline = InlineRunner::new(Resources::new().model_provider(model.clone()).state(work.clone()));
    let worker = async || {
        let inline = inline.clone();
        let desk = Desk::new(move |ctx, _| {
            let inline = inline.clone();
            async move {
                AgenticSession::run(&ctx, async |session| {
                    let agent = Agent::new("editor").model("gpt-5").tool(publish);
                    Ok(session.runner(&inline).run(&agent, "Publish it.").await?.final_output.into())
                })
                .await
            }
        });
        let mut options = WorkerOptions::new(QUEUE).build();
        options.register_activities(desk);
        options.graceful_shutdown_period = Some(Duration::from_millis(100));
        let (target, namespace) = (env.server().target_url(), env.server().namespace().to_owned());
        anyhow::Ok(tokio::task::spawn_blocking(move || WorkerThread::start(target, &namespace, options)).await??)
    };
    let mut first = worker().await?;
    let order = Order { task_queue: Some(QUEUE.to_owned()), ..Order::new(Value::Null) };
    let started = env.start_workflow(Office::run, order).await?;
    let deadline = Instant::now() + PATIENCE;
    while work.begun.load(Ordering::SeqCst) == 0 {
        anyhow::ensure!(Instant::now() < deadline, "the tool has not begun");
        sleep(Duration::from_millis(20)).await;
    }
    tokio::task::spawn_blocking(move || first.stop()).await??;
    let second = worker().await?;
    let run = timeout(PATIENCE, env.await_run(&started)).await;
    let run = run.map_err(|_| anyhow::anyhow!("the session does not go on within {PATIENCE:?}"))??;
    assert_eq!(run.activities()[0].attempts, 2);
    assert_eq!(run.output()?, json!("done"));
    assert_eq!(work.begun.load(Ordering::SeqCst), 1);
    let told: Vec<Value> = model.calls()[1].input.iter().filter_map(|item| item.get("output").cloned()).collect();
    assert_eq!(told, [json!("published")]);
    tokio::task::spawn_blocking(move || drop(second)).await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn remote_call_outlives_a_stopped_worker() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("deliver", json!({})), text("done")]);
    let work = Work::default();
    let streams = MemoryTransport::new();
    let registry = ToolRegistry::new(Resources::new().state(work.clone())).register(deliver)?;
    // A lease that shows soon whether the call was cancelled.
    let provider = ToolProvider::new("demo", registry, streams.clone()).lease(Duration::from_millis(300));
    let serving = tokio::spawn(async move { provider.serve(std::future::pending()).await });
    let env = office()?.start().await?;
    let inline = InlineRunner::new(Resources::new().model_provider(model.clone()).tool_streams(streams));
    let worker = async || {
        let inline = inline.clone();
        let desk = Desk::new(move |ctx, _| {
            let inline = inline.clone();
            async move {
                AgenticSession::run(&ctx, async |session| {
                    let tools = RemoteToolset::named("demo").tools([RemoteTool::new(
                        "deliver",
                        "Delivers.",
                        json!({
                            "type": "object"
                        }),
                    )
                    .idempotent()]);
                    let agent = Agent::new("editor").model("gpt-5").tools(tools);
                    Ok(session.runner(&inline).run(&agent, "Deliver it.").await?.final_output.into())
                })
                .await
            }
        });
        let mut options = WorkerOptions::new(QUEUE).build();
        options.register_activities(desk);
        options.graceful_shutdown_period = Some(Duration::from_millis(100));
        let (target, namespace) = (env.server().target_url(), env.server().namespace().to_owned());
        anyhow::Ok(tokio::task::spawn_blocking(move || WorkerThread::start(target, &namespace, options)).await??)
    };
    let mut first = worker().await?;
    let order = Order { task_queue: Some(QUEUE.to_owned()), ..Order::new(Value::Null) };
    let started = env.start_workflow(Office::run, order).await?;
    let deadline = Instant::now() + PATIENCE;
    while work.begun.load(Ordering::SeqCst) == 0 {
        anyhow::ensure!(Instant::now() < deadline, "the tool has not begun");
        sleep(Duration::from_millis(20)).await;
    }
    tokio::task::spawn_blocking(move || first.stop()).await??;
    let second = worker().await?;
    work.may_end.notify_one();
    let run = timeout(PATIENCE, env.await_run(&started)).await;
    let run = run.map_err(|_| anyhow::anyhow!("the session does not go on within {PATIENCE:?}"))??;
    assert_eq!(run.output()?, json!("done"));
    let told: Vec<Value> = model.calls()[1].input.iter().filter_map(|item| item.get("output").cloned()).collect();
    assert_eq!(told, [json!("delivered")]);
    assert_eq!(work.begun.load(Ordering::SeqCst), 1);
    serving.abort();
    tokio::task::spawn_blocking(move || drop(second)).await?;
    env.finish().await?;
    Ok(())
}

/// A model that does not come to an end in the first attempt.
fn model() -> FakeModel {
    FakeModel::function(|call, asked| match (call.turn, asked) {
        (1, _) => tool_call("look", json!({})),
        (_, 1) => text("late").delayed(Duration::from_mins(10)),
        _ => text("done"),
    })
}

fn desk(model: &FakeModel) -> Desk {
    let inline = InlineRunner::new(model.clone());
    Desk::new(move |ctx, _| {
        let inline = inline.clone();
        async move {
            AgenticSession::run(&ctx, async |session| {
                let agent = Agent::new("weather").model("gpt-5").tool(look);
                Ok(session.runner(&inline).run(&agent, "How is it?").await?.final_output.into())
            })
            .await
        }
    })
}

#[tokio::test]
async fn a_session_whose_worker_is_stopped_goes_on_at_once_in_another_one() -> anyhow::Result<()> {
    let model = model();
    let env = office()?.start().await?;
    let worker = async || {
        let mut options = WorkerOptions::new(QUEUE).build();
        options.register_activities(desk(&model));
        options.graceful_shutdown_period = Some(Duration::from_millis(100));
        let (target, namespace) = (env.server().target_url(), env.server().namespace().to_owned());
        anyhow::Ok(tokio::task::spawn_blocking(move || WorkerThread::start(target, &namespace, options)).await??)
    };
    let mut first = worker().await?;
    // The server would wait for a minute, if the worker did not say that it goes.
    let heartbeat_timeout = Duration::from_mins(1);
    let order = Order { heartbeat_timeout, task_queue: Some(QUEUE.to_owned()), ..Order::new(Value::Null) };
    let started = env.start_workflow(Office::run, order).await?;
    let deadline = Instant::now() + PATIENCE;
    while model.calls().len() < 2 {
        anyhow::ensure!(Instant::now() < deadline, "the model was asked {} times only", model.calls().len());
        sleep(Duration::from_millis(20)).await;
    }
    tokio::task::spawn_blocking(move || first.stop()).await??;
    let second = worker().await?;
    let run = timeout(PATIENCE, env.await_run(&started)).await;
    let run = run.map_err(|_| anyhow::anyhow!("the session does not go on within {PATIENCE:?}"))??;
    assert_eq!(run.activities()[0].attempts, 2);
    assert_eq!(run.output()?, json!("done"));
    let turns: Vec<u32> = model.calls().iter().map(|call| call.turn).collect();
    assert_eq!(turns, [1, 2, 2]);
    tokio::task::spawn_blocking(move || drop(second)).await?;
    env.finish().await?;
    Ok(())
}
