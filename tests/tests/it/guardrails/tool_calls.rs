//! Guardrails of calls that are services or agents: of one tool, and of all tools of a run.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, RunConfig, RunError, Tool, ToolError,
    agent::{GuardrailOutput, InputGuardrail},
    inline::InlineRunner,
    tool,
    tool::{ToolGuardrailOutput, ToolInputGuardrail, ToolOutputGuardrail},
};
use temporal_agents_testing::{
    FakeModel, FinishedRun,
    fake_model::{text, tool_call, tool_calls},
};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;

use tokio::time::timeout;

use super::support::{failure, run, workflow_error};
use crate::PATIENCE;

/// Runs a command.
#[tool(start_to_close = "20s")]
async fn shell(command: String) -> String {
    if command == "env" { "KEY=sk-1".to_owned() } else { format!("ran {command}") }
}

/// Adds.
#[tool(inline)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Asks the policy service.
#[tool(start_to_close = "5s", attempts = 2)]
async fn policy(tool: String, arguments: String) -> Result<ToolGuardrailOutput, ToolError> {
    if arguments.contains("down") {
        return Err(ToolError::transient("the policy service is down"));
    }
    if arguments.contains("rm ") {
        return Ok(ToolGuardrailOutput::reject_content(format!("{tool} may not remove files.")));
    }
    Ok(ToolGuardrailOutput::allow().info("checked"))
}

/// Looks for secrets.
#[tool(start_to_close = "5s")]
async fn scan(agent: String, output: String) -> ToolGuardrailOutput {
    if output.contains("sk-") {
        return ToolGuardrailOutput::reject_content(format!("A call of {agent} printed a key."));
    }
    ToolGuardrailOutput::allow()
}

fn is_serious(answer: &Value) -> ToolGuardrailOutput {
    if answer == "no" { ToolGuardrailOutput::raise_exception() } else { ToolGuardrailOutput::allow() }
}

/// The judge has a tool itself.
fn by_judge() -> ToolInputGuardrail {
    ToolInputGuardrail::by_agent("serious", Agent::new("judge").model("gpt-5-nano").tool(add), is_serious)
}

pub(super) fn agent(case: &str) -> Agent {
    let agent = Agent::new("clerk").model("gpt-5");
    match case {
        "tool_calls tool" => {
            let guarded = shell.input_guardrail(ToolInputGuardrail::by_tool(policy));
            agent.tool(guarded.output_guardrail(ToolOutputGuardrail::by_tool(scan)).input_guardrail(by_judge()))
        }
        _ => agent.tool(shell).tool(add),
    }
}

pub(super) fn config(case: &str) -> RunConfig {
    if case != "tool_calls run" {
        return RunConfig::default();
    }
    let inputs = [ToolInputGuardrail::by_tool(policy), by_judge()];
    RunConfig::builder()
        .tool_input_guardrails(inputs)
        .tool_output_guardrails([ToolOutputGuardrail::by_tool(scan)])
        .build()
}

/// The clerk calls these tools, and then is done; the judge answers this, after a call of its own.
fn model(calls: &[(&'static str, Value)], verdict: &'static str) -> FakeModel {
    let calls = calls.to_vec();
    FakeModel::function(move |call, _| {
        let has_output = call.input.iter().any(|item| item.get("output").is_some());
        match &*call.agent {
            "judge" if !has_output && verdict == "adds" => tool_call("add", json!({"a": 1, "b": 1})),
            "judge" => text(verdict),
            _ if has_output => text("done"),
            _ => tool_calls(calls.clone()),
        }
    })
}

/// The outputs that the clerk's model received.
fn received_outputs(model: &FakeModel) -> Vec<String> {
    let calls = model.calls();
    let last = calls.iter().rev().find(|call| call.agent == "clerk").expect("the clerk was asked");
    last.input.iter().filter_map(|item| item.get("output")?.as_str().map(str::to_owned)).collect()
}

/// The ids and types of the activities in the order in which they were scheduled, without the id of the run.
fn scheduled_activities<T>(run: &FinishedRun<T>) -> Vec<String> {
    let events = run.history.events.iter().filter_map(|event| match &event.attributes {
        Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => Some(scheduled),
        _ => None,
    });
    let line = |id: &str, kind: &str| format!("{} {kind}", id.split_once('-').map_or(id, |(_, rest)| rest));
    let lines =
        events.map(|event| line(&event.activity_id, event.activity_type.as_ref().map_or("", |kind| &*kind.name)));
    lines.filter(|line| !line.ends_with("agents.call_model")).collect()
}

const OUTPUTS: [&str; 3] = ["shell may not remove files.", "A call of clerk printed a key.", "ran ls"];

fn calls() -> [(&'static str, Value); 3] {
    ["rm -r .", "env", "ls"].map(|command| ("shell", json!({"command": command})))
}

#[rstest]
#[tokio::test]
async fn services_and_agents_check_tool_calls(
    #[values("tool_calls tool", "tool_calls run")] case: &'static str,
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let of_workflow = model(&calls(), "adds");
    let run = run(case, "Work.", of_workflow.clone(), cached).await?;
    assert_eq!(received_outputs(&of_workflow), OUTPUTS);
    let expected = [
        "input-guardrail-1-0-0-1 agents.guardrail.policy",
        "input-guardrail-1-1-0-1 agents.guardrail.policy",
        "input-guardrail-1-2-0-1 agents.guardrail.policy",
        "1-tool-1 agents.tool.shell",
        "1-tool-2 agents.tool.shell",
        "output-guardrail-1-1-0 agents.guardrail.scan",
        "output-guardrail-1-2-0 agents.guardrail.scan",
    ];
    assert_eq!(scheduled_activities(&run), expected);
    let found = run.output()?.1["tool_input"].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = found.iter().filter_map(|result| result["guardrail"].as_str()).collect();
    assert_eq!(names, ["policy", "policy", "serious", "policy", "serious"]);

    let inline = model(&calls(), "adds");
    InlineRunner::with_config(inline.clone(), config(case)).run(&agent(case), "Work.").await?;
    assert_eq!(received_outputs(&inline), OUTPUTS);
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_judge_ends_the_run_before_its_call(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("tool_calls run", "Work.", model(&[("shell", json!({"command": "ls"}))], "no"), cached).await?;
    assert_eq!(scheduled_activities(&run), ["input-guardrail-1-0-0-1 agents.guardrail.policy"]);
    let tripped = "input guardrail \"serious\" of tool \"shell\" (agent \"clerk\") ended the run";
    assert_eq!(failure(&run), workflow_error(tripped));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn no_call_is_made_while_its_service_is_down(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("tool_calls run", "Work.", model(&[("shell", json!({"command": "down"}))], "yes"), cached).await?;
    assert_eq!(scheduled_activities(&run), ["input-guardrail-1-0-0-1 agents.guardrail.policy"]);
    let failed = "input guardrail \"policy\" of tool \"shell\" of agent \"clerk\" failed: the policy service is down";
    assert_eq!(failure(&run), workflow_error(failed));
    Ok(())
}

/// Is down.
#[tool(attempts = 1)]
async fn scan_that_is_down(output: String) -> Result<ToolGuardrailOutput, ToolError> {
    let _ = output;
    Err(ToolError::transient("the scanner is down"))
}

#[tokio::test]
async fn call_is_kept_without_its_unchecked_output() -> anyhow::Result<()> {
    let config = RunConfig::builder().tool_output_guardrails([ToolOutputGuardrail::by_tool(scan_that_is_down)]).build();
    let runner = InlineRunner::with_config(model(&[("shell", json!({"command": "env"}))], "yes"), config);
    let failure = runner.run(&agent("tool_calls"), "Work.").await.expect_err("the scanner is down");
    let failed =
        "output guardrail \"scan_that_is_down\" of tool \"shell\" of agent \"clerk\" failed: the scanner is down";
    assert_eq!(failure.to_string(), failed);
    let items = failure.state.expect("the run has begun").items;
    let outputs: Vec<&Value> = items.iter().filter_map(|item| item.raw.get("output")).collect();
    assert_eq!(outputs, [&json!("The output was withheld: its guardrail did not answer.")]);
    Ok(())
}

/// Takes what no guardrail of tools is given.
#[tool]
async fn curious(args: String) -> ToolGuardrailOutput {
    let _ = args;
    ToolGuardrailOutput::allow()
}

#[tokio::test]
async fn argument_that_no_guardrail_has_fails_the_run() -> anyhow::Result<()> {
    let agent = Agent::new("clerk").model("gpt-5").tool(shell.input_guardrail(ToolInputGuardrail::by_tool(curious)));
    let runner = InlineRunner::new(model(&[("shell", json!({"command": "ls"}))], "yes"));
    let failure = runner.run(&agent, "Work.").await.expect_err("it takes `args`");
    let failed = "input guardrail \"curious\" of tool \"shell\" of agent \"clerk\" failed: it takes an argument \
                  \"args\"; a guardrail of tools may take tool, arguments, agent, call_id";
    assert_eq!(failure.to_string(), failed);
    Ok(())
}

/// Does not answer before the run is over.
#[tool]
async fn slow_policy(arguments: String) -> ToolGuardrailOutput {
    let _ = arguments;
    std::future::pending().await
}

#[tokio::test]
async fn tripped_input_ends_a_run_that_asks_a_service() -> anyhow::Result<()> {
    let no_work = InputGuardrail::by_agent("no_work", Agent::new("judge").model("gpt-5-nano"), |answer| {
        GuardrailOutput::trip_if(answer == "work")
    });
    let agent = Agent::new("clerk").model("gpt-5").input_guardrail(no_work);
    let agent = agent.tool(shell.input_guardrail(ToolInputGuardrail::by_tool(slow_policy)));
    let model = FakeModel::function(|call, _| match &*call.agent {
        "judge" => text("work").delayed(Duration::from_millis(200)),
        _ => tool_call("shell", json!({"command": "ls"})),
    });
    let failure = timeout(PATIENCE, InlineRunner::new(model).run(&agent, "Work.")).await?.expect_err("it trips");
    assert!(matches!(failure.error, RunError::InputGuardrailTripped { .. }), "{failure}");
    Ok(())
}
