//! Histories of runs whose worker lacks a tool or the model activity.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Resources, Runner, Tool, tool,
    tool::{OnToolError, State, ToolContext, ToolFailureKind},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call, tool_calls},
    history::History,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::release;
use crate::examples::Cache;

/// What a part costs.
#[tool]
async fn price(part: String) -> String {
    format!("{part} costs 3")
}

/// How often each call was made, by its idempotency key.
#[derive(Clone, Default)]
pub(crate) struct Orders(Arc<Mutex<BTreeMap<String, u32>>>);

impl Orders {
    pub(super) fn made(&self) -> Vec<u32> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().copied().collect()
    }
}

/// Orders a part. No worker of these histories has it at first.
#[tool(idempotent = false)]
async fn order(ctx: &ToolContext, State(orders): State<Orders>, part: String) -> String {
    let key = ctx.info().idempotency_key().to_owned();
    *orders.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += 1;
    format!("{part} is ordered")
}

/// What the model is told when no worker has the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Missing {
    /// Nothing: the run fails.
    Fails,
    /// That the tool is on its way.
    IsTold,
}

pub(super) fn desk(missing: Missing) -> Agent {
    let told = OnToolError::by_kind(|_call, failure| {
        (failure.kind == ToolFailureKind::NotRegistered).then(|| "This tool is on its way.".to_owned())
    });
    let on_error = if missing == Missing::IsTold { told } else { OnToolError::Standard };
    Agent::new("desk").model("gpt-5").tool(price).tool(order.on_error(on_error))
}

/// The desk of the new release.
fn new_desk() -> Agent {
    desk(Missing::Fails)
}

/// The desk of the release before, without the tool `order`.
fn old_desk() -> Agent {
    Agent::new("desk").model("gpt-5").tool(price)
}

#[workflow]
#[derive(Default)]
pub(crate) struct Shop;

#[workflow_methods]
impl Shop {
    #[run(name = "shop")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, missing: Missing) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&desk(missing), "A bolt, please.").await?.final_output)
    }
}

/// Histories of a release.
pub(crate) struct Recorded {
    pub(crate) histories: Vec<History>,
}

/// Calls `price` and `order` at the same time, then `order` again, and answers with what came of that.
pub(super) fn shopper() -> FakeModel {
    let bolt = || json!({"part": "bolt"});
    FakeModel::function(move |call, _| match call.input.len() {
        1 => tool_calls([("price", bolt()), ("order", bolt())]),
        5 => tool_call("order", json!({"part": "nut"})),
        _ => text(call.input.last().and_then(|item| item.get("output")?.as_str()).unwrap_or_default()),
    })
}

/// What the worker of the release before has.
pub(super) fn old(model: &FakeModel) -> AgentsPlugin {
    AgentsPlugin::new(model.clone()).agents((old_desk,))
}

/// What the worker of the new release has.
pub(super) fn new(model: &FakeModel, orders: &Orders) -> AgentsPlugin {
    AgentsPlugin::new(Resources::new().model_provider(model.clone()).state(orders.clone())).agents((new_desk,))
}

/// Runs that wait for a worker: one for a tool and one for the model activity.
pub(crate) async fn awaited(cache: Cache) -> anyhow::Result<Recorded> {
    let (model, orders) = (shopper(), Orders::default());
    let mut histories = Vec::new();
    for lacks in [old(&model), AgentsPlugin::default().without_models().agents((old_desk,))] {
        let mut env = cache.environment::<Shop>()?.plugin(|_| lacks).start().await?;
        let handle = env.start_workflow(Shop::run, Missing::Fails).await?;
        release::waiting(&env, &handle.info().workflow_id).await?;
        let worker = release::takes_over::<Shop>(&mut env, new(&model, &orders)).await?;
        histories.push(env.await_run(&handle).await?.history);
        drop(worker);
        env.finish().await?;
    }
    Ok(Recorded { histories })
}

/// Runs of a release that waits for no deploy: one fails, one tells its model twice, one finds no model activity.
pub(crate) async fn not_awaited(_cache: Cache) -> anyhow::Result<Recorded> {
    let model = shopper();
    let env = AgentEnvironment::builder().workflow::<Shop>()?.model(&model).agents((old_desk,)).start().await?;
    let mut histories = Vec::new();
    for missing in [Missing::Fails, Missing::IsTold] {
        histories.push(env.run(Shop::run, missing).await?.history);
    }
    env.finish().await?;
    let builder = AgentEnvironment::builder().workflow::<Shop>()?.without_models();
    let env = builder.agents((old_desk,)).start().await?;
    histories.push(env.run(Shop::run, Missing::Fails).await?.history);
    env.finish().await?;
    Ok(Recorded { histories })
}
