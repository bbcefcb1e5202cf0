//! A run with tools, an agent that is a tool, a handoff and an approval, as metrics.

use std::{sync::Arc, time::Duration};

use rstest::rstest;
use serde::Deserialize;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, RunConfig, ToolDef, ToolError,
    gate::{Gate, GateMode, Rule, RuleDecision},
    metrics::Metrics,
    tool,
    tool::NeedsApproval,
    wire::{AgentDecision, AgentRequest, ModelCall, ModelFailureKind},
    worker::InProcessDeltas,
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{Reply, failure, handoff, text, tool_call, tool_calls},
};
use tokio::time::sleep;

use super::reader::{Reader, check_conventions};

/// Looks a price up.
#[tool]
async fn price(product: String) -> Result<String, ToolError> {
    match &*product {
        "lamp" => Ok("12".to_owned()),
        _ => Err(ToolError::failed("there is none")),
    }
}

/// Adds.
#[tool(inline)]
fn add(first: i64, second: i64) -> i64 {
    first + second
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Nothing {}

pub(super) fn desk() -> Agent {
    let translator = Agent::new("translator").model("gpt-5-mini").instructions("You translate.");
    let translate = translator.as_tool().name("translate").description("Translates.");
    let pay = ToolDef::inline("pay", "Pays.", |_ctx, Nothing {}| Ok("paid".into())).approval(NeedsApproval::Always);
    let clerk = Agent::new("clerk").model("gpt-5").tool(price).tool(add).tool(translate).tool(pay);
    Agent::new("desk").model("gpt-5").handoff(clerk)
}

pub(super) fn model() -> FakeModel {
    FakeModel::function(|call: &ModelCall, index| -> Reply {
        let outputs = call.input.iter().filter(|item| item.get("output").is_some()).count();
        match (&*call.agent, outputs) {
            ("desk", _) if index == 0 => failure(ModelFailureKind::RateLimit, "busy").retry_after(Duration::ZERO),
            ("desk", _) => handoff("clerk"),
            ("translator", _) => text("une lampe"),
            ("clerk", 1) => tool_calls([
                ("price", json!({"product": "lamp"})),
                ("price", json!({"product": "globe"})),
                ("add", json!({"first": 1, "second": 2})),
                ("translate", json!({"input": "a lamp"})),
            ]),
            ("clerk", 5) => tool_call("pay", json!({})),
            _ => text("done"),
        }
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Worker {
    Cached,
    WithoutCache,
    /// Another one takes its place while the run waits.
    Killed,
}

#[rstest]
#[tokio::test]
async fn each_attempt_agent_question_and_run_is_counted_once(
    #[values(Worker::Cached, Worker::WithoutCache, Worker::Killed)] worker: Worker,
) -> anyhow::Result<()> {
    let reader = Arc::new(Reader::default());
    let metrics = Metrics::new(Arc::<Reader>::clone(&reader)).with_earlier_names();
    let set = AgentSet::new((desk,));
    let counted = metrics.clone();
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .agent(desk)
        .model(&model())
        .plugin(move |plugin: AgentsPlugin| plugin.metrics(&counted).deltas(InProcessDeltas::new(|_| {})));
    let builder = if worker == Worker::WithoutCache { builder.without_workflow_cache() } else { builder };
    let mut env = builder.start().await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("desk", "A lamp.")).await?;
    let handle = env.agent_handle(&started);
    let asked = handle.wait_for_interruptions().await?;
    if worker != Worker::WithoutCache {
        let open = reader.lines(|name| name == "temporal_agents.questions.open");
        assert_eq!(open, "temporal_agents.questions.open {} 1");
    }
    if worker == Worker::Killed {
        env.kill_worker().await?;
        env.start_worker()?;
    }
    // The wait is longer than the precision of a workflow task.
    sleep(Duration::from_millis(50)).await;
    handle.approve(&*asked[0].id).await?;
    let run = env.await_run(&started).await?;
    let history = run.history.clone();
    assert_eq!(run.output()?, json!("done"));
    check_conventions(&reader);
    let lines = reader.lines(|name| !name.ends_with(".oldest"));
    insta::allow_duplicates! {
        insta::assert_snapshot!(lines);
    }
    let waits: Vec<f64> = reader
        .all()
        .into_iter()
        .filter(|((name, _), _)| name == "temporal_agents.questions.wait")
        .flat_map(|(_, values)| values.all)
        .collect();
    assert!(waits.len() == 1 && waits[0] >= 0.05, "{waits:?}");
    // A replay counts nothing.
    env.replay(&history).await?;
    assert_eq!(reader.lines(|name| !name.ends_with(".oldest")), lines);
    env.finish().await?;
    Ok(())
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Command {
    command: String,
}

#[tokio::test]
async fn each_verdict_about_a_call_is_counted() -> anyhow::Result<()> {
    let reader = Arc::new(Reader::default());
    let metrics = Metrics::new(Arc::<Reader>::clone(&reader));
    let coder = || {
        let run = ToolDef::inline("run", "Runs.", |_ctx, Command { command }| Ok(command.into()));
        Agent::new("coder").model("gpt-5").tool(run)
    };
    let mut deny = Rule::new("no-rm", RuleDecision::Deny);
    deny.program.push_str("rm");
    let gate = Gate::new(GateMode::ApproveUnknown).rules([deny]);
    let set = AgentSet::new((coder,)).config(RunConfig::builder().gate(gate).build());
    let model = FakeModel::script([tool_call("run", json!({"command": "make"})), text("done")]);
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .agent(coder)
        .model(&model)
        .plugin(move |plugin: AgentsPlugin| plugin.metrics(&metrics))
        .start()
        .await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("coder", "Make it.")).await?;
    let handle = env.agent_handle(&started);
    let asked = handle.wait_for_interruptions().await?;
    // The person writes what the gate denies.
    let arguments = serde_json::from_value(json!({"command": "rm -r ."}))?;
    handle.decide(AgentDecision::approve_with(&*asked[0].id, arguments)).await?;
    assert_eq!(env.await_run(&started).await?.output()?, json!("done"));
    let verdicts = reader.lines(|name| name == "temporal_agents.gate.verdicts");
    assert!(verdicts.contains("asked") && verdicts.contains("denied"), "{verdicts}");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_failed_run_has_the_type_of_its_failure() -> anyhow::Result<()> {
    let reader = Arc::new(Reader::default());
    let metrics = Metrics::new(Arc::<Reader>::clone(&reader));
    let set = AgentSet::new((desk,)).config(RunConfig::builder().max_turns(2).build());
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .agent(desk)
        .model(&model())
        .plugin(move |plugin: AgentsPlugin| plugin.metrics(&metrics))
        .start()
        .await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("desk", "A lamp.")).await?;
    assert!(env.await_run(&started).await?.output().is_err());
    check_conventions(&reader);
    let lines = reader.lines(|name| ["temporal_agents.runs", "gen_ai.invoke_workflow.duration"].contains(&name));
    insta::assert_snapshot!(lines);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn verdicts_of_the_gate_and_runs_that_continue_as_new_are_counted_once(
    #[values(true, false)] is_cached: bool,
) -> anyhow::Result<()> {
    let reader = Arc::new(Reader::default());
    let metrics = Metrics::new(Arc::<Reader>::clone(&reader));
    let rules: Vec<Rule> = serde_json::from_value(json!([
        {"id": "no prices", "decision": "deny", "tools": ["price"]},
        {"id": "the rest", "decision": "allow", "tools": ["*"]},
    ]))?;
    let gate = Gate::new(GateMode::Autonomous).rules(rules);
    let clerk = || Agent::new("clerk").model("gpt-5").tool(price).tool(add);
    let set = AgentSet::new((clerk,))
        .config(RunConfig::builder().gate(gate).build())
        .continue_when(ContinueOptions::builder().new_events(0).build());
    let model = FakeModel::function(|call: &ModelCall, _| -> Reply {
        match call.turn {
            1 => tool_calls([("price", json!({"product": "lamp"})), ("add", json!({"first": 1, "second": 2}))]),
            _ => text("done"),
        }
    });
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .agent(clerk)
        .model(&model)
        .plugin(move |plugin: AgentsPlugin| plugin.metrics(&metrics));
    let builder = if is_cached { builder } else { builder.without_workflow_cache() };
    let env = builder.start().await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("clerk", "A lamp.")).await?;
    assert_eq!(env.await_run(&started).await?.output()?, json!("done"));
    check_conventions(&reader);
    let shown = ["temporal_agents.gate.verdicts", "temporal_agents.runs", "gen_ai.invoke_agent.inference_calls"];
    insta::allow_duplicates! {
        insta::assert_snapshot!(reader.lines(|name| shown.contains(&name)));
    }
    env.finish().await?;
    Ok(())
}
