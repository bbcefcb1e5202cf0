//! Agents side by side whose first requests are together more than one message to the server takes.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{Agent, Runner, Tool};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_calls},
};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::told;
use crate::examples::{Cache, histories};

const AGENTS: [&str; 4] = ["north", "east", "south", "west"];
const LONG: usize = 1_400_000;

fn council() -> Agent {
    let member = |name: &str| Agent::new(name).model("gpt-5").instructions(name.repeat(LONG / name.len()));
    AGENTS
        .into_iter()
        .fold(Agent::new("council").model("gpt-5"), |council, name| council.tool(member(name).as_tool().definition()))
}

#[workflow]
#[derive(Default)]
pub(crate) struct Council;

#[workflow_methods]
impl Council {
    #[run(name = "council")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&council(), request).await?.final_output)
    }
}

#[rstest]
#[tokio::test]
async fn agents_whose_requests_are_large_together_ask_one_after_another(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = FakeModel::function(|call, _| match (&*call.agent, call.turn) {
        ("council", 1) => tool_calls(AGENTS.map(|name| (name, json!({"input": "Where to?"})))),
        ("council", _) => text("We stay."),
        (name, _) => text(format!("to the {name}")),
    });
    let env = cache.environment_alone::<Council>()?.model(&model).agents((council,)).start().await?;
    let run = env.run(Council::run, "Where to?".to_owned()).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    let mut scheduled = vec![0];
    for event in &run.history.events {
        match &event.attributes {
            Some(Attributes::WorkflowTaskCompletedEventAttributes(_)) => scheduled.push(0),
            Some(Attributes::ActivityTaskScheduledEventAttributes(activity)) => {
                let bytes: usize = activity.input.iter().flat_map(|input| &input.payloads).map(|p| p.data.len()).sum();
                *scheduled.last_mut().expect("it has a first") += bytes;
            }
            _ => {}
        }
    }
    let most = scheduled.into_iter().max().unwrap_or_default();
    assert!(most < 3_100_000, "{most} bytes scheduled at once");
    histories::<Council>(&env, &run.workflow_id).await?;
    assert_eq!(told(&model), AGENTS.map(|name| json!(format!("to the {name}"))));
    assert_eq!(run.output()?, "We stay.");
    env.finish().await?;
    Ok(())
}
