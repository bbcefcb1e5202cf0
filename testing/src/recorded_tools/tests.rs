use std::time::Duration;

use serde_json::json;
use temporal_agents::{Agent, ToolError, inline::InlineRunner, tool::ToolActivityOptions, worker::ToolRegistry};

use super::*;
use crate::fake_model::{FakeModel, text, tool_call, tool_calls};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Note {
    text: String,
}

/// A tool that fails at its first attempt.
fn flaky() -> ToolDef {
    ToolDef::activity("flaky", "Fails at first.", |ctx, Note { text }| {
        let attempt = ctx.info().attempt;
        Box::pin(async move { if attempt == 1 { Err(ToolError::transient("not yet")) } else { Ok(text.into()) } })
    })
    .options(ToolActivityOptions::builder().attempts(2).build())
}

fn tools() -> [ToolDef; 3] {
    let echo = ToolDef::inline("echo", "Says it again.", |_ctx, Note { text }| Ok(text.into()));
    let later = ToolDef::workflow("later", "Says it again, later.", |_ctx, Note { text }| {
        Box::pin(async move { Ok(text.into()) })
    });
    [flaky(), echo, later]
}

fn note(text: &str) -> Value {
    json!({"text": text})
}

#[tokio::test]
async fn calls_of_an_agent_are_recorded_once_and_in_order() {
    let (recorded, model) = (
        RecordedTools::new(tools()),
        FakeModel::script([
            tool_calls([("flaky", note("a")), ("echo", note("b")), ("echo", json!({"word": "b"}))]),
            tool_call("later", note("c")),
            text("done"),
        ]),
    );
    let clerk: Agent = Agent::new("clerk").model("gpt-5").tools(recorded.tools());
    let runner = InlineRunner::new(model).first_pause(Duration::from_millis(1));
    assert_eq!(runner.run(&clerk, "Go.").await.unwrap().final_output, "done");
    let named = |name: &str, text| (name.to_owned(), note(text));
    // The body of the activity runs on another thread than the inline tools.
    let mut calls = recorded.calls();
    calls[..2].sort_by(|(one, _), (other, _)| other.cmp(one));
    assert_eq!(calls, [named("flaky", "a"), named("echo", "b"), named("later", "c")]);
    let attempts: Vec<_> = recorded.attempts().iter().map(|one| (one.call.tool.clone(), one.call.attempt)).collect();
    let attempt = |tool: &str, attempt| (tool.to_owned(), attempt);
    let of = |tool: &str| attempts.iter().filter(|(one, _)| one == tool).cloned().collect::<Vec<_>>();
    assert_eq!((of("flaky"), of("echo")), (vec![attempt("flaky", 1), attempt("flaky", 2)], vec![attempt("echo", 1)]));
    assert_eq!((attempts.len(), attempts.last()), (4, Some(&attempt("later", 1))));
}

#[tokio::test]
async fn calls_of_a_registry_are_recorded() {
    let recorded = RecordedTools::new(tools());
    let registry = ToolRegistry::default().register_all(recorded.tools()).unwrap();
    for text in ["a", "b"] {
        assert_eq!(registry.dispatch("echo", note(text).to_string()).await.unwrap().text(), text);
    }
    assert_eq!(recorded.calls(), [("echo".to_owned(), note("a")), ("echo".to_owned(), note("b"))]);
}
