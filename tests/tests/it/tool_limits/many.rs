//! A thousand calls in one response, and results of 40 MB in all. `--nocapture` shows what they take.

use std::time::Instant;

use rstest::rstest;
use serde_json::json;
use temporal_agents::{Agent, Runner, Tool, ToolContext, ToolError, tool};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_calls},
    replay_without_cache,
};
use temporalio_common::protos::temporal::api::{
    enums::v1::WorkflowTaskFailedCause,
    history::v1::{HistoryEvent, history_event::Attributes},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::told;
use crate::examples::Cache;

/// So much text.
#[tool]
async fn page(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// How long the book of the run context is.
#[tool]
async fn length(call: &ToolContext) -> Result<usize, ToolError> {
    Ok(call.run().get::<String>("book")?.unwrap_or_default().len())
}

/// So much text, at once.
#[tool(local)]
async fn snippet(bytes: usize) -> String {
    "x".repeat(bytes)
}

fn reader() -> Agent {
    Agent::new("reader").model("gpt-5").tool(page).tool(snippet).tool(length.definition().with_context(["book"]))
}

#[workflow]
#[derive(Default)]
pub(crate) struct Many;

#[workflow_methods]
impl Many {
    #[run(name = "many")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).context("book", "x".repeat(200_000)).run(&reader(), request).await?.final_output)
    }
}

/// How many tool activities are in flight at most, and how much the workflow tasks schedule at most: as history has it.
fn most_at_once(events: &[HistoryEvent]) -> (usize, usize) {
    let (mut in_flight, mut most, mut scheduled, mut most_scheduled) = (0_usize, 0, 0_usize, 0);
    for event in events {
        match &event.attributes {
            Some(Attributes::WorkflowTaskCompletedEventAttributes(_)) => scheduled = 0,
            Some(Attributes::ActivityTaskScheduledEventAttributes(activity)) => {
                let bytes: usize = activity.input.iter().flat_map(|input| &input.payloads).map(|p| p.data.len()).sum();
                scheduled += bytes;
                in_flight += 1;
            }
            Some(Attributes::ActivityTaskCompletedEventAttributes(_)) => in_flight -= 1,
            _ => {}
        }
        most = most.max(in_flight);
        most_scheduled = most_scheduled.max(scheduled);
    }
    (most, most_scheduled)
}

const CLOSED_BY_FORCE: WorkflowTaskFailedCause = WorkflowTaskFailedCause::ForceCloseCommand;

/// Why workflow tasks have failed.
fn failures(events: &[HistoryEvent]) -> Vec<WorkflowTaskFailedCause> {
    let cause = |event: &HistoryEvent| match &event.attributes {
        Some(Attributes::WorkflowTaskFailedEventAttributes(failed)) => Some(failed.cause()),
        _ => None,
    };
    events.iter().filter_map(cause).collect()
}

/// Why workflow tasks have failed, but for those that the server has closed: one that holds back more than 2 MB of news, or more than 100
/// events, closes the workflow task under way by force, and makes a new one at once. That is no failure of the workflow's.
pub(super) fn failures_of_its_own(events: &[HistoryEvent]) -> Vec<WorkflowTaskFailedCause> {
    failures(events).into_iter().filter(|cause| *cause != CLOSED_BY_FORCE).collect()
}

/// Most memory that this process has had so far, in MB; 0 where that is not known.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or_default() / 1024
}

#[rstest]
#[case::a_thousand_calls(1_000, |_| ("page", json!({"bytes": 10})))]
#[case::two_hundred_results_of_200_kb(200, |_| ("page", json!({"bytes": 200_000})))]
#[case::sixty_local_results_of_90_kb(60, |_| ("snippet", json!({"bytes": 90_000})))]
#[case::forty_requests_of_200_kb(40, |_| ("length", json!({})))]
#[tokio::test]
async fn many_calls_of_one_response_finish_without_a_failed_workflow_task(
    #[case] calls: usize,
    #[case] call: fn(usize) -> (&'static str, serde_json::Value),
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    // Without the cache each task reads the history again: a quarter of the calls costs as much as all do with it.
    let calls = if cache == Cache::Off { calls / 4 } else { calls };
    let model = FakeModel::script([tool_calls((0..calls).map(call)), text("done")]);
    let env = cache.environment_alone::<Many>()?.model(&model).agents((reader,)).start().await?;
    let began = Instant::now();
    let run = env.run(Many::run, "Read.".to_owned()).await?;
    let took = began.elapsed();
    assert_eq!(failures_of_its_own(&run.history.events), []);
    assert_eq!(told(&model).len(), calls);
    let (in_flight, scheduled) = most_at_once(&run.history.events);
    assert!(in_flight <= 40 && scheduled <= 3_000_000, "{in_flight} in flight, {scheduled} bytes scheduled at once");
    println!(
        "{calls} calls of {}, cache {cache:?}: {took:.1?} with replay, {in_flight} in flight, {scheduled} bytes scheduled at once, \
         {} events, {} workflow tasks closed by force, at most {} MB",
        call(0).0,
        run.history.events.len(),
        failures(&run.history.events).len(),
        peak_memory()
    );
    if cache == Cache::Off {
        replay_without_cache::<Many>(&run.history).await?;
    }
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}
