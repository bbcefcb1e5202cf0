//! What a failed call comes to: the very words of a run, and never an error of the caller.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, RunError, Tool, ToolDef, ToolError,
    inline::InlineRunner,
    tool,
    tool::{
        OnToolError, ToolActivityOptions, ToolFailureKind, ToolGuardrailOutput, ToolInputGuardrail, ToolOutputGuardrail,
    },
    worker::{DispatchError, DispatchResult, ToolRegistry},
};
use temporal_agents_core::tool::{ActivityBody, ToolBinding};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};

const TOOL_FAILED: &str = "An error occurred while running the tool. Please try again.";
const OUTCOME_UNKNOWN: &str =
    "The tool call was interrupted. It is not known whether it took effect. Do not repeat it.";

/// Fails as it is told.
#[tool(attempts = 3)]
async fn fail(how: String) -> Result<String, ToolError> {
    match how.as_str() {
        "tell" => Err(ToolError::tell_model("there is no such order")),
        "hide" => Err(ToolError::failed("the password is wrong")),
        "transient" => Err(ToolError::transient("the database is starting")),
        "panic" => panic!("the tool panicked"),
        "parse" => Ok(how.parse::<u32>()?.to_string()),
        _ => Ok(how),
    }
}

/// Fails as it is told, in the workflow.
#[tool(inline)]
fn fail_inline(how: String) -> Result<String, ToolError> {
    match how.as_str() {
        "tell" => Err(ToolError::tell_model("there is no such order")),
        "panic" => panic!("the tool panicked"),
        _ => Err(ToolError::failed("the password is wrong")),
    }
}

/// Takes longer than it may.
#[tool(start_to_close = "10ms", attempts = 2)]
async fn slow() -> String {
    std::future::pending().await
}

/// Takes longer than it may, and must not be called twice.
#[tool(start_to_close = "10ms", idempotent = false)]
async fn slow_once() -> String {
    std::future::pending().await
}

fn all() -> Vec<ToolDef> {
    vec![fail.definition(), fail_inline.definition(), slow.definition(), slow_once.definition()]
}

pub(super) fn registry() -> ToolRegistry {
    ToolRegistry::default().register_all(all()).expect("four tools of four names").first_pause(Duration::from_millis(1))
}

/// What a run tells the model of the same call.
async fn told_in_a_run(tool: &str, arguments: &Value) -> Value {
    let model = FakeModel::script([tool_call(tool, arguments.clone()), text("done")]);
    let agent: Agent = Agent::new("clerk").model("gpt-5").tools(registry().tools());
    let runner = InlineRunner::new(model.clone()).first_pause(Duration::from_millis(1));
    runner.run(&agent, "Go.").await.expect("no failure of a tool ends the run");
    let item = model.calls()[1].input.last().cloned().expect("the model is told something");
    item.get("output").cloned().expect("of the call")
}

#[rstest]
#[case::told("fail", json!({"how": "tell"}), ToolFailureKind::Told, "there is no such order", "there is no such order")]
#[case::hidden("fail", json!({"how": "hide"}), ToolFailureKind::Failed, "the password is wrong", TOOL_FAILED)]
#[case::any_error("fail", json!({"how": "parse"}), ToolFailureKind::Failed, "invalid digit found in string", TOOL_FAILED)]
#[case::transient("fail", json!({"how": "transient"}), ToolFailureKind::Failed, "the database is starting", TOOL_FAILED)]
#[case::panic("fail", json!({"how": "panic"}), ToolFailureKind::Panicked, "it panicked: the tool panicked", TOOL_FAILED)]
#[case::inline_told("fail_inline", json!({"how": "tell"}), ToolFailureKind::Told, "there is no such order", "there is no such order")]
#[case::inline_hidden("fail_inline", json!({"how": ""}), ToolFailureKind::Failed, "the password is wrong", TOOL_FAILED)]
#[case::inline_panic("fail_inline", json!({"how": "panic"}), ToolFailureKind::Panicked, "it panicked: the tool panicked", TOOL_FAILED)]
#[case::late("slow", json!({}), ToolFailureKind::TimedOut, "Tool 'slow' timed out after 0.01 seconds.", "Tool 'slow' timed out after 0.01 seconds.")]
#[case::late_once("slow_once", json!({}), ToolFailureKind::OutcomeUnknown, OUTCOME_UNKNOWN, OUTCOME_UNKNOWN)]
#[case::no_json("fail", json!("{not json"), ToolFailureKind::Arguments, "Invalid JSON input for tool fail", TOOL_FAILED)]
#[case::other_arguments("fail", json!({"how": 3}), ToolFailureKind::Arguments, "Invalid JSON input for tool fail: how: fails type, allowed: \"string\"", "Invalid JSON input for tool fail: how: fails type, allowed: \"string\"")]
#[tokio::test]
async fn a_failed_tool_is_told_as_in_a_run_and_is_no_error_of_the_caller(
    #[case] tool: &str,
    #[case] arguments: Value,
    #[case] kind: ToolFailureKind,
    #[case] message: &str,
    #[case] told: &str,
) -> anyhow::Result<()> {
    let written = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    let failed = registry().dispatch(tool, written).await?;
    let failure = failed.failure.as_ref().expect("it has failed");
    assert_eq!((failure.kind, failure.to_string().as_str(), failed.text().as_str()), (kind, message, told));
    assert!(failed.is_error());
    assert_eq!(told_in_a_run(tool, &arguments).await, json!(told));
    Ok(())
}

#[rstest]
#[case::as_often_as_it_may(4, 4)]
#[case::once(1, 1)]
#[tokio::test]
async fn a_transient_failure_is_tried_again(#[case] attempts: u32, #[case] expected: u32) -> anyhow::Result<()> {
    let bodies = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&bodies);
    let body: ActivityBody = Arc::new(move |_ctx, _arguments| {
        let body = counted.fetch_add(1, Ordering::SeqCst) + 1;
        Box::pin(async move { if body < 4 { Err(ToolError::transient("not yet")) } else { Ok("at last".into()) } })
    });
    let options = ToolActivityOptions::builder().attempts(attempts).build();
    let flaky = fail.definition().named("flaky").with_binding(ToolBinding::Activity { body, options });
    let registry = ToolRegistry::default().register(flaky)?.first_pause(Duration::from_millis(1));
    let ended = registry.dispatch("flaky", r#"{"how": ""}"#).await?;
    assert_eq!(ended.is_error(), attempts < 4);
    assert_eq!(bodies.load(Ordering::SeqCst), expected);
    Ok(())
}

#[tokio::test]
async fn the_tools_own_words_for_failures_are_told() -> anyhow::Result<()> {
    let worded = fail.on_error(OnToolError::tell(|_call, failure| format!("sorry: {}", failure.reason())));
    let registry = ToolRegistry::default().register(worded)?;
    assert_eq!(registry.dispatch("fail", r#"{"how": "hide"}"#).await?.text(), "sorry: the password is wrong");
    Ok(())
}

#[tokio::test]
async fn what_a_tool_hides_is_in_no_failure_either() -> anyhow::Result<()> {
    let discreet = fail.redact(|text| text.replace("password", "[hidden]"));
    let failed = ToolRegistry::default().register(discreet)?.dispatch("fail", r#"{"how": "hide"}"#).await?;
    assert_eq!(failed.failure.expect("it fails").message, "the [hidden] is wrong");
    Ok(())
}

#[tokio::test]
async fn only_what_ends_a_run_is_an_error_of_the_caller() {
    let registry = ToolRegistry::default().register(fail.on_error(OnToolError::FailRun)).unwrap();
    let error = registry.dispatch("fail", r#"{"how": "hide"}"#).await.unwrap_err();
    assert!(matches!(&error, DispatchError::RunEnded(RunError::ToolFailed { tool, .. }) if tool == "fail"), "{error}");

    let stop = ToolInputGuardrail::new("stop", |_| ToolGuardrailOutput::raise_exception());
    let registry = ToolRegistry::default().register(fail.input_guardrail(stop)).unwrap();
    let error = registry.dispatch("fail", r#"{"how": ""}"#).await.unwrap_err();
    assert!(matches!(&error, DispatchError::RunEnded(RunError::ToolInputGuardrailTripped { .. })), "{error}");
}

#[tokio::test]
async fn guardrails_have_their_say_before_and_after() -> anyhow::Result<()> {
    let before = ToolInputGuardrail::new("before", |ctx| {
        if ctx.arguments.contains("secret") {
            return ToolGuardrailOutput::reject_content("ask for something else");
        }
        ToolGuardrailOutput::allow()
    });
    let after = ToolOutputGuardrail::new("after", |_, output| {
        if output.to_text().contains("card") {
            return ToolGuardrailOutput::reject_content("a card number was left out");
        }
        ToolGuardrailOutput::allow()
    });
    let registry = ToolRegistry::default().register(fail.input_guardrail(before).with_output_guardrail(after))?;
    let told = async |how: &str| {
        let DispatchResult { output, failure, .. } = registry.dispatch("fail", json!({"how": how}).to_string()).await?;
        anyhow::Ok((output.to_text(), failure))
    };
    assert_eq!(told("the secret").await?, ("ask for something else".to_owned(), None));
    assert_eq!(told("the card").await?, ("a card number was left out".to_owned(), None));
    assert_eq!(told("the rest").await?, ("the rest".to_owned(), None));
    Ok(())
}
