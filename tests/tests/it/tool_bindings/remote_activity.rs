//! Activities of a Python worker as tools.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{Agent, ToolDef, inline::InlineRunner, tool::RemoteActivity};
use temporal_agents_testing::{
    FakeModel,
    environment::ActivityOutcome,
    fake_model::{text, tool_call, tool_calls},
};

use super::support::{FAILED, outputs, workflow_of};
use crate::{examples::Cache, python_worker::PythonWorker};

const QUEUE: &str = "python";

fn order() -> Value {
    json!({"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]})
}

fn python(name: &str) -> ToolDef {
    let activity = RemoteActivity::named(name).task_queue(QUEUE).attempts(2);
    ToolDef::remote_activity(name, "Something with an order.", order(), activity)
}

fn clerk() -> Agent {
    let refund = json!({
        "type": "object",
        "properties": {"order": {"type": "string"}, "amount": {"type": "number"}},
        "required": ["order", "amount"],
    });
    let activity = RemoteActivity::named("issue_refund").task_queue(QUEUE).idempotent(false);
    let refund = ToolDef::remote_activity("refund", "Gives money back.", refund, activity);
    let slow = |activity: RemoteActivity| activity.task_queue(QUEUE).start_to_close(Duration::from_secs(1));
    let dawdle = slow(RemoteActivity::named("dawdle").attempts(1));
    let once = slow(RemoteActivity::named("dawdle").idempotent(false));
    Agent::new("clerk")
        .model("gpt-5")
        .tool(refund)
        .tool(python("look_up"))
        .tool(python("forget"))
        .tool(python("break_down"))
        .tool(python("explain"))
        .tool(ToolDef::remote_activity("dawdle", "Takes its time.", order(), dawdle))
        .tool(ToolDef::remote_activity("once", "Takes its time, once.", order(), once))
}

workflow_of!(Clerk, "remote_clerk", clerk);

#[rstest]
#[tokio::test]
async fn activities_of_a_python_worker_are_tools_and_their_failures_outcomes(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let one = || json!({"order": "7"});
    let model = FakeModel::script([
        tool_calls([
            ("refund", json!({"order": "7", "amount": 2.5})),
            ("refund", json!({"order": "7"})),
            ("look_up", one()),
            ("forget", one()),
            ("break_down", one()),
            ("explain", one()),
            ("dawdle", one()),
            ("once", one()),
        ]),
        text("done"),
    ]);
    let env = cache.environment::<Clerk>()?.model(&model).agents((clerk,)).start().await?;
    let _python = PythonWorker::start(&env, QUEUE).await?;
    let run = env.run(Clerk::run, "Refund 7.".to_owned()).await?;
    let activities: Vec<_> = run.activities().into_iter().map(|a| (a.activity_type, a.attempts, a.outcome)).collect();
    let failed = |kind: &str| ActivityOutcome::Failed(kind.to_owned());
    let ended = |name: &str, attempts, outcome| (name.to_owned(), attempts, outcome);
    assert_eq!(
        activities,
        [
            ended("agents.call_model", 1, ActivityOutcome::Completed),
            ended("issue_refund", 1, ActivityOutcome::Completed),
            ended("look_up", 1, ActivityOutcome::Completed),
            ended("forget", 1, ActivityOutcome::Completed),
            ended("break_down", 2, failed("ValueError")),
            ended("explain", 1, failed("ToolError")),
            ended("dawdle", 1, failed("Timeout")),
            ended("dawdle", 1, failed("Timeout")),
            ended("agents.call_model", 1, ActivityOutcome::Completed),
        ]
    );
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(run.output()?, "done");
    assert_eq!(
        outputs(&model),
        [
            "refunded 2.5 for order 7",
            r#"Invalid JSON input for tool refund: amount: missing, allowed: "number""#,
            r#"{"lines":[1,2.5,null,"ä"],"order":"7"}"#,
            "null",
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

fn asking() -> Agent {
    let inner = Agent::new("inner").model("gpt-5").tool(python("who_calls"));
    Agent::new("asking").model("gpt-5").tool(python("who_calls")).tool(inner.as_tool().name("ask"))
}

workflow_of!(Asking, "remote_asking", asking);

#[tokio::test]
async fn an_activity_learns_from_its_header_who_calls() -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_call("who_calls", json!({"order": "7"})),
        tool_call("ask", json!({"input": "Who?"})),
        tool_call("who_calls", json!({"order": "8"})),
        text("inner"),
        text("done"),
    ]);
    let env = Cache::On.environment::<Asking>()?.model(&model).agents((asking,)).start().await?;
    let _python = PythonWorker::start(&env, QUEUE).await?;
    let run = env.run(Asking::run, "Go.".to_owned()).await?;
    let workflow_id = run.workflow_id.clone();
    assert_eq!(run.output()?, "done");
    let outputs: Vec<Value> = [1, 3]
        .map(|call| json!(model.calls()[call].input.last().and_then(|item| item.get("output").cloned())))
        .map(|output| serde_json::from_str(output.as_str().expect("a text")).expect("JSON"))
        .into();
    let (outer, inner) = (&outputs[0], &outputs[1]);
    assert_eq!((&outer["run_id"], &outer["turn_id"]), (&json!(workflow_id), &json!("1")));
    assert_eq!((&outer["session_id"], &outer["arguments"]), (&json!(""), &json!({"order": "7"})));
    assert!(outer.get("parent_tool_call_id").is_none(), "{outer}");
    assert!(outer["tool_call_id"].as_str().is_some_and(|id| !id.is_empty()), "{outer}");
    assert_ne!(outer["tool_call_id"], inner["tool_call_id"]);
    assert!(inner["parent_tool_call_id"].is_string(), "{inner}");
    env.finish().await?;
    Ok(())
}

fn lost() -> Agent {
    let absent = RemoteActivity::named("absent").task_queue(QUEUE).schedule_to_close(Duration::from_secs(2));
    let nobody = RemoteActivity::named("absent").task_queue("nobody").schedule_to_start(Duration::from_secs(1));
    Agent::new("lost")
        .model("gpt-5")
        .tool(ToolDef::remote_activity("absent", "Is not there.", order(), absent))
        .tool(ToolDef::remote_activity("nobody", "Has no worker.", order(), nobody))
}

workflow_of!(Lost, "remote_lost", lost);

#[rstest]
#[case(
    "absent",
    "tool \"absent\" of agent \"lost\" is not registered on task queue \"python\"; start a worker that has it: "
)]
#[case(
    "nobody",
    "tool \"nobody\" of agent \"lost\" is not registered on task queue \"nobody\"; start a worker that has it: no worker \
     for activity \"absent\" on task queue \"nobody\": none has taken it within 1 s"
)]
#[tokio::test]
async fn an_activity_that_nobody_has_ends_the_run_and_says_what_to_do(
    #[case] tool: &'static str,
    #[case] says: &str,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call(tool, json!({"order": "7"}))]);
    let env = Cache::On.environment::<Lost>()?.model(&model).agents((lost,)).start().await?;
    let _python = PythonWorker::start(&env, QUEUE).await?;
    let run = env.run(Lost::run, "Go.".to_owned()).await?;
    let chain = run.failure_chain();
    assert_eq!(chain[0].0, "AgentsWorkflowError");
    assert!(chain[0].1.starts_with(says), "{chain:?}");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn an_inline_run_says_that_it_cannot_reach_the_activity() {
    let model = FakeModel::script([tool_call("forget", json!({"order": "7"}))]);
    let result = InlineRunner::new(model).run(&clerk(), "Forget 7.").await;
    let error = result.expect_err("there is no workflow").error.to_string();
    assert_eq!(
        error,
        "the call of tool \"forget\" by agent \"clerk\" at turn 1 failed: tool \"forget\" runs as an activity or \
         workflow of another worker, which an inline run cannot reach; run the agent with Runner in a workflow, or \
         use another tool of that name in the inline run"
    );
}
