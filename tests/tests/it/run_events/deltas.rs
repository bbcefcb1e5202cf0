//! Deltas: attempts at calls, and the output, progress and values that tools send.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use temporal_agents::{Agent, Tool, ToolContext, ToolError, inline::InlineRunner, tool, wire::ModelFailureKind};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{failure, text, tool_call},
};

/// Builds a target.
#[tool]
async fn build(ctx: &ToolContext, target: String) -> Result<String, ToolError> {
    ctx.output_delta("stdout", format!("with key-7 {target}\n"));
    ctx.progress(0.5, "half");
    ctx.progress(f64::NAN, "lost");
    ctx.emit("artifact", json!({"key": "key-7", "size": 3}));
    if ctx.info().attempt == 1 {
        return Err(ToolError::transient("the disk is slow, says key-7"));
    }
    Ok("built with key-7".to_owned())
}

/// Adds one.
#[tool(inline)]
fn next(ctx: &ToolContext, number: i64) -> i64 {
    ctx.progress(None, "adding");
    number + 1
}

#[tokio::test]
async fn attempts_and_what_tools_send_reach_the_subscriber_redacted() -> anyhow::Result<()> {
    let busy = failure(ModelFailureKind::RateLimit, "too many requests").retry_after(Duration::from_millis(1));
    let model = FakeModel::script([
        busy,
        tool_call("build", json!({"target": "all"})).and(tool_call("next", json!({"number": 1}))),
        text("done"),
    ]);
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let sink = Arc::clone(&seen);
    let runner = InlineRunner::new(model).first_pause(Duration::from_millis(1)).on_event(move |event| {
        let event = serde_json::to_value(event).expect("events are JSON");
        sink.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    });
    let redacted = build.definition().redact(|text| text.replace("key-7", "***"));
    let agent = Agent::new("builder").model("gpt-5").tool(redacted).tool(next);
    runner.run(&agent, "Build.").await?;

    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(!serde_json::to_string(&*seen)?.contains("key-7"), "{seen:?}");
    let of_kind = |kind: &str| seen.iter().filter(|event| event["kind"] == kind).cloned().collect::<Vec<Value>>();
    let outputs: Vec<_> = of_kind("tool_output_delta")
        .iter()
        .map(|event| (event["name"].clone(), event["attempt"].clone(), event["stream"].clone(), event["delta"].clone()))
        .collect();
    let line = |attempt: u32, stream: &str, text: &str| (json!("build"), json!(attempt), json!(stream), json!(text));
    for attempt in [1, 2] {
        for (stream, text) in [("stdout", "with *** all\n"), ("progress", "half"), ("progress", "lost")] {
            assert!(outputs.contains(&line(attempt, stream, text)), "{outputs:?}");
        }
    }
    assert!(outputs.contains(&(json!("next"), json!(1), json!("progress"), json!("adding"))), "{outputs:?}");
    assert_eq!(of_kind("emitted_delta")[0]["value"], json!({"key": "***", "size": 3}));
    assert!(seen.iter().all(|event| event["kind"] != "tool_output_delta" || event.get("cursor").is_none()));

    let failed: Vec<_> = of_kind("attempt_delta").into_iter().filter(|event| event.get("failure").is_some()).collect();
    let effects: Vec<_> = failed.iter().map(|event| (&event["effect"], &event["failure"]["type"])).collect();
    assert_eq!(effects[0], (&json!("1-model"), &json!("ModelInvocationError.RateLimit")));
    assert_eq!(effects[1].0, &json!("1-tool-0"));
    let answered = &of_kind("model_call_answered")[0];
    assert_eq!(
        (&answered["attempts"], &answered["earlier_failure"]["message"]),
        (&json!(2), &json!("too many requests"))
    );
    let output = of_kind("tool_output").into_iter().find(|event| event["name"] == "build").expect("an output");
    assert_eq!((&output["attempts"], &output["output"]), (&json!(2), &json!("built with ***")));
    Ok(())
}
