//! How model calls are scheduled, as history shows it.

use std::time::Duration;

use temporal_agents::{
    Agent, AgentsPlugin, ModelActivityOptions, Runner,
    workflow::{ModelRetryPolicy, Summary},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::WorkerThread,
    fake_model::{handoff, text},
    history::History,
};
use temporalio_common::protos::temporal::api::{enums::v1::EventType, history::v1::history_event::Attributes};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkerOptions, WorkflowContext, WorkflowResult};
use wiremock::MockServer;

use super::{
    provider::{answer, asked_for, failure, open_ai, requests_for},
    run::{Ask, Asking, asking, attempts, chain, count, model_failure},
};
use crate::support::{Stock, clerk};

#[tokio::test]
async fn a_local_call_is_a_marker_and_keeps_its_retries() -> anyhow::Result<()> {
    let server = MockServer::start().await;
    asked_for("unsteady").respond_with(failure(500, "sorry")).up_to_n_times(2).mount(&server).await;
    asked_for("unsteady").respond_with(answer("at last")).mount(&server).await;
    asked_for("wrong").respond_with(failure(400, "no such field")).mount(&server).await;
    let env = asking()?.model_provider(open_ai(&server.uri())).start().await?;

    let run = env.run(Asking::run, Ask::model("unsteady").local()).await?;
    assert_eq!((attempts(&run), markers(&run.history)), (vec![], 1));
    assert_eq!(requests_for(&server, "unsteady").await, 3);
    assert_eq!(run.output()?, "at last");

    let run = env.run(Asking::run, Ask::model("wrong").local()).await?;
    // A local activity has no failure of its own around the call's.
    let mut expected = model_failure("wrong", "BadRequest", "bad request (400): no such field");
    expected.remove(1);
    assert_eq!(run.failure_chain(), expected);
    assert_eq!((attempts(&run), markers(&run.history)), (vec![], 1));
    assert_eq!(requests_for(&server, "wrong").await, 1);
    env.finish().await?;
    Ok(())
}

/// The markers of local activities; that of the patch of notes is another one.
fn markers(history: &History) -> usize {
    count(history, EventType::MarkerRecorded) - 1
}

#[tokio::test]
async fn a_local_call_on_a_worker_that_calls_no_models_fails_the_run_when_its_time_is_up() -> anyhow::Result<()> {
    let env = asking()?.without_models().state(Stock(3)).agents((clerk,)).start().await?;
    let ask = Ask::model("gpt-5").local().schedule_to_close(Duration::from_secs(2));
    let run = env.run(Asking::run, ask).await?;
    let failures = run.failure_chain();
    assert_eq!(
        failures[..1],
        chain(&[(
            "AgentsWorkflowError",
            "the model call of agent \"asker\" at turn 1 (model \"gpt-5\") failed: no worker on task queue \"agents\" \
             calls models; install AgentsPlugin with a model provider on it (tried for 2 s)"
        )])
    );
    assert_eq!((failures.len(), &*failures[1].0), (2, "NotFoundError"));
    env.finish().await?;
    Ok(())
}

/// Three agents in a row: without options of their own, with a fixed summary, and on another task queue.
fn first() -> Agent {
    let third = Agent::new("third").model("gpt-5").instructions("Answers.");
    let second = Agent::new("second").model("gpt-5").handoff(third);
    Agent::new("first").model("gpt-5").handoff(second)
}

#[workflow]
#[derive(Default)]
struct InTurn;

#[workflow_methods]
impl InTurn {
    #[run(name = "in-turn")]
    async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        let second = ModelActivityOptions::builder().summary("asks a colleague").build();
        let third = ModelActivityOptions::builder()
            .task_queue("elsewhere")
            .summary(Summary::computed(|call| {
                // The item that hands off to this agent.
                let last = call.last_input.and_then(|item| item.get("output")?.as_str()).unwrap_or("nothing");
                format!("{} ({}) in call {}: {last}, {:?}", call.agent, call.model, call.turn, call.instructions)
            }))
            .start_to_close(Duration::from_secs(7))
            .schedule_to_close(Duration::from_secs(70))
            .retry(ModelRetryPolicy::builder().maximum_attempts(4).build())
            .build();
        let runner = Runner::new(ctx).model_activity_for("second", second).model_activity_for("third", third);
        Ok(runner.run(&first(), question).await?.final_output)
    }
}

#[tokio::test]
async fn the_calls_of_an_agent_can_have_options_of_their_own() -> anyhow::Result<()> {
    let model = FakeModel::script([handoff("second"), handoff("third"), text("done")]);
    let env = AgentEnvironment::builder().workflow::<InTurn>()?.model(&model).start().await?;
    let mut elsewhere = WorkerOptions::new("elsewhere").build();
    AgentsPlugin::new(model.clone()).install(&mut elsewhere)?;
    let mut elsewhere = WorkerThread::start(env.server().target_url(), env.server().namespace(), elsewhere)?;
    let run = env.run(InTurn::run, "hello".to_owned()).await?;
    let scheduled = |queue: &str, summary: &str, seconds, attempts| Scheduled {
        queue: queue.to_owned(),
        summary: summary.to_owned(),
        seconds,
        attempts,
    };
    assert_eq!(
        scheduled_calls(&run.history),
        [
            scheduled("agents", "first · turn 1", [600, 6 * 3600], 0),
            scheduled("agents", "asks a colleague", [600, 6 * 3600], 0),
            scheduled(
                "elsewhere",
                "third (gpt-5) in call 3: {\"assistant\": \"third\"}, Some(\"Answers.\")",
                [7, 70],
                4
            ),
        ]
    );
    assert_eq!(run.output()?, "done");
    elsewhere.stop()?;
    env.finish().await?;
    Ok(())
}

/// What history says of how an activity was scheduled.
#[derive(Debug, PartialEq)]
struct Scheduled {
    queue: String,
    summary: String,
    /// Start to close, and schedule to close.
    seconds: [i64; 2],
    attempts: i32,
}

fn scheduled_calls(history: &History) -> Vec<Scheduled> {
    let scheduled = history.events.iter().filter_map(|event| match &event.attributes {
        Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => Some((event, scheduled)),
        _ => None,
    });
    scheduled
        .map(|(event, scheduled)| {
            let summary = event.user_metadata.as_ref().and_then(|metadata| metadata.summary.as_ref());
            let summary = summary.expect("every call has a summary");
            Scheduled {
                queue: scheduled.task_queue.as_ref().map(|queue| queue.name.clone()).unwrap_or_default(),
                summary: serde_json::from_slice(&summary.data).expect("a summary is a JSON text"),
                seconds: [scheduled.start_to_close_timeout, scheduled.schedule_to_close_timeout]
                    .map(|timeout| timeout.map_or(0, |timeout| timeout.seconds)),
                attempts: scheduled.retry_policy.as_ref().map_or(0, |policy| policy.maximum_attempts),
            }
        })
        .collect()
}
