//! Times that are too long for the server, and names that are: they are cut to what it takes, and nothing hangs.

use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use temporal_agents::{Agent, ModelActivityOptions, Runner, Tool, tool, tool::ToolActivityOptions};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};
use temporalio_common::protos::temporal::api::history::v1::{HistoryEvent, history_event::Attributes};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::examples::{Cache, histories};

const TEN_YEARS: i64 = 10 * 365 * 24 * 3600;

/// Looks, which takes no time.
#[tool]
async fn look() -> String {
    "a field".to_owned()
}

fn patient() -> Agent {
    let options = ToolActivityOptions::builder()
        .start_to_close(Duration::MAX)
        .schedule_to_close(Duration::MAX)
        .heartbeat(Duration::MAX)
        .build();
    Agent::new("patient ".repeat(60)).model("gpt-5").tool(look.definition().options(options))
}

#[workflow]
#[derive(Default)]
pub(crate) struct Patient;

#[workflow_methods]
impl Patient {
    #[run(name = "patient")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        let options = ModelActivityOptions::builder()
            .start_to_close(Duration::MAX)
            .schedule_to_close(Duration::MAX)
            .schedule_to_start(Duration::MAX)
            .heartbeat(Duration::MAX)
            .build();
        Ok(Runner::new(ctx).model_activity(options).run(&patient(), request).await?.final_output)
    }
}

/// The limits of the scheduled activities in seconds: start to close, schedule to close, heartbeat.
fn limits(event: &HistoryEvent) -> Option<[i64; 3]> {
    let Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) = &event.attributes else { return None };
    let times = [&scheduled.start_to_close_timeout, &scheduled.schedule_to_close_timeout, &scheduled.heartbeat_timeout];
    Some(times.map(|time| time.as_ref().map_or(-1, |time| time.seconds)))
}

#[rstest]
#[tokio::test]
async fn times_of_any_length_and_long_names_are_taken(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("look", json!({})), text("I have waited.")]);
    let env = cache.environment::<Patient>()?.model(&model).agents((patient,)).start().await?;
    let run = env.run(Patient::run, "Wait.".to_owned()).await?;
    histories::<Patient>(&env, &run.workflow_id).await?;
    let limits: Vec<_> = run.history.events.iter().filter_map(limits).collect();
    assert_eq!(limits, [[TEN_YEARS; 3]; 3]);
    assert_eq!(run.output()?, "I have waited.");
    env.finish().await?;
    Ok(())
}
