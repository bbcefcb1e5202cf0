//! The one `run` of each host: what it begins from, and what a request for it returns.

use rstest::rstest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporal_agents::{
    Agent, RunError, Runner, Tool,
    agentic_session::AgenticSession,
    inline::InlineRunner,
    run::{RunInput, RunOutcome, RunResult},
    tool,
    wire::{Decision, Item},
};
use temporal_agents_testing::{
    FakeModel, SessionEnvironment,
    fake_model::{handoff, text, tool_call},
};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
};

use crate::examples::{Cache, histories};

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Receipt {
    total: u32,
}

/// Pays a bill.
#[tool(inline)]
fn pay(amount: u32) -> String {
    format!("paid {amount}")
}

fn porter() -> Agent {
    Agent::new("porter").model("gpt-5")
}

fn till() -> Agent<Receipt> {
    Agent::new("till").model("gpt-5").tool(pay.needs_approval()).output::<Receipt>()
}

/// An agent that can hand off to one with another output type.
fn lobby() -> Agent<Receipt> {
    Agent::new("lobby").model("gpt-5").handoff(porter()).output::<Receipt>()
}

fn script() -> FakeModel {
    FakeModel::script([
        text("hello"),
        handoff("porter"),
        text("good evening"),
        tool_call("pay", json!({"amount": 5})),
        text(r#"{"total": 5}"#),
    ])
}

/// What the requests return, one after another.
fn returned() -> Value {
    json!({
        "typed": "hello",
        "of two types": "graph",
        "untyped": "good evening",
        "paused": ["call_3_0"],
        "undecided": ["pay"],
        "undecided, until paused": ["call_3_0"],
        "decided": {"total": 5},
    })
}

/// Makes one request of each kind with the runner of a host.
macro_rules! requests {
    ($runner:expr) => {{
        let runner = $runner;
        let typed: RunResult<String> = runner.run(&porter(), "Hello.").await?;
        let of_two_types = match runner.run(&lobby(), "Good evening.".to_owned()).await {
            Err(failure) if matches!(failure.error, RunError::Graph(_)) => "graph",
            _ => "other",
        };
        let untyped: RunResult<Value> = runner.run(&lobby(), vec![Item::user("Good evening.")]).untyped().await?;
        let paused: RunOutcome<Receipt> = runner.run(&till(), RunInput::from("Pay.")).until_paused().await?;
        let RunOutcome::Paused(paused) = paused else { panic!("it needs approval") };
        let undecided = match runner.run(&till(), paused.state.clone()).await.map_err(|failure| failure.error) {
            Err(RunError::NeedsApproval { tools, .. }) => tools,
            _ => Vec::new(),
        };
        let again: RunOutcome<Value> = runner.run(&till(), paused.state.clone()).untyped().until_paused().await?;
        let RunOutcome::Paused(again) = again else { panic!("it still needs approval") };
        let mut state = again.state.clone();
        state.decide("call_3_0", Decision::approve()).expect("the run waits for it");
        let decided: RunResult<Receipt> = runner.run(&till(), state).await?;
        let ids = |calls: Vec<_>| calls.into_iter().map(|call: temporal_agents::wire::Interruption| call.id).collect();
        let (paused, again): (Vec<String>, Vec<String>) = (ids(paused.interruptions()), ids(again.interruptions()));
        json!({
            "typed": typed.final_output,
            "of two types": of_two_types,
            "untyped": untyped.final_output,
            "paused": paused,
            "undecided": undecided,
            "undecided, until paused": again,
            "decided": decided.final_output,
        })
    }};
}

#[tokio::test]
async fn requests_of_an_inline_runner_return_what_they_name() -> anyhow::Result<()> {
    // The future is `Send`, as that of each request is.
    let ran = tokio::spawn(async { anyhow::Ok(requests!(InlineRunner::new(script()))) });
    assert_eq!(ran.await??, returned());
    Ok(())
}

#[workflow]
#[derive(Default)]
struct Requests;

#[workflow_methods]
impl Requests {
    #[run(name = "requests")]
    async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<Value> {
        Ok(requests!(Runner::new(ctx)))
    }
}

#[rstest]
#[tokio::test]
async fn requests_of_a_workflow_return_what_they_name(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = script();
    let env = cache.environment::<Requests>()?.model(&model).agents((porter, till, lobby)).start().await?;
    let finished = env.run(Requests::run, ()).await?;
    histories::<Requests>(&env, &finished.workflow_id).await?;
    assert_eq!(finished.output()?, returned());
    env.finish().await?;
    Ok(())
}

struct InSession;

#[activities]
impl InSession {
    #[activity]
    async fn requests(ctx: ActivityContext) -> Result<Value, ActivityError> {
        let inline = InlineRunner::new(script());
        AgenticSession::run(&ctx, async |session| Ok(requests!(session.runner(&inline)))).await
    }
}

#[tokio::test]
async fn requests_of_a_session_return_what_they_name() -> anyhow::Result<()> {
    let env = SessionEnvironment::new().register_activities(|| InSession);
    assert_eq!(env.attempt().run(InSession::requests, ()).await.result?, returned());
    Ok(())
}
