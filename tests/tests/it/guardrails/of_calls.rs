//! Guardrails of calls that are services or agents: of one tool, and of all tools of a run.

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, RunConfig, Tool, ToolError,
    inline::InlineRunner,
    tool,
    tool::{ToolGuardrailOutput, ToolInputGuardrail, ToolOutputGuardrail},
};
use temporal_agents_testing::{
    FakeModel, FinishedRun,
    fake_model::{text, tool_call, tool_calls},
};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;

use super::support::{failure, run, workflow_error};

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
    Ok(match arguments.contains("rm ") {
        true => ToolGuardrailOutput::reject_content(format!("{tool} may not remove files.")),
        false => ToolGuardrailOutput::allow().info("checked"),
    })
}

/// Looks for secrets.
#[tool(start_to_close = "5s")]
async fn scan(agent: String, output: String) -> ToolGuardrailOutput {
    match output.contains("sk-") {
        true => ToolGuardrailOutput::reject_content(format!("A call of {agent} printed a key.")),
        false => ToolGuardrailOutput::allow(),
    }
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
        "of_calls tool" => {
            let guarded = shell.input_guardrail(ToolInputGuardrail::by_tool(policy));
            agent.tool(guarded.output_guardrail(ToolOutputGuardrail::by_tool(scan)).input_guardrail(by_judge()))
        }
        _ => agent.tool(shell).tool(add),
    }
}

pub(super) fn config(case: &str) -> RunConfig {
    if case != "of_calls run" {
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
fn told(model: &FakeModel) -> Vec<String> {
    let calls = model.calls();
    let last = calls.iter().rev().find(|call| call.agent == "clerk").expect("the clerk was asked");
    last.input.iter().filter_map(|item| item.get("output")?.as_str().map(str::to_owned)).collect()
}

/// The ids and types of the activities in the order in which they were scheduled, without the id of the run.
fn scheduled<T>(run: &FinishedRun<T>) -> Vec<String> {
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
async fn services_and_agents_check_the_calls_of(
    #[values("of_calls tool", "of_calls run")] case: &'static str,
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let of_workflow = model(&calls(), "adds");
    let run = run(case, "Work.", of_workflow.clone(), cached).await?;
    assert_eq!(told(&of_workflow), OUTPUTS);
    let expected = [
        "input-guardrail-1-0-0-1 agents.guardrail.policy",
        "input-guardrail-1-1-0-1 agents.guardrail.policy",
        "input-guardrail-1-2-0-1 agents.guardrail.policy",
        "1-tool-1 agents.tool.shell",
        "1-tool-2 agents.tool.shell",
        "output-guardrail-1-1-0 agents.guardrail.scan",
        "output-guardrail-1-2-0 agents.guardrail.scan",
    ];
    assert_eq!(scheduled(&run), expected);
    let found = run.output()?.1["tool_input"].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = found.iter().filter_map(|result| result["guardrail"].as_str()).collect();
    assert_eq!(names, ["policy", "policy", "serious", "policy", "serious"]);

    let inline = model(&calls(), "adds");
    InlineRunner::with_config(inline.clone(), config(case)).run(&agent(case), "Work.").await?;
    assert_eq!(told(&inline), OUTPUTS);
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_judge_ends_the_run_before_its_call(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("of_calls run", "Work.", model(&[("shell", json!({"command": "ls"}))], "no"), cached).await?;
    assert_eq!(scheduled(&run), ["input-guardrail-1-0-0-1 agents.guardrail.policy"]);
    let tripped = "input guardrail \"serious\" of tool \"shell\" (agent \"clerk\") ended the run";
    assert_eq!(failure(&run), workflow_error(tripped));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn no_call_is_made_while_its_service_is_down(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("of_calls run", "Work.", model(&[("shell", json!({"command": "down"}))], "yes"), cached).await?;
    assert_eq!(scheduled(&run), ["input-guardrail-1-0-0-1 agents.guardrail.policy"]);
    let failed = "input guardrail \"policy\" of tool \"shell\" of agent \"clerk\" failed: the policy service is down";
    assert_eq!(failure(&run), workflow_error(failed));
    Ok(())
}
