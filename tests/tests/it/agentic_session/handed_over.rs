//! Sessions that others have begun: an activity whose first attempt ran the ToolRegistry/AgenticSession proposal's code, in another language.
//! And one whose first attempt ran here.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent,
    agentic_session::{AgenticSession, CheckpointFormat, MessageDialect, SessionResults},
    inline::InlineRunner,
    tool,
    tool::{State, ToolError},
    wire::{Item, ModelCall},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::WorkerThread,
    fake_model::{item, text, tool_call},
};
use temporalio_sdk::{
    WorkerOptions,
    activities::{ActivityContext, ActivityError},
};
use tokio::time::{Instant, sleep};

use super::{
    desk::{Desk, Office, Order, office},
    kept::details,
    mishap::{Mishap, broken},
};
use crate::{PATIENCE, python_worker::PythonWorker};

const QUEUE: &str = "reviews";

/// Looks at a file.
///
/// # Arguments
/// * `path` - the file
#[tool]
async fn inspect(State(results): State<SessionResults>, path: String) -> Result<String, ToolError> {
    results.push(json!({"file": path, "line": 7}))?;
    Ok(format!("{path} is fine"))
}

/// A model that has one more file looked at.
fn model() -> FakeModel {
    FakeModel::script([tool_call("inspect", json!({"path": "b.rs"})), text("Both are fine.")])
}

/// Goes on with a session: gives what was said at last, and the results.
async fn review(ctx: &ActivityContext, model: &FakeModel) -> Result<Value, ActivityError> {
    let inline = InlineRunner::new(model.clone());
    AgenticSession::run(ctx, async |session| {
        assert!(session.is_resumed());
        let reviewer = Agent::new("reviewer").model("gpt-5").instructions("You review.").tool(inspect);
        let said = session.runner(&inline).run(&reviewer, "Not what the conversation began with.").await?.final_output;
        Ok(json!({"said": said, "results": session.results::<Value>()?}))
    })
    .await
}

/// What the model was given, call by call.
fn given(model: &FakeModel) -> Vec<Vec<Value>> {
    let items = |call: &ModelCall| call.input.iter().map(Item::to_value).collect();
    model.calls().iter().map(items).collect()
}

/// The conversation as the first attempt left it.
fn conversation() -> Vec<Value> {
    vec![
        json!({"role": "user", "content": "Review a.rs and b.rs."}),
        json!({"role": "assistant", "content": "I begin with a.rs."}),
        json!({"type": "function_call", "call_id": "toolu_1", "name": "inspect", "arguments": "{\"path\":\"a.rs\"}"}),
        json!({"type": "function_call_output", "call_id": "toolu_1", "output": "a.rs is odd"}),
    ]
}

fn outcome() -> Value {
    json!({"said": "Both are fine.", "results": [{"file": "a.rs", "line": 3}, {"file": "b.rs", "line": 7}]})
}

/// Checks that the model was given the whole conversation, and what came after it.
fn was_given_everything(model: &FakeModel) {
    let calls = given(model);
    assert_eq!(calls[0], conversation());
    let (before, since) = calls[1].split_at(4);
    assert_eq!(before, conversation());
    let kinds: Vec<_> = since.iter().map(|item| item["type"].as_str().unwrap_or_default()).collect();
    assert_eq!(
        (kinds, since[1]["output"].clone()),
        (vec!["function_call", "function_call_output"], json!("b.rs is fine"))
    );
}

/// A worker of the queue on which the Python worker is, at other times.
async fn worker(env: &AgentEnvironment, desk: Desk) -> anyhow::Result<WorkerThread> {
    let mut options = WorkerOptions::new(QUEUE).build();
    options.register_activities(desk);
    options.graceful_shutdown_period = Some(Duration::from_secs(1));
    let (target, namespace) = (env.server().target_url(), env.server().namespace().to_owned());
    Ok(tokio::task::spawn_blocking(move || WorkerThread::start(target, &namespace, options)).await??)
}

#[tokio::test]
async fn session_begun_by_the_python_copy_continues_here() -> anyhow::Result<()> {
    let env = office()?.start().await?;
    let python = PythonWorker::start(&env, QUEUE).await?;
    let order = Order {
        heartbeat_timeout: Duration::from_secs(3),
        task_queue: Some(QUEUE.to_owned()),
        ..Order::new("Review it.")
    };
    let started = env.start_workflow(Office::run, order).await?;
    let deadline = Instant::now() + PATIENCE;
    while !details(env.client(), &started.info().workflow_id).await?.is_string() {
        anyhow::ensure!(Instant::now() < deadline, "the Python worker has sent no heartbeat");
        sleep(Duration::from_millis(20)).await;
    }
    // It is killed: the server misses its heartbeats, and gives the next attempt to whoever asks for it.
    drop(python);

    let model = model();
    let of_worker = model.clone();
    let desk = Desk::new(move |ctx, _| {
        let model = of_worker.clone();
        async move { review(&ctx, &model).await }
    });
    let worker = worker(&env, desk).await?;
    let run = env.await_run(&started).await?;
    assert_eq!(run.activities()[0].attempts, 2);
    assert_eq!(run.output()?, outcome());
    was_given_everything(&model);
    model.verify();
    tokio::task::spawn_blocking(move || drop(worker)).await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn session_json_written_by_go_continues_here() -> anyhow::Result<()> {
    let model = model();
    let of_desk = model.clone();
    let desk = Desk::new(move |ctx, _| {
        let model = of_desk.clone();
        async move {
            if ctx.info().attempt > 1 {
                return review(&ctx, &model).await;
            }
            // An object, and `issues` for results.
            let checkpoint = json!({
                "version": 1,
                "messages": [
                    {"role": "user", "content": "Review a.rs and b.rs."},
                    {"role": "assistant", "content": [
                        {"type": "text", "text": "I begin with a.rs."},
                        {"type": "tool_use", "id": "toolu_1", "name": "inspect", "input": {"path": "a.rs"}},
                    ]},
                    {"role": "user", "content": [
                        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.rs is odd"},
                    ]},
                ],
                "issues": [{"file": "a.rs", "line": 3}],
            });
            ctx.record_heartbeat(checkpoint).await?;
            Err(broken("the node is drained"))
        }
    });
    let env = desk.environment()?.start().await?;
    let run = env.run(Office::run, Order::new(Value::Null)).await?;
    assert_eq!(run.activities()[0].attempts, 2);
    assert_eq!(run.output()?, outcome());
    was_given_everything(&model);
    model.verify();
    env.finish().await?;
    Ok(())
}

#[rstest]
#[case::with_anthropics_blocks(MessageDialect::Anthropic, json!([
    {"role": "user", "content": "Review a.rs and b.rs."},
    {"role": "assistant", "content": [
        {"type": "text", "text": "I begin with a.rs."},
        {"type": "tool_use", "id": "call_1", "name": "inspect", "input": {"path": "a.rs"}},
    ]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "a.rs is fine"}]},
]))]
#[case::with_chat_completions_messages(MessageDialect::ChatCompletions, json!([
    {"role": "user", "content": "Review a.rs and b.rs."},
    {"role": "assistant", "content": "I begin with a.rs.", "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "inspect", "arguments": "{\"path\":\"a.rs\"}"}},
    ]},
    {"role": "tool", "tool_call_id": "call_1", "content": "a.rs is fine"},
]))]
#[tokio::test]
async fn session_begun_here_continues_in_the_python_copy(
    #[case] dialect: MessageDialect,
    #[case] messages: Value,
) -> anyhow::Result<()> {
    // Its second call of the model holds still until the worker is killed.
    let call = json!({
        "type": "function_call", "call_id": "call_1", "name": "inspect", "arguments": "{\"path\":\"a.rs\"}"
    });
    let model = FakeModel::script([
        text("I begin with a.rs.").and(item(call)),
        text("nothing, here").delayed(Duration::from_mins(10)),
    ]);
    let desk = Desk::new(move |ctx, _| {
        let inline = InlineRunner::new(model.clone());
        async move {
            let options = AgenticSession::options().checkpoint_format(CheckpointFormat::ProposalString(dialect));
            let body = async |session: AgenticSession| {
                let reviewer = Agent::new("reviewer").model("gpt-5").instructions("You review.").tool(inspect);
                Ok(session.runner(&inline).run(&reviewer, "Review a.rs and b.rs.").await?.final_output.into())
            };
            options.run(&ctx, body).await
        }
    });
    let env = office()?.start().await?;
    let mut worker = worker(&env, desk).await?;
    let order = Order {
        heartbeat_timeout: Duration::from_secs(3),
        task_queue: Some(QUEUE.to_owned()),
        ..Order::new("Review it.")
    };
    let started = env.start_workflow(Office::run, order).await?;
    let deadline = Instant::now() + PATIENCE;
    while !is_of_second_turn(&details(env.client(), &started.info().workflow_id).await?) {
        anyhow::ensure!(Instant::now() < deadline, "the session has not come to its second turn");
        sleep(Duration::from_millis(20)).await;
    }
    tokio::task::spawn_blocking(move || worker.kill()).await??;

    let python = PythonWorker::start(&env, QUEUE).await?;
    let run = env.await_run(&started).await?;
    assert_eq!(run.activities()[0].attempts, 2);
    let results = json!([{"file": "a.rs", "line": 7}, {"file": "b.rs", "line": 7}]);
    assert_eq!(run.output()?, json!({"said": "Both are fine.", "messages": messages, "results": results}));
    drop(python);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[case::in_a_string(CheckpointFormat::ProposalString(MessageDialect::ChatCompletions))]
#[case::as_an_object(CheckpointFormat::ProposalObject(MessageDialect::Anthropic))]
#[tokio::test]
async fn a_session_in_the_form_of_the_proposal_that_has_failed_here_goes_on_here(
    #[case] format: CheckpointFormat,
) -> anyhow::Result<()> {
    let call = json!({
        "type": "function_call", "call_id": "toolu_1", "name": "inspect", "arguments": "{\"path\":\"a.rs\"}"
    });
    let first = FakeModel::script([item(call), text("nothing").delayed(Duration::from_mins(10))]);
    let (second, mishap) = (model(), Mishap::new());
    let (models, of_desk) = ([first.clone(), second.clone()], mishap.clone());
    let desk = Desk::new(move |ctx, _| {
        let inline = InlineRunner::new(models[usize::from(ctx.info().attempt > 1)].clone());
        let mishap = of_desk.clone();
        async move {
            let body = async |session: AgenticSession| {
                let reviewer = Agent::new("reviewer").model("gpt-5").tool(inspect);
                let runner = session.runner(&inline);
                let running = runner.run(&reviewer, "Review a.rs and b.rs.").into_future();
                let said = mishap.or(running).await?.final_output;
                Ok(json!({"said": said, "results": session.results::<Value>()?}))
            };
            AgenticSession::options().checkpoint_format(format).run(&ctx, body).await
        }
    });
    let env = desk.environment()?.start().await?;
    let started = env.start_workflow(Office::run, Order::new(Value::Null)).await?;
    let deadline = Instant::now() + PATIENCE;
    while first.calls().len() < 2 {
        anyhow::ensure!(Instant::now() < deadline, "the session has not come to its second turn");
        sleep(Duration::from_millis(20)).await;
    }
    mishap.happen();
    let run = env.await_run(&started).await?;
    assert_eq!(run.activities()[0].attempts, 2);
    let results = json!([{"file": "a.rs", "line": 7}, {"file": "b.rs", "line": 7}]);
    assert_eq!(run.output()?, json!({"said": "Both are fine.", "results": results}));
    let conversation = json!([
        {"role": "user", "content": "Review a.rs and b.rs."},
        {"type": "function_call", "call_id": "toolu_1", "name": "inspect", "arguments": "{\"path\":\"a.rs\"}"},
        {"type": "function_call_output", "call_id": "toolu_1", "output": "a.rs is fine"},
    ]);
    assert_eq!(Value::from(given(&second).remove(0)), conversation);
    env.finish().await?;
    Ok(())
}

/// `true` if the details of a heartbeat are a string with three messages: the first turn is over.
fn is_of_second_turn(details: &Value) -> bool {
    let checkpoint = details.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    checkpoint.is_some_and(|checkpoint| checkpoint["messages"].as_array().map(Vec::len) == Some(3))
}
