//! One response that starts more than a workflow task may schedule: calls of agents, and workflow tools that start activities.

use std::time::Instant;

use rstest::rstest;
use serde_json::json;
use temporal_agents::{Agent, RunConfig, Runner, ToolError, WorkflowToolContext, tool, tool::RemoteActivity};
use temporal_agents_core::drive::join::join_in_order;
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call, tool_calls},
    history::History,
};
use temporalio_common::{ActivityDefinition, protos::temporal::api::history::v1::history_event::Attributes};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
};

use super::{many::failures_of_its_own, told};
use crate::examples::Cache;

/// A workflow task may schedule 4 MiB, of which the requests take the most.
const MOST_SCHEDULED: usize = 4_000_000;

/// What the workflow tasks schedule at most, in bytes, and how many activities are in flight at most.
fn most_at_once(history: &History) -> (usize, usize) {
    let (mut scheduled, mut most_scheduled, mut in_flight, mut most_in_flight) = (0, 0, 0_usize, 0);
    for event in &history.events {
        match &event.attributes {
            Some(Attributes::WorkflowTaskCompletedEventAttributes(_)) => scheduled = 0,
            Some(Attributes::ActivityTaskScheduledEventAttributes(activity)) => {
                let input = activity.input.iter().flat_map(|input| &input.payloads);
                scheduled += input.map(|payload| payload.data.len()).sum::<usize>();
                in_flight += 1;
            }
            Some(Attributes::ActivityTaskCompletedEventAttributes(_)) => in_flight -= 1,
            _ => {}
        }
        most_scheduled = most_scheduled.max(scheduled);
        most_in_flight = most_in_flight.max(in_flight);
    }
    (most_scheduled, most_in_flight)
}

const CLERKS: usize = 1_000;

fn office() -> Agent {
    let clerk = Agent::new("clerk").model("gpt-5").instructions("i".repeat(5_000));
    Agent::new("office").model("gpt-5").tool(clerk.as_tool().description("Answers a letter."))
}

#[workflow]
#[derive(Default)]
pub(crate) struct Office;

#[workflow_methods]
impl Office {
    #[run(name = "office")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&office(), request).await?.final_output)
    }
}

#[tokio::test]
async fn a_thousand_calls_of_an_agent_in_one_response_finish() -> anyhow::Result<()> {
    let model = FakeModel::function(|call, _| match (&*call.agent, call.turn) {
        ("office", 1) => tool_calls((0..CLERKS).map(|letter| ("clerk", json!({"input": format!("Letter {letter}")})))),
        ("office", _) => text("done"),
        _ => text("Dear reader"),
    });
    let env = Cache::On.environment_alone::<Office>()?.model(&model).agents((office,)).start().await?;
    let began = Instant::now();
    let run = env.run(Office::run, "Answer them.".to_owned()).await?;
    anyhow::ensure!(run.failure_chain().is_empty(), "{:?}", run.failure_chain());
    let (scheduled, in_flight) = most_at_once(&run.history);
    println!(
        "{CLERKS} agents: {:.1?} with replay, {in_flight} in flight, {scheduled} bytes scheduled at once",
        began.elapsed()
    );
    assert_eq!(failures_of_its_own(&run.history.events), []);
    assert!(
        scheduled < MOST_SCHEDULED && in_flight <= 200,
        "{scheduled} bytes scheduled at once, {in_flight} in flight"
    );
    assert_eq!(run.output()?, "done");
    assert_eq!(told(&model), vec![json!("Dear reader"); CLERKS]);
    env.finish().await?;
    Ok(())
}

struct Post;

#[activities]
impl Post {
    #[expect(clippy::unused_async, reason = "an activity is async")]
    #[activity(name = "weigh")]
    async fn weigh(_ctx: ActivityContext, letter: String) -> Result<usize, ActivityError> {
        Ok(letter.len())
    }
}

/// Weighs so many letters of so many bytes, all at once.
#[tool(workflow)]
async fn weigh_all(ctx: &mut WorkflowToolContext, letters: usize, bytes: usize) -> Result<u64, ToolError> {
    let weigh = RemoteActivity::named(ActivityDefinition::name(&Post::weigh));
    let weighing = (0..letters).map(|_| ctx.activity(weigh.clone(), "l".repeat(bytes))).collect();
    let weights = join_in_order(weighing).await.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(weights.iter().filter_map(serde_json::Value::as_u64).sum())
}

fn carrier() -> Agent {
    Agent::new("carrier").model("gpt-5").tool(weigh_all)
}

#[workflow]
#[derive(Default)]
pub(crate) struct Carrier;

#[workflow_methods]
impl Carrier {
    #[run(name = "carrier")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&carrier(), request).await?.final_output)
    }
}

#[rstest]
#[case::large_ones(60, 100_000)]
#[case::many(1_800, 10)]
#[tokio::test]
async fn what_a_workflow_tool_starts_at_once_fits_into_a_message(
    #[case] letters: usize,
    #[case] bytes: usize,
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    // Without the cache each task reads the history again: a third of the letters costs as much as all do with it.
    let letters = if cache == Cache::Off { letters / 3 } else { letters };
    let model = FakeModel::script([tool_call("weigh_all", json!({"letters": letters, "bytes": bytes})), text("done")]);
    let builder = cache.environment_alone::<Carrier>()?.model(&model).agents((carrier,));
    let env = builder.worker_options(|options| _ = options.register_activities(Post)).start().await?;
    let run = env.run(Carrier::run, "Weigh them.".to_owned()).await?;
    let (scheduled, in_flight) = most_at_once(&run.history);
    assert_eq!(failures_of_its_own(&run.history.events), []);
    assert!(
        scheduled < MOST_SCHEDULED && in_flight < 1_900,
        "{scheduled} bytes scheduled at once, {in_flight} in flight"
    );
    assert_eq!(told(&model), [json!((letters * bytes).to_string())]);
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[workflow]
#[derive(Default)]
pub(crate) struct Modest;

#[workflow_methods]
impl Modest {
    #[run(name = "modest")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        let config = RunConfig::builder().max_calls_per_response(3).build();
        Ok(Runner::with_config(ctx, config).run(&carrier(), request).await?.final_output)
    }
}

#[rstest]
#[tokio::test]
async fn a_response_with_more_calls_than_the_run_takes_ends_it_before_any_is_made(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let weigh_one = |_| ("weigh_all", json!({"letters": 1, "bytes": 1}));
    let model = FakeModel::script([tool_calls((0..4).map(weigh_one))]);
    let builder = cache.environment::<Modest>()?.model(&model).agents((carrier,));
    let env = builder.worker_options(|options| _ = options.register_activities(Post)).start().await?;
    let run = env.run(Modest::run, "Weigh them.".to_owned()).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    let message = "the model answered agent \"carrier\" with 4 calls in one response (turn 1), the limit is 3; to \
                   permit more calls, raise RunConfig::max_calls_per_response";
    assert_eq!(run.failure_chain(), [("AgentsWorkflowError".to_owned(), message.to_owned())]);
    assert_eq!(run.activities().len(), 1, "the model call");
    env.finish().await?;
    Ok(())
}
