//! Traces that a projector sends.

use temporal_agents::{
    Agent,
    projection::Projector,
    store::SqlStore,
    trace::{Otlp, Tracing, export_workflow},
    wire::AgentRequest,
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{AgentEnvironment, FakeModel, fake_model::text};
use tokio::sync::oneshot;

use super::{
    collector::{Collector, check_conventions, tree},
    traced::by_id,
};
use crate::databases::Kind;

fn greeter() -> Agent {
    Agent::new("greeter").model("gpt-5")
}

#[tokio::test]
async fn a_projector_sends_the_traces_of_workflows_whose_workers_send_none() -> anyhow::Result<()> {
    let (mut collector, mut other) = (Collector::start().await?, Collector::start().await?);
    let database = Kind::Sqlite.create().await?;
    let store = SqlStore::connect(&database.url).await?;
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((greeter,))))?
        .agent(greeter)
        .model(&FakeModel::script([text("Hello!")]))
        .start()
        .await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("greeter", "Hi.")).await?;
    let id = env.await_run(&started).await?.workflow_id;
    let tracing = Tracing::new(env.client(), Otlp::new(&collector.url)?);
    let projector = Projector::new(env.client(), &store, env.task_queue()).tracing(&tracing);
    let (stopping, stopped) = oneshot::channel::<()>();
    let projecting = tokio::spawn(projector.run(async { drop(stopped.await) }));
    let count = export_workflow(env.client(), &id, &Otlp::new(&other.url)?).await?;
    let (projected, exported) = (collector.spans(count).await?, other.spans(count).await?);
    drop(stopping);
    projecting.await?;
    check_conventions(&projected);
    tree(&projected);
    assert_eq!(by_id(&projected), by_id(&exported));
    env.finish().await?;
    Ok(())
}
