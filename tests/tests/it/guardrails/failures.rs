//! Guardrails that fail: the run fails with their name, and no workflow task does.

use std::sync::Arc;

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, ToolContext, ToolDef, ToolError,
    agent::{GuardrailOutput, InputGuardrail, OutputGuardrail},
    guardrail, tool,
    tool::ToolActivityOptions,
    wire::ToolOutput,
};
use temporal_agents_core::{
    agent::Check,
    tool::{ActivityBody, ToolBinding},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};

use super::support::{Guarded, MODEL, failed_tasks, failure, run, worker, workflow_error};

#[guardrail(input)]
fn fails(_input: &str) -> Result<GuardrailOutput, String> {
    Err("out of words".to_owned())
}

#[guardrail(input)]
fn panics(_input: &str) -> GuardrailOutput {
    panic!("out of nerve")
}

#[guardrail(output)]
fn panics_late(_output: &str) -> GuardrailOutput {
    panic!("out of nerve")
}

#[guardrail(input, activity, blocking, schedule_to_close = "2s")]
async fn fails_elsewhere(_input: &str) -> Result<GuardrailOutput, ToolError> {
    Err(ToolError::failed("no such service"))
}

#[guardrail(input, activity, blocking)]
async fn panics_elsewhere(_input: &str) -> GuardrailOutput {
    panic!("out of memory")
}

#[guardrail(output, activity)]
async fn recovers(_output: &str, call: &ToolContext) -> Result<GuardrailOutput, ToolError> {
    if call.info().attempt < 3 { Err(ToolError::transient("busy")) } else { Ok(GuardrailOutput::pass()) }
}

/// One made by hand, that writes where it may only read.
fn meddles() -> OutputGuardrail {
    let body: ActivityBody = Arc::new(|call, _| {
        let set = call.run_mut().set("mood", "merry").map_err(ToolError::from);
        let passed = serde_json::to_string(&GuardrailOutput::pass()).map_err(ToolError::from);
        Box::pin(std::future::ready(set.and(passed).map(ToolOutput::Text)))
    });
    let binding = ToolBinding::Activity { body, options: ToolActivityOptions::default() };
    let tool = ToolDef::new("meddles", "", json!({"type": "object"}), binding).not_strict().for_guardrail();
    OutputGuardrail::with_check("meddles", Check::Activity(Box::new(tool)))
}

#[guardrail(output, activity)]
async fn tells_the_turn(_output: &str, call: &ToolContext) -> GuardrailOutput {
    GuardrailOutput::pass().info(call.info().turn)
}

/// Waits for no time.
#[tool(inline)]
fn wait() -> String {
    "waited".to_owned()
}

pub(super) fn agent(case: &str) -> Agent {
    let agent = Agent::new("desk").model("gpt-5");
    match case {
        "failures pure" => agent.input_guardrail(fails),
        "failures panic" => agent.input_guardrail(panics),
        "failures panic late" => agent.output_guardrail(panics_late),
        "failures elsewhere" => agent.input_guardrail(fails_elsewhere),
        "failures panic elsewhere" => agent.input_guardrail(panics_elsewhere),
        "failures meddles" => agent.output_guardrail(meddles()),
        "failures turn" => agent.tool(wait).output_guardrail(tells_the_turn),
        "failures recovers" => agent.output_guardrail(recovers),
        "failures unregistered" => agent.input_guardrail(InputGuardrail::from(fails_elsewhere)),
        other => panic!("no such case: {other}"),
    }
}

#[rstest]
#[case("failures pure", "input guardrail \"fails\" of agent \"desk\" failed: out of words", 0)]
#[case("failures panic", "input guardrail \"panics\" of agent \"desk\" panicked: out of nerve", 0)]
#[case("failures elsewhere", "input guardrail \"fails_elsewhere\" of agent \"desk\" failed: no such service", 1)]
#[case(
    "failures panic elsewhere",
    "input guardrail \"panics_elsewhere\" of agent \"desk\" failed: it panicked: out of memory",
    3
)]
#[tokio::test]
async fn the_run_fails_by_the_name_of_the_guardrail(
    #[case] case: &'static str,
    #[case] words: &str,
    #[case] attempts: i32,
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let run = run(case, "Hello.", FakeModel::script([]), cached).await?;
    assert_eq!(failure(&run), workflow_error(words));
    let made: Vec<_> = run.activities().into_iter().map(|activity| activity.attempts).collect();
    assert_eq!(made, if attempts == 0 { vec![] } else { vec![attempts] });
    Ok(())
}

#[rstest]
#[tokio::test]
async fn an_output_guardrail_that_panics_fails_the_run(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("failures panic late", "Hello.", FakeModel::script([text("hello")]), cached).await?;
    let words = "output guardrail \"panics_late\" of agent \"desk\" panicked: out of nerve";
    assert_eq!(failure(&run), workflow_error(words));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn one_that_changes_the_run_context_fails_the_run(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("failures meddles", "Hello.", FakeModel::script([text("hello")]), cached).await?;
    let words = "output guardrail \"meddles\" of agent \"desk\" failed: the guardrail changes the run context, which \
                 it may only read";
    assert_eq!(failure(&run), workflow_error(words));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn one_in_an_activity_knows_the_turn(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("wait", json!({})), text("hello")]);
    let run = run("failures turn", "Hello.", model, cached).await?;
    assert_eq!(run.output()?.1["output"][0]["output_info"], 2);
    Ok(())
}

#[rstest]
#[tokio::test]
async fn what_may_pass_is_tried_again(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("failures recovers", "Hello.", FakeModel::script([text("hello")]), cached).await?;
    let made: Vec<_> =
        run.activities().into_iter().map(|activity| (activity.activity_type, activity.attempts)).collect();
    assert_eq!(made, [(MODEL.to_owned(), 1), ("agents.guardrail.recovers".to_owned(), 3)]);
    assert_eq!(run.output()?.0, "hello");
    Ok(())
}

#[rstest]
#[tokio::test]
async fn one_that_no_worker_has_does_not_hang_the_run(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    // The worker knows the agent of another case.
    let env = worker("failures pure", FakeModel::script([]), cached)?.0.start().await?;
    let input = ("failures unregistered".to_owned(), "Hello.".to_owned());
    let run = env.run(Guarded::run, input).await?;
    let words = "tool \"fails_elsewhere\" of agent \"desk\" is not registered on task queue \"agents\"; \
                 add the agent to AgentsPlugin::agents on that queue's worker (tried for 2 s)";
    assert_eq!(failure(&run), workflow_error(words));
    assert_eq!(failed_tasks(&run), [""; 0]);
    env.finish().await?;
    Ok(())
}
