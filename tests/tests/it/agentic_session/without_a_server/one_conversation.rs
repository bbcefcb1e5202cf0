//! Sessions that write the checkpoints of the ToolRegistry/AgenticSession proposal: which
//! conversation is in them, and that another attempt continues from it.

use std::sync::{Arc, Mutex, PoisonError};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources, Tool,
    agentic_session::{
        AgenticSession, AgenticSessionOptions,
        CheckpointFormat::{self, Native, ProposalObject, ProposalString},
        MessageDialect::{Anthropic, ChatCompletions},
        SessionResults,
    },
    inline::InlineRunner,
    tool,
    tool::{State, ToolContext, ToolError},
    wire::ModelCall,
};
use temporal_agents_testing::{
    FakeModel, SessionEnvironment,
    fake_model::{item, text, tool_call},
};

use super::{super::stored::Shelf, Desk};

/// The idempotency keys of the calls so far.
#[derive(Clone, Default)]
struct Keys(Arc<Mutex<Vec<String>>>);

/// Looks at a file.
///
/// # Arguments
/// * `path` - the file
#[tool]
async fn inspect(
    State(keys): State<Keys>,
    State(results): State<SessionResults>,
    ctx: &ToolContext,
    path: String,
) -> Result<String, ToolError> {
    keys.0.lock().unwrap_or_else(PoisonError::into_inner).push(ctx.info().idempotency_key().to_owned());
    results.push(&path)?;
    Ok(format!("{path} is fine"))
}

fn outputs(call: &ModelCall) -> usize {
    call.input.iter().filter(|item| item.kind() == "function_call_output").count()
}

fn inspects(id: &str, path: &str) -> Value {
    let arguments = json!({"path": path}).to_string();
    json!({"type": "function_call", "call_id": id, "name": "inspect", "arguments": arguments})
}

/// A model that answers by the outputs it has, wherever an attempt continues: three turns, three calls.
fn model() -> FakeModel {
    FakeModel::function(|call, _| match outputs(call) {
        0 => text("I begin.").and(item(inspects("call_a", "a"))).and(item(inspects("call_b", "b"))),
        2 => item(inspects("call_c", "c")),
        _ => text("all fine"),
    })
}

/// A session whose body adds a result of its own.
fn environment(model: &FakeModel, keys: &Keys, options: &AgenticSessionOptions) -> SessionEnvironment {
    let (model, keys, options) = (model.clone(), keys.clone(), options.clone());
    let desk = Desk::new(move |ctx, _| {
        let resources = Resources::new().model_provider(model.clone()).state(keys.clone());
        let (inline, options) = (InlineRunner::new(resources), options.clone());
        async move {
            let body = async |session: AgenticSession| {
                session.push("begun")?;
                let reviewer = Agent::new("reviewer").model("gpt-5").instructions("You review.").tool(inspect.serial());
                let said = session.runner(&inline).run(&reviewer, "Review it.").await?.final_output;
                Ok(json!({"said": said, "results": session.results::<Value>()?}))
            };
            options.run(&ctx, body).await
        }
    });
    SessionEnvironment::new().register_activities(move || desk.clone())
}

fn outcome() -> Value {
    json!({"said": "all fine", "results": ["begun", "a", "b", "c"]})
}

fn format(format: CheckpointFormat) -> AgenticSessionOptions {
    AgenticSession::options().checkpoint_format(format)
}

/// The object in the details of a heartbeat.
fn object(details: &Value) -> Value {
    details.as_str().map_or_else(|| details.clone(), |text| serde_json::from_str(text).expect("JSON in the string"))
}

#[rstest]
#[case::anthropic(ProposalObject(Anthropic))]
#[case::anthropic_in_a_string(ProposalString(Anthropic))]
#[case::chat_completions(ProposalObject(ChatCompletions))]
#[case::chat_completions_in_a_string(ProposalString(ChatCompletions))]
#[tokio::test]
async fn an_attempt_continues_from_each_conversation(#[case] written: CheckpointFormat) -> anyhow::Result<()> {
    let (model, keys) = (model(), Keys::default());
    let env = environment(&model, &keys, &format(written));
    let first = env.attempt().run(Desk::work, Value::Null).await;
    assert_eq!(first.result?, outcome());
    assert!(first.heartbeats.iter().all(|details| details.is_string() == matches!(written, ProposalString(_))));
    let results: Vec<_> = first.heartbeats.iter().map(|details| object(details)["results"].clone()).collect();
    assert_eq!(results, [json!([]), json!(["a", "b"]), json!(["a", "b", "c"])], "one before each turn");
    assert!(first.checkpoints.is_empty(), "none in the format of this crate");

    for (turns, details) in first.heartbeats.iter().enumerate() {
        let asked = model.calls().len();
        let next = env.attempt_from(details)?.run(Desk::work, Value::Null).await;
        assert_eq!((next.result?, model.calls().len() - asked), (outcome(), 3 - turns));
        assert_eq!(next.heartbeats, first.heartbeats[turns + 1..], "it writes what the first attempt wrote");
    }
    let mut keys = keys.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert_eq!(keys.len(), 3 + 3 + 1);
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 7, "a call of another attempt is another call");
    Ok(())
}

#[tokio::test]
async fn a_conversation_is_that_of_the_complete_turns() -> anyhow::Result<()> {
    let env = environment(&model(), &Keys::default(), &format(ProposalObject(Anthropic)));
    let first = env.attempt().run(Desk::work, Value::Null).await;
    let used = |id: &str, path: &str| json!({"type": "tool_use", "id": id, "name": "inspect", "input": {"path": path}});
    let result = |id: &str, content: &str| json!({"type": "tool_result", "tool_use_id": id, "content": content});
    let expected = json!({
        "version": 1,
        "messages": [
            {"role": "user", "content": "Review it."},
            {"role": "assistant", "content": [
                {"type": "text", "text": "I begin."}, used("call_a", "a"), used("call_b", "b")
            ]},
            {"role": "user", "content": [result("call_a", "a is fine"), result("call_b", "b is fine")]},
        ],
        "results": ["a", "b"],
    });
    assert_eq!(first.heartbeats[1], expected);
    Ok(())
}

#[rstest]
#[case::then_one_conversation(Native, ProposalString(Anthropic))]
#[case::then_our_own(ProposalString(Anthropic), Native)]
#[case::then_another_dialect(ProposalString(Anthropic), ProposalObject(ChatCompletions))]
#[tokio::test]
async fn an_attempt_continues_from_a_format_that_it_does_not_write(
    #[case] before: CheckpointFormat,
    #[case] after: CheckpointFormat,
) -> anyhow::Result<()> {
    let keys = Keys::default();
    let first = environment(&model(), &keys, &format(before)).attempt().run(Desk::work, Value::Null).await;
    for details in &first.heartbeats {
        let next = environment(&model(), &keys, &format(after));
        let second = next.attempt_from(details)?.run(Desk::work, Value::Null).await;
        assert_eq!(second.result?, outcome());
        for details in &second.heartbeats {
            assert_eq!(next.attempt_from(details)?.run(Desk::work, Value::Null).await.result?, outcome());
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_call_that_waits_for_approval_is_not_in_the_conversation() -> anyhow::Result<()> {
    let desk = Desk::new(|ctx, _| async move {
        let model = FakeModel::script([tool_call("inspect", json!({"path": "a"}))]);
        let resources = Resources::new().model_provider(model).state(Keys::default());
        let inline = InlineRunner::new(resources);
        let body = async |session: AgenticSession| {
            let reviewer = Agent::new("reviewer").model("gpt-5").tool(inspect.needs_approval());
            Ok(session.runner(&inline).run(&reviewer, "Review it.").await?.final_output.into())
        };
        format(ProposalString(ChatCompletions)).run(&ctx, body).await
    });
    let env = SessionEnvironment::new().register_activities(move || desk.clone());
    let first = env.attempt().run(Desk::work, Value::Null).await;
    first.result.expect_err("nobody approves");
    let messages: Vec<_> = first.heartbeats.iter().map(|details| object(details)["messages"].clone()).collect();
    assert_eq!(messages, [json!([{"role": "user", "content": "Review it."}])]);
    Ok(())
}

/// Reads a page, a long one.
#[tool]
async fn read_page() -> String {
    "x".repeat(900_000)
}

#[tokio::test]
async fn a_conversation_that_is_too_large_is_not_put_in_the_store() -> anyhow::Result<()> {
    let shelf = Shelf::default();
    let options = format(ProposalString(Anthropic)).checkpoint_store(shelf.clone());
    let desk = Desk::new(move |ctx, _| {
        let options = options.clone();
        async move {
            let inline = InlineRunner::new(FakeModel::function(|_, _| tool_call("read_page", json!({}))));
            let body = async |session: AgenticSession| {
                let reader = Agent::new("reader").model("gpt-5").tool(read_page);
                Ok(session.runner(&inline).run(&reader, "Read it.").await?.final_output.into())
            };
            options.run(&ctx, body).await
        }
    });
    let env = SessionEnvironment::new().register_activities(move || desk.clone());
    let error = env.attempt().run(Desk::work, Value::Null).await.result.expect_err("it is too large").to_string();
    let why = "after 3 turns the session's checkpoint, in the format of the ToolRegistry/AgenticSession proposal, has \
               2.70 MB, more than the 2.00 MB that a heartbeat may carry; shorten the conversation with RunConfig's \
               compaction, or set .checkpoint_format(CheckpointFormat::Native) and a .checkpoint_store(..)";
    assert!(error.contains(why), "{error}");
    assert_eq!(shelf.writes(), 0);
    Ok(())
}
