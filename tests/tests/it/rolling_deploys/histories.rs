//! Histories of runs whose worker lacks a tool or the model activity.

use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{
    Agent, Runner, Tool, tool,
    tool::{OnToolError, ToolFailureKind},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call, tool_calls},
    history::History,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::examples::Cache;

/// What a part costs.
#[tool]
async fn price(part: String) -> String {
    format!("{part} costs 3")
}

/// Orders a part. No worker of these histories has it at first.
#[tool(idempotent = false)]
async fn order(part: String) -> String {
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

fn desk(missing: Missing) -> Agent {
    let told = OnToolError::by_kind(|failure| {
        (failure.kind == ToolFailureKind::NotRegistered).then(|| "This tool is on its way.".to_owned())
    });
    let on_error = if missing == Missing::IsTold { told } else { OnToolError::Standard };
    Agent::new("desk").model("gpt-5").tool(price).tool(order.on_error(on_error))
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

/// Runs of a release that waits for no deploy: one fails, one tells its model twice, one finds no model activity.
pub(crate) async fn not_awaited(_cache: Cache) -> anyhow::Result<Recorded> {
    let bolt = || json!({"part": "bolt"});
    let model = FakeModel::function(move |call, _| match call.input.len() {
        1 => tool_calls([("price", bolt()), ("order", bolt())]),
        5 => tool_call("order", json!({"part": "nut"})),
        _ => text(call.input.last().and_then(|item| item.text()).unwrap_or_default()),
    });
    let env = AgentEnvironment::builder().workflow::<Shop>()?.model(&model).agents((old_desk,)).start().await?;
    let mut histories = Vec::new();
    for missing in [Missing::Fails, Missing::IsTold] {
        histories.push(env.run(Shop::run, missing).await?.history);
    }
    env.finish().await?;
    let builder = AgentEnvironment::builder().workflow::<Shop>()?.models_elsewhere();
    let env = builder.agents((old_desk,)).start().await?;
    histories.push(env.run(Shop::run, Missing::Fails).await?.history);
    env.finish().await?;
    Ok(Recorded { histories })
}
