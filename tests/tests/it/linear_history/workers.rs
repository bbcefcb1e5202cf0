//! Calls that go to another worker each time, retries elsewhere, resets: the conversation is read from history.

use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Handoff, Runner, tool,
    wire::ModelFailureKind,
    worker::{ConversationCache, ConversationCacheStats},
    workflow::ModelActivityOptions,
};
use temporal_agents_testing::{
    AgentEnvironment,
    environment::WorkerThread,
    fake_model::{FakeModel, Reply, failure, handoff, text, tool_call},
};
use temporalio_client::{WorkflowGetResultOptions, WorkflowHandle, grpc::WorkflowService, tonic::IntoRequest};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution, enums::v1::EventType, workflowservice::v1::ResetWorkflowExecutionRequest,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkerOptions, WorkflowContext, WorkflowResult};

use super::{as_text, model_calls};
use crate::gateway::{Gateway, Refusal};

/// A page of a book.
#[tool]
async fn column(number: usize) -> String {
    format!("column {number} ").repeat(50)
}

fn both() -> Agent {
    let right = Agent::new("right").model("gpt-5").tool(column).handoff(Handoff::to("left"));
    Agent::new("left").model("gpt-5").tool(column).handoff(right)
}

/// The calls of each agent go to a worker of their own.
#[workflow]
#[derive(Default)]
pub(crate) struct Columns;

#[workflow_methods]
impl Columns {
    #[run(name = "columns")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        let on = |queue: &str| {
            ModelActivityOptions::builder().task_queue(queue).start_to_close(Duration::from_secs(1)).build()
        };
        let runner = Runner::new(ctx).unlimited_turns();
        let runner = runner.model_activity_for("left", on("left")).model_activity_for("right", on("right"));
        Ok(runner.run(&both(), question).await?.final_output)
    }
}

fn worker(
    env: &AgentEnvironment,
    queue: &str,
    model: &FakeModel,
    cache: &ConversationCache,
) -> anyhow::Result<WorkerThread> {
    worker_at(env.server().target_url(), env, queue, model, cache)
}

fn worker_at(
    target: String,
    env: &AgentEnvironment,
    queue: &str,
    model: &FakeModel,
    cache: &ConversationCache,
) -> anyhow::Result<WorkerThread> {
    let mut options = WorkerOptions::new(queue).build();
    let plugin = AgentsPlugin::new(model.clone()).conversation_cache(cache.clone());
    plugin.install(&mut options)?;
    Ok(WorkerThread::start(target, env.server().namespace(), options)?)
}

/// The main worker, which calls no models.
async fn environment() -> anyhow::Result<AgentEnvironment> {
    Ok(AgentEnvironment::builder().workflow::<Columns>()?.without_models().agents((both,)).start().await?)
}

/// Each turn reads a column and hands off, so that the next call goes to the other worker.
fn turns(count: usize) -> FakeModel {
    FakeModel::function(move |call, _turn| -> Reply {
        let turn = usize::try_from(call.turn).expect("few turns");
        if turn > count {
            return text("The end.");
        }
        let other = if call.agent == "left" { "right" } else { "left" };
        tool_call("column", json!({"number": turn})).and(handoff(other))
    })
}

/// What both caches have seen after a run of so many turns.
async fn counted(env: &AgentEnvironment, count: usize) -> anyhow::Result<ConversationCacheStats> {
    let model = turns(count);
    let caches = [ConversationCache::default(), ConversationCache::default()];
    let mut workers = [worker(env, "left", &model, &caches[0])?, worker(env, "right", &model, &caches[1])?];
    let run = env.run(Columns::run, "Read.".to_owned()).await?;
    assert_eq!(run.output()?, "The end.");
    for worker in &mut workers {
        worker.stop()?;
    }
    let (mut all, other) = (caches[0].counters(), caches[1].counters());
    all.hits += other.hits;
    all.misses += other.misses;
    all.rebuilt_pages += other.rebuilt_pages;
    all.rebuilt_bytes += other.rebuilt_bytes;
    Ok(all)
}

#[tokio::test]
async fn with_another_worker_at_each_turn_what_is_read_per_turn_does_not_grow() -> anyhow::Result<()> {
    let env = environment().await?;
    let (few, many) = (counted(&env, 10).await?, counted(&env, 40).await?);
    assert_eq!((few.hits, few.misses), (0, 10), "{few:?}");
    assert_eq!((many.hits, many.misses), (0, 40), "{many:?}");
    assert!(many.rebuilt_pages <= 2 * many.misses, "{many:?}");
    assert!(many.rebuilt_bytes / many.misses < 2 * few.rebuilt_bytes / few.misses, "{few:?} {many:?}");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_retry_on_another_worker_gets_what_the_first_attempt_got() -> anyhow::Result<()> {
    let env = environment().await?;
    let [first, second] = [ConversationCache::default(), ConversationCache::default()];
    let failing = FakeModel::function(|call, _turn| match call.turn {
        3 => failure(ModelFailureKind::ServerError, "come back later").status(503),
        _ => tool_call("column", json!({"number": call.turn})),
    });
    let mut before = worker(&env, "left", &failing, &first)?;
    let handle = env.start_workflow(Columns::run, "Read.".to_owned()).await?;
    tokio::time::timeout(crate::PATIENCE, async {
        while failing.calls().len() < 3 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await?;
    before.stop()?;

    let model = FakeModel::script([text("The end.")]);
    let mut after = worker(&env, "left", &model, &second)?;
    let run = env.await_run(&handle).await?;
    assert_eq!(run.output()?, "The end.");
    assert_eq!(as_text(&model.calls()), as_text(&failing.calls()[2..3]));
    assert_eq!((second.counters().hits, second.counters().misses), (0, 1));
    after.stop()?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_lost_answer_in_memory_never_reaches_a_model() -> anyhow::Result<()> {
    let env = environment().await?;
    // The first attempt answers after its limit, and after the second one: what it said is in memory last, and not in history.
    let model = FakeModel::function(|_call, number| match number {
        0 => tool_call("column", json!({"number": 7})).delayed(Duration::from_millis(2500)),
        1 => tool_call("column", json!({"number": 1})),
        2 => tool_call("column", json!({"number": 2})).delayed(Duration::from_millis(900)),
        _ => text("The end."),
    });
    let mut worker = worker(&env, "left", &model, &ConversationCache::default())?;
    let run = env.run(Columns::run, "Read.".to_owned()).await?;
    assert_eq!(run.output()?, "The end.");
    let last = &as_text(&model.calls())[3].0;
    assert!(last.iter().all(|item| !item.contains("column 7")), "{last:?}");
    worker.stop()?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_workflow_that_is_reset_goes_on_with_its_conversation() -> anyhow::Result<()> {
    let env = environment().await?;
    let model = FakeModel::function(|call, _turn| match call.turn {
        5 => text("The end."),
        turn => tool_call("column", json!({"number": turn})),
    });
    let mut worker = worker(&env, "left", &model, &ConversationCache::default())?;
    let run = env.run(Columns::run, "Read.".to_owned()).await?;

    // Back to where the third model call was scheduled.
    let tasks: Vec<i64> = run
        .history
        .events
        .iter()
        .filter(|event| event.event_type() == EventType::WorkflowTaskCompleted)
        .map(|event| event.event_id)
        .collect();
    let request = ResetWorkflowExecutionRequest {
        namespace: env.server().namespace().to_owned(),
        workflow_execution: Some(WorkflowExecution { workflow_id: run.workflow_id.clone(), run_id: String::new() }),
        reason: "a test".to_owned(),
        workflow_task_finish_event_id: tasks[4],
        request_id: "reset-1".to_owned(),
        ..ResetWorkflowExecutionRequest::default()
    };
    let mut client = env.client().clone();
    WorkflowService::reset_workflow_execution(&mut client, request.into_request()).await?;
    let again: WorkflowHandle<_, Columns> = env.client().get_workflow_handle(&*run.workflow_id);
    let answer =
        tokio::time::timeout(Duration::from_mins(1), again.get_result(WorkflowGetResultOptions::default())).await??;
    assert_eq!(answer, "The end.");
    let calls = as_text(&model.calls());
    let (first, second) = calls.split_at(5);
    assert_eq!(second, &first[5 - second.len()..], "{} calls after the reset", second.len());
    worker.stop()?;
    env.finish().await?;
    Ok(())
}

#[rstest]
#[case::without_permission_all_is_sent(Refusal::PermissionDenied, u32::MAX, true)]
#[case::a_server_that_is_away_for_a_moment_is_asked_again(Refusal::Unavailable, 3, false)]
// More than one thread: starting a worker blocks, and the gateway has to serve it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn history_that_cannot_be_read(
    #[case] refusal: Refusal,
    #[case] times: u32,
    #[case] sends_all: bool,
) -> anyhow::Result<()> {
    let env = environment().await?;
    let (method, upstream) = ("GetWorkflowExecutionHistoryReverse", env.server().address().to_owned());
    let gateway = Gateway::start(upstream, method, refusal, times).await?;
    let model = FakeModel::script([tool_call("column", json!({"number": 1})), text("The end.")]);
    let mut worker = worker_at(gateway.url(), &env, "left", &model, &ConversationCache::with_bytes(0))?;
    let run = env.run(Columns::run, "Read.".to_owned()).await?;
    let calls: Vec<String> = model_calls(run.activities()).into_iter().map(|(id, _)| id).collect();
    let expected: &[&str] = if sends_all { &["1-model", "2-model", "2-model-full"] } else { &["1-model", "2-model"] };
    assert_eq!(calls, expected);
    assert!(gateway.refused() > 0);
    assert_eq!(model.calls()[1].input.len(), 3);
    assert_eq!(run.output()?, "The end.");
    worker.stop()?;
    env.finish().await?;
    Ok(())
}
