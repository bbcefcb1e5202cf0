//! Nexus operations as tools, with the handler in Python.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Runner, Tool, ToolDef, agent_handlers,
    client::AgentHandle,
    inline::InlineRunner,
    tool::{NexusCancellation, NexusOperation, OnToolError},
    workflow::AgentInbox,
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::{ActivityOutcome, FinishedRun},
    fake_model::{text, tool_call, tool_calls},
    history::{self, History},
    replay_without_cache,
};
use temporalio_client::{WorkflowCancelOptions, errors::WorkflowGetResultError};
use temporalio_common::protos::temporal::api::{
    enums::v1::EventType,
    history::v1::{NexusOperationScheduledEventAttributes, history_event::Attributes},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::time::timeout;

use super::support::{FAILED, count, outputs, workflow_of};
use crate::{
    PATIENCE,
    examples::{Cache, Played},
    python_worker::PythonWorker,
};

const ENDPOINT: &str = "freight-endpoint";
const QUEUE: &str = "python";

fn order() -> Value {
    json!({"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]})
}

fn freight(operation: &str) -> NexusOperation {
    NexusOperation::named(ENDPOINT, "Freight", operation)
}

fn tool(name: &str, operation: NexusOperation) -> ToolDef {
    ToolDef::nexus_operation(name, "Something with an order.", order(), operation)
}

fn forwarder() -> Agent {
    let plain = ["quote", "key", "forget", "sink", "withdraw", "refuse", "explain", "ship", "swim"];
    let slow = || freight("dawdle").schedule_to_close(Duration::from_secs(1));
    plain
        .into_iter()
        .fold(Agent::new("forwarder").model("gpt-5"), |agent, name| agent.tool(tool(name, freight(name))))
        .tool(tool("dawdle", slow()))
        .tool(tool("once", slow().idempotent(false)))
}

workflow_of!(Forwarder, "nexus_forwarder", forwarder);

/// The operations of a history, in the order in which they were scheduled.
fn operations(history: &History) -> Vec<NexusOperationScheduledEventAttributes> {
    let scheduled = history.events.iter().filter_map(|event| match &event.attributes {
        Some(Attributes::NexusOperationScheduledEventAttributes(scheduled)) => Some(scheduled.clone()),
        _ => None,
    });
    scheduled.collect()
}

fn activities<T>(run: &FinishedRun<T>) -> Vec<(String, ActivityOutcome)> {
    run.activities().into_iter().map(|activity| (activity.activity_type, activity.outcome)).collect()
}

async fn until(env: &AgentEnvironment, workflow_id: &str, kind: EventType) -> anyhow::Result<()> {
    let waiting = async {
        while count(&history::fetch(env.client(), workflow_id, None).await?, kind) == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        anyhow::Ok(())
    };
    timeout(PATIENCE, waiting).await.map_err(|_| anyhow::anyhow!("no {kind:?} within {PATIENCE:?}"))?
}

/// Plays the run whose history is golden: an operation that is done at once, and one that takes its time.
pub(crate) async fn recorded(cache: Cache) -> anyhow::Result<Played<String>> {
    let order = || json!({"order": "7"});
    let model = FakeModel::script([tool_calls([("quote", order()), ("ship", order())]), text("done")]);
    let env = cache.environment_alone::<Forwarder>()?.model(&model).agents((forwarder,)).start().await?;
    env.server().create_nexus_endpoint(ENDPOINT, QUEUE).await?;
    let _python = PythonWorker::start(&env, QUEUE).await?;
    let run = env.run(Forwarder::run, "Ship.".to_owned()).await?;
    let histories = vec![run.history.clone()];
    env.finish().await?;
    Ok(Played { output: run.output()?, histories, calls: model.calls() })
}

#[rstest]
#[tokio::test]
async fn operations_of_a_python_handler_are_tools_and_their_failures_outcomes(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let one = || json!({"order": "7"});
    let model = FakeModel::script([
        tool_calls([
            ("quote", one()),
            ("quote", json!({})),
            ("key", one()),
            ("forget", one()),
            ("sink", one()),
            ("withdraw", one()),
            ("refuse", one()),
            ("explain", one()),
            ("swim", one()),
            ("ship", one()),
            ("ship", json!({"order": "broken"})),
            ("ship", json!({"order": "closed"})),
            ("dawdle", one()),
            ("once", one()),
        ]),
        text("done"),
    ]);
    let env = cache.environment_alone::<Forwarder>()?.model(&model).agents((forwarder,)).start().await?;
    env.server().create_nexus_endpoint(ENDPOINT, QUEUE).await?;
    let _python = PythonWorker::start(&env, QUEUE).await?;
    let run = env.run(Forwarder::run, "Ship 7.".to_owned()).await?;
    replay_without_cache::<Forwarder>(&run.history).await?;

    let done = |name: &str| (name.to_owned(), ActivityOutcome::Completed);
    // One look at the endpoint for all.
    assert_eq!(activities(&run), [done("agents.call_model"), done("agents.nexus_endpoint"), done("agents.call_model")]);
    let operations = operations(&run.history);
    let called: Vec<_> = operations.iter().map(|one| (&*one.endpoint, &*one.service, &*one.operation)).collect();
    let names = [
        "quote", "key", "forget", "sink", "withdraw", "refuse", "explain", "swim", "ship", "ship", "ship", "dawdle",
        "dawdle",
    ];
    assert_eq!(called, names.map(|name| (ENDPOINT, "Freight", name)));
    let key = &operations[1].nexus_header["idempotency-key"];
    assert_eq!(key.len(), 16, "{key}");
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(run.output()?, "done");
    assert_eq!(
        outputs(&model),
        [
            r#"{"lines":[1,2.5,null,"ä"],"order":"7"}"#,
            r#"Invalid JSON input for tool quote: order: missing, allowed: "string""#,
            key,
            "null",
            FAILED,
            FAILED,
            FAILED,
            "The port is closed.",
            FAILED,
            r#"{"id":"shipment-7","shipped":"7"}"#,
            FAILED,
            "The order is closed.",
            "Tool 'dawdle' timed out after 1 second.",
            "The tool call was interrupted. It is not known whether it took effect. Do not repeat it.",
        ]
        .map(|text| json!(text))
    );
    env.finish().await?;
    Ok(())
}

fn curious() -> Agent {
    let told = || OnToolError::by_kind(|_call, failure| Some(format!("{:?}: {}", failure.kind, failure.reason())));
    let nobody = NexusOperation::named("nobody-endpoint", "Freight", "quote").schedule_to_start(Duration::from_secs(1));
    ["sink", "withdraw", "refuse", "ship", "explain"]
        .into_iter()
        .fold(Agent::new("curious").model("gpt-5"), |agent, name| {
            agent.tool(tool(name, freight(name)).on_error(told()))
        })
        .tool(tool("nobody", nobody).on_error(told()))
        .tool(tool("lost", NexusOperation::named("lost-endpoint", "Freight", "quote")).on_error(told()))
        .tool(tool("nameless", freight("")).on_error(told()))
}

workflow_of!(Curious, "nexus_curious", curious);

#[tokio::test]
async fn a_failure_has_a_kind_and_says_which_operation_and_why() -> anyhow::Result<()> {
    let one = || json!({"order": "7"});
    let model = FakeModel::script([
        tool_calls([
            ("sink", one()),
            ("withdraw", one()),
            ("refuse", one()),
            ("ship", json!({"order": "broken"})),
            ("explain", one()),
            ("nobody", one()),
            ("lost", one()),
            ("nameless", one()),
        ]),
        text("done"),
    ]);
    let env = Cache::On.environment_alone::<Curious>()?.model(&model).agents((curious,)).start().await?;
    env.server().create_nexus_endpoint(ENDPOINT, QUEUE).await?;
    env.server().create_nexus_endpoint("nobody-endpoint", "nobody").await?;
    let _python = PythonWorker::start(&env, QUEUE).await?;
    let run = env.run(Curious::run, "Ship 7.".to_owned()).await?;
    replay_without_cache::<Curious>(&run.history).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(run.output()?, "done");
    let what = |name: &str| format!("Nexus operation {name:?} of service \"Freight\" at endpoint {ENDPOINT:?}");
    assert_eq!(
        outputs(&model),
        [
            format!("Failed: {} failed: the ship at 10.0.0.7 has sunk", what("sink")),
            format!("Failed: {} was cancelled", what("withdraw")),
            format!("Failed: {} failed: the handler answered BAD_REQUEST: no such port", what("refuse")),
            format!("Failed: {} failed: the parcel fell into the sea", what("ship")),
            "Told: The port is closed.".to_owned(),
            "TimedOut: Tool 'nobody' timed out after 1 second.".to_owned(),
            "NotRegistered: the call of tool \"lost\" by agent \"curious\" at turn 1 failed: the server has no Nexus \
             endpoint \"lost-endpoint\"; create it, or use the name of an existing one"
                .to_owned(),
            format!(
                "Failed: {} cannot be started: a type, id or task queue has 1 to 1000 bytes, and one has 0",
                what("")
            ),
        ]
        .map(|text| json!(text))
    );
    env.finish().await?;
    Ok(())
}

fn lost() -> Agent {
    let nowhere = NexusOperation::named("lost-endpoint", "Freight", "quote");
    Agent::new("lost").model("gpt-5").tool(tool("quote", nowhere))
}

workflow_of!(Lost, "nexus_lost", lost);

#[tokio::test]
async fn an_endpoint_that_is_not_there_ends_the_run_and_says_what_to_do() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("quote", json!({"order": "7"}))]);
    let env = Cache::On.environment_alone::<Lost>()?.model(&model).agents((lost,)).start().await?;
    let run = env.run(Lost::run, "Go.".to_owned()).await?;
    replay_without_cache::<Lost>(&run.history).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(
        run.failure_chain()[0],
        (
            "AgentsWorkflowError".to_owned(),
            "the call of tool \"quote\" by agent \"lost\" at turn 1 failed: the server has no Nexus endpoint \
             \"lost-endpoint\"; create it, or use the name of an existing one"
                .to_owned()
        )
    );
    env.finish().await?;
    Ok(())
}

#[workflow]
#[derive(Default)]
pub(crate) struct Customs {
    inbox: AgentInbox,
}

fn officer() -> Agent {
    Agent::new("officer").model("gpt-5").tool(tool("ship", freight("ship")).needs_approval())
}

#[agent_handlers]
#[workflow_methods]
impl Customs {
    #[run(name = "nexus_customs")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::with_inbox(ctx).run(&officer(), request).await?.final_output)
    }
}

#[rstest]
#[tokio::test]
async fn an_operation_that_needs_approval_is_called_once_it_is_approved(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls([("ship", json!({"order": "1"})), ("ship", json!({"order": "2"}))]),
        text("done"),
    ]);
    let env = cache.environment_alone::<Customs>()?.model(&model).agents((officer,)).start().await?;
    env.server().create_nexus_endpoint(ENDPOINT, QUEUE).await?;
    let _python = PythonWorker::start(&env, QUEUE).await?;
    let handle = env.start_workflow(Customs::run, "Ship both.".to_owned()).await?;
    let officer = AgentHandle::new(env.client(), &*handle.info().workflow_id);
    officer.approve("call_0_0").await?;
    officer.reject("call_0_1", "Not that one.").await?;
    let run = env.await_run(&handle).await?;
    replay_without_cache::<Customs>(&run.history).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(operations(&run.history).len(), 1);
    assert_eq!(run.output()?, "done");
    assert_eq!(outputs(&model), [json!(r#"{"id":"shipment-1","shipped":"1"}"#), json!("Not that one.")]);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_cancelled_workflow_cancels_its_operations_and_awaits_them(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("ship", json!({"order": "slow"}))]);
    let env = cache.environment_alone::<Forwarder>()?.model(&model).agents((forwarder,)).start().await?;
    env.server().create_nexus_endpoint(ENDPOINT, QUEUE).await?;
    let _python = PythonWorker::start(&env, QUEUE).await?;
    let handle = env.start_workflow(Forwarder::run, "Ship.".to_owned()).await?;
    until(&env, &handle.info().workflow_id, EventType::NexusOperationStarted).await?;
    handle.cancel(WorkflowCancelOptions::default()).await?;
    let run = env.await_run(&handle).await?;
    replay_without_cache::<Forwarder>(&run.history).await?;
    assert_eq!(count(&run.history, EventType::NexusOperationCanceled), 1);
    let ended = run.output().expect_err("it was cancelled");
    assert!(matches!(ended, WorkflowGetResultError::Cancelled { .. }), "{ended:?}");
    env.finish().await?;
    Ok(())
}

fn careless() -> Agent {
    let ship = |cancellation| freight("ship").cancellation(cancellation);
    Agent::new("careless")
        .model("gpt-5")
        .tool(tool("sent", ship(NexusCancellation::Sent)))
        .tool(tool("abandoned", ship(NexusCancellation::Abandoned)))
}

workflow_of!(Careless, "nexus_careless", careless);

#[rstest]
#[case("sent", 1)]
#[case("abandoned", 0)]
#[tokio::test]
async fn an_operation_that_nobody_waits_for_is_left_behind(
    #[case] name: &'static str,
    #[case] requests: usize,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call(name, json!({"order": "slow"}))]);
    let env = Cache::On.environment_alone::<Careless>()?.model(&model).agents((careless,)).start().await?;
    env.server().create_nexus_endpoint(ENDPOINT, QUEUE).await?;
    let _python = PythonWorker::start(&env, QUEUE).await?;
    let handle = env.start_workflow(Careless::run, "Ship.".to_owned()).await?;
    until(&env, &handle.info().workflow_id, EventType::NexusOperationStarted).await?;
    handle.cancel(WorkflowCancelOptions::default()).await?;
    let run = env.await_run(&handle).await?;
    replay_without_cache::<Careless>(&run.history).await?;
    assert_eq!(count(&run.history, EventType::NexusOperationCancelRequested), requests);
    assert_eq!(count(&run.history, EventType::NexusOperationCanceled), 0);
    let ended = run.output().expect_err("it was cancelled");
    assert!(matches!(ended, WorkflowGetResultError::Cancelled { .. }), "{ended:?}");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn more_operations_than_the_server_takes_of_a_workflow_wait_for_each_other() -> anyhow::Result<()> {
    const CALLS: usize = 45;
    let orders: Vec<_> = (0..CALLS).map(|number| ("key", json!({"order": number.to_string()}))).collect();
    let model = FakeModel::script([tool_calls(orders), text("done")]);
    let env = Cache::On.environment_alone::<Forwarder>()?.model(&model).agents((forwarder,)).start().await?;
    env.server().create_nexus_endpoint(ENDPOINT, QUEUE).await?;
    let _python = PythonWorker::start(&env, QUEUE).await?;
    let run = env.run(Forwarder::run, "Ship.".to_owned()).await?;
    replay_without_cache::<Forwarder>(&run.history).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    let keys: Vec<_> = operations(&run.history).iter().map(|one| json!(one.nexus_header["idempotency-key"])).collect();
    assert_eq!((outputs(&model), keys.len()), (keys, CALLS));
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn an_inline_run_says_that_it_cannot_call_the_operation() {
    let model = FakeModel::script([tool_call("forget", json!({"order": "7"}))]);
    let result = InlineRunner::new(model).run(&forwarder(), "Forget 7.").await;
    let error = result.expect_err("there is no workflow").error.to_string();
    assert_eq!(
        error,
        "the call of tool \"forget\" by agent \"forwarder\" at turn 1 failed: tool \"forget\" is a Nexus operation, \
         which only a workflow can call; run the agent with Runner in a workflow, or use another tool of that name in \
         the inline run"
    );
}
