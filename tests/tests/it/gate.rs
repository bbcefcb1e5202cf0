//! The gate of a run: each case of the table of verdicts through real runs, on a dev server and without one.

mod edited;

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock, Mutex},
};

use futures::{FutureExt, StreamExt};
use rstest::rstest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use temporal_agents::{
    Agent, RunConfig, Runner, ToolDef,
    agent::ChildAgent,
    client::RunEvents,
    gate::{Gate, GateMode, JudgeDecision, Judgement, Rule, RuleDecision},
    inline::InlineRunner,
    run::{PausedRun, RunOutcome},
    wire::{AgentRequest, Decision, EventKind, Item, ModelCall, ModelFailureKind, PassedGate, RunEvent, RunState},
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{Reply, failure, structured, text, tool_call, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::examples::{Cache, Played, histories, play};

#[derive(Deserialize)]
struct Table {
    privileged: Vec<String>,
    policies: BTreeMap<String, Vec<Rule>>,
    cases: Vec<Case>,
}

#[derive(Clone, Deserialize)]
struct Case {
    policy: String,
    mode: GateMode,
    tool: String,
    arguments: Value,
    verdict: String,
    #[serde(default)]
    place: String,
    #[serde(default)]
    untrusted: bool,
}

/// The cases whose tools are in this library; those of servers are in the unit tests of the gate.
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table: Table =
        serde_json::from_str(include_str!("../../../sdk/core/src/gate/tests/cases.json")).expect("the table is JSON");
    table.cases.retain(|case| case.place.is_empty());
    table
});

/// The cases that share a gate are the calls of one response.
type Key = (String, String, bool);

fn key(case: &Case) -> Key {
    (case.policy.clone(), json!(case.mode).as_str().expect("a name").to_owned(), case.untrusted)
}

fn keys() -> Vec<Key> {
    let mut keys: Vec<Key> = TABLE.cases.iter().map(key).collect();
    keys.sort();
    keys.dedup();
    keys
}

fn cases(of: &Key) -> Vec<&'static Case> {
    TABLE.cases.iter().filter(|case| key(case) == *of).collect()
}

fn gate((policy, mode, untrusted): &Key) -> Gate {
    let mode: GateMode = serde_json::from_value(json!(mode)).expect("a mode");
    Gate::new(mode).rules(TABLE.policies[policy].clone()).privileged(TABLE.privileged.clone()).untrusted(*untrusted)
}

fn agent() -> Agent {
    let run = ToolDef::activity("run_command", "Runs a command.", |_ctx, _: Map<String, Value>| {
        async { Ok("ran".into()) }.boxed()
    });
    let here = ["read_file", "read_payroll", "write_file", "screenshot", "dev_7_screenshot"]
        .map(|name| ToolDef::inline(name, "Works.", |_ctx, _: Map<String, Value>| Ok("ran".into())).not_strict());
    here.into_iter().fold(Agent::new("clerk").model("gpt-5").tool(run.not_strict()), Agent::tool)
}

/// A model that calls the tools of the cases whose key it is given, and then ends.
fn model() -> FakeModel {
    FakeModel::function(|call: &ModelCall, _| -> Reply {
        if call.input.iter().any(|item| item.get("output").is_some()) {
            return text("done");
        }
        let keys = keys();
        let asked = json!(call.input).to_string();
        let at = keys.iter().position(|key| asked.contains(&name(key))).expect("the model is given a key");
        let cases = cases(&keys[at]);
        tool_calls(cases.iter().map(|case| (&*case.tool, case.arguments.clone())))
    })
}

fn name((policy, mode, untrusted): &Key) -> String {
    format!("play {policy} {mode} {untrusted}.")
}

/// What became of each call: `ask` if it waited, and otherwise `deny` or `run` by its output.
fn verdicts(asked: &[usize], outputs: &[String]) -> Vec<String> {
    let of_output = |output: &String| if output.starts_with("[blocked by command policy] ") { "deny" } else { "run" };
    let verdict = |(at, output)| if asked.contains(&at) { "ask" } else { of_output(output) };
    outputs.iter().enumerate().map(verdict).map(str::to_owned).collect()
}

/// The places of the calls that wait.
fn places(state: &RunState) -> Vec<usize> {
    let ids = state.interruptions().into_iter().map(|call| call.id);
    ids.map(|id| id.rsplit('_').next().and_then(|at| at.parse().ok()).expect("ids end with the place")).collect()
}

fn approved(mut state: RunState) -> RunState {
    for call in state.interruptions() {
        state.decide(&call.id, Decision::approve()).expect("it waits");
    }
    state
}

/// The outputs, in the order of the calls.
fn outputs(items: &[Item]) -> Vec<String> {
    let place = |item: &Item| item.call_id()?.rsplit('_').next()?.parse::<usize>().ok();
    let output = |item: &Item| Some((place(item)?, item.get("output")?.as_str()?.to_owned()));
    let mut outputs: Vec<_> = items.iter().filter_map(output).collect();
    outputs.sort_unstable();
    outputs.into_iter().map(|(_, output)| output).collect()
}

/// Plays the cases of a gate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    key: Key,
}

#[workflow]
#[derive(Default)]
pub(crate) struct Gated;

#[workflow_methods]
impl Gated {
    #[run(name = "gated")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, task: Task) -> WorkflowResult<Vec<String>> {
        let runner = Runner::new(ctx).gate(gate(&task.key));
        let (asked, result) = match runner.run(&agent(), name(&task.key)).until_paused().await? {
            RunOutcome::Finished(result) => (Vec::new(), result),
            RunOutcome::Paused(PausedRun { state, .. }) => {
                let asked = places(&state);
                (asked, runner.run(&agent(), approved(state)).await?)
            }
        };
        Ok(verdicts(&asked, &outputs(&result.to_input_list())))
    }
}

fn differing(key: &Key, found: &[String]) -> Vec<String> {
    let cases = cases(key);
    assert_eq!(cases.len(), found.len(), "{key:?}");
    let differs = |(case, found): (&&Case, &String)| {
        (case.verdict != *found).then(|| format!("{key:?} {} {}: {found}", case.tool, case.arguments))
    };
    cases.iter().zip(found).filter_map(differs).collect()
}

#[rstest]
#[tokio::test]
async fn each_case_has_its_verdict_in_a_workflow(#[values(Cache::On, Cache::Off)] cache: Cache) -> anyhow::Result<()> {
    let model = model();
    let env = cache.environment::<Gated>()?.model(&model).agents((agent,)).start().await?;
    let mut wrong = Vec::new();
    for key in keys() {
        let run = env.run(Gated::run, Task { key: key.clone() }).await?;
        histories::<Gated>(&env, &run.workflow_id).await?;
        let events: Vec<RunEvent> = RunEvents::new(env.client())
            .watch(&run.workflow_id)
            .map(|event| event.expect("facts are read"))
            .collect()
            .await;
        let found = run.output()?;
        wrong.extend(differing(&key, &found));
        assert_eq!(gated(&events), told(&found), "{key:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    env.finish().await?;
    Ok(())
}

/// How many calls were denied, and how many wait for a person, by the events.
fn gated(events: &[RunEvent]) -> (usize, usize) {
    let count = |denied: bool| {
        let is =
            |event: &&RunEvent| matches!(event.kind, EventKind::ToolGated { is_denied, .. } if is_denied == denied);
        events.iter().filter(is).count()
    };
    (count(true), count(false))
}

/// The same numbers, by the verdicts.
fn told(verdicts: &[String]) -> (usize, usize) {
    let count = |wanted: &str| verdicts.iter().filter(|verdict| *verdict == wanted).count();
    (count("deny"), count("ask"))
}

#[tokio::test]
async fn each_case_has_its_verdict_inline() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for key in keys() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let of_runner = Arc::clone(&seen);
        let runner = InlineRunner::new(model())
            .gate(gate(&key))
            .on_event(move |event: &RunEvent| of_runner.lock().expect("not poisoned").push(event.clone()));
        let (asked, result) = match runner.run(&agent(), name(&key)).until_paused().await? {
            RunOutcome::Finished(result) => (Vec::new(), result),
            RunOutcome::Paused(PausedRun { state, .. }) => {
                (places(&state), runner.run(&agent(), approved(state)).await?)
            }
        };
        let found = verdicts(&asked, &outputs(&result.to_input_list()));
        wrong.extend(differing(&key, &found));
        assert_eq!(gated(&seen.lock().expect("not poisoned")), told(&found), "{key:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[tokio::test]
async fn a_permanent_approval_holds_for_the_tool_but_for_no_other_command() -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls([("run_command", json!({"command": "make a"})), ("write_file", json!({"path": "a"}))]),
        tool_calls([("run_command", json!({"command": "make b"})), ("write_file", json!({"path": "b"}))]),
        text("done"),
    ]);
    let runner = InlineRunner::new(model).gate(Gate::new(GateMode::ApproveUnknown));
    let RunOutcome::Paused(PausedRun { mut state, .. }) = runner.run(&agent(), "Go.").until_paused().await? else {
        anyhow::bail!("it did not pause")
    };
    for call in state.interruptions() {
        state.decide_always(&call.id, Decision::approve())?;
    }
    let RunOutcome::Paused(PausedRun { state, .. }) = runner.run(&agent(), state).until_paused().await? else {
        anyhow::bail!("the other command was made")
    };
    let waiting: Vec<String> = state.interruptions().into_iter().map(|call| call.tool).collect();
    assert_eq!(waiting, ["run_command"]);
    assert_eq!(runner.run(&agent(), approved(state)).await?.final_output, "done");
    Ok(())
}

#[tokio::test]
async fn tools_of_an_agent_used_as_a_tool_pass_the_same_gate() -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_call("clerk", json!({"input": "Delete it."})),
        tool_call("run_command", json!({"command": "rm x"})),
        text("I may not."),
        text("done"),
    ]);
    let desk = Agent::new("desk").model("gpt-5").tool(agent().as_tool().description("Works."));
    let mut deny = Rule::new("no-rm", RuleDecision::Deny);
    "rm".clone_into(&mut deny.program);
    let runner = InlineRunner::new(model.clone()).gate(Gate::new(GateMode::Autonomous).rules([deny]));
    assert_eq!(runner.run(&desk, "Go.").await?.final_output, "done");
    assert_eq!(outputs(&model.calls()[2].input), [r#"[blocked by command policy] rule "no-rm""#]);
    Ok(())
}

fn desk() -> Agent {
    let child = ChildAgent::new();
    Agent::new("desk").model("gpt-5").tool(agent().as_tool().description("Works.").in_child_workflow(child))
}

/// Plays a request of a desk that has the clerk work in a child workflow, on a worker with a gate or without one.
async fn asked_to_list(
    model: &FakeModel,
    gate: Option<Gate>,
    untrusted: bool,
) -> anyhow::Result<Result<Value, String>> {
    let config = RunConfig::builder().maybe_gate(gate).build();
    let agents = AgentSet::new((desk(), agent())).config(config);
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(agents))?
        .agents((desk(), agent()))
        .model(model)
        .start()
        .await?;
    let mut request = AgentRequest::new("desk", "Go.");
    request.untrusted = untrusted;
    let finished = env.run(AgentWorkflow::run, request).await?;
    env.replay(&finished.history).await?;
    let output = finished.output().map_err(|error| format!("{error:#}"));
    env.finish().await?;
    Ok(output)
}

fn listing() -> FakeModel {
    FakeModel::script([
        tool_call("clerk", json!({"input": "List it."})),
        tool_call("run_command", json!({"command": "ls"})),
        text("listed"),
        text("done"),
    ])
}

#[tokio::test]
async fn an_untrusted_request_has_no_privileged_tools_nor_have_its_children() -> anyhow::Result<()> {
    let gate = || Some(Gate::new(GateMode::Autonomous).privileged(["run_command"]));
    let model = listing();
    assert_eq!(asked_to_list(&model, gate(), true).await?, Ok(json!("done")));
    let denied = r#"[blocked by command policy] "run_command" is not available in a run with untrusted content"#;
    assert_eq!(outputs(&model.calls()[2].input), [denied]);

    let model = listing();
    assert_eq!(asked_to_list(&model, gate(), false).await?, Ok(json!("done")));
    assert_eq!(outputs(&model.calls()[2].input), ["ran"]);
    Ok(())
}

#[tokio::test]
async fn an_untrusted_request_is_refused_where_there_is_no_gate() -> anyhow::Result<()> {
    let model = FakeModel::function(|_, _| text("done"));
    let error = asked_to_list(&model, None, true).await?.expect_err("there is no gate");
    assert!(error.contains("the request has untrusted content, and this workflow has no gate"), "{error}");
    assert_eq!(model.calls().len(), 0);
    Ok(())
}

#[workflow]
#[derive(Default)]
pub(crate) struct GatedDesk;

#[workflow_methods]
impl GatedDesk {
    /// Lets the clerk work in a child workflow whose worker has no gate.
    #[run(name = "gated_desk")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, rules: Vec<Rule>) -> WorkflowResult<String> {
        let runner = Runner::new(ctx).gate(Gate::new(GateMode::Autonomous).rules(rules));
        Ok(runner.run(&desk(), "Go.").await?.final_output)
    }
}

#[rstest]
#[tokio::test]
async fn the_callers_gate_holds_in_a_child_workflow(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_call("clerk", json!({"input": "Delete it."})),
        tool_calls([("run_command", json!({"command": "rm x"})), ("run_command", json!({"command": "ls"}))]),
        text("listed"),
        text("done"),
    ]);
    let env = cache
        .environment::<GatedDesk>()?
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((agent,))))?
        .model(&model)
        .agents((desk, agent))
        .start()
        .await?;
    let mut deny = Rule::new("no-rm", RuleDecision::Deny);
    "rm".clone_into(&mut deny.program);
    let run = env.run(GatedDesk::run, vec![deny]).await?;
    histories::<GatedDesk>(&env, &run.workflow_id).await?;
    assert_eq!(run.output()?, "done");
    assert_eq!(outputs(&model.calls()[2].input), [r#"[blocked by command policy] rule "no-rm""#, "ran"]);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_request_of_a_client_may_not_set_gates() -> anyhow::Result<()> {
    let model = FakeModel::function(|_, _| text("done"));
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((agent,))))?
        .agents((agent,))
        .model(&model)
        .start()
        .await?;
    let mut request = AgentRequest::new("clerk", "Go.");
    request.gates = vec![PassedGate::default()];
    let finished = env.run(AgentWorkflow::run, request).await?;
    let error = format!("{:#}", finished.output().expect_err("no workflow has called it"));
    assert!(error.contains("only a parent workflow may set them"), "{error}");
    assert_eq!(model.calls().len(), 0);
    env.finish().await?;
    Ok(())
}

fn judge() -> Agent<Judgement> {
    Agent::new("judge").model("judge").instructions("Judge it.").output::<Judgement>()
}

fn judging() -> Gate {
    let mut allow = Rule::new("ls", RuleDecision::Allow);
    "ls".clone_into(&mut allow.program);
    Gate::new(GateMode::Judge).rules([allow]).judge(&judge())
}

/// The commands of a response, and what becomes of each.
const JUDGED: [(&str, &str); 7] = [
    ("ls", "ran"),
    ("make", "ran"),
    ("curl x", "[blocked by judge] nothing is sent"),
    ("git push -f", "asked"),
    ("odd", "asked"),
    ("fails", "asked"),
    ("unsure", "asked"),
];

/// A model that makes the commands, and the judge's model.
fn judged_model() -> FakeModel {
    FakeModel::function(|call: &ModelCall, _| -> Reply {
        let asked = json!(call.input).to_string();
        if call.model != "judge" {
            let ended = call.input.iter().any(|item| item.get("output").is_some());
            let commands = JUDGED.iter().map(|(command, _)| ("run_command", json!({"command": command})));
            return if ended { text("done") } else { tool_calls(commands) };
        }
        let judgement = |decision, reason: &str| structured(&Judgement { decision, reason: reason.to_owned() });
        match () {
            () if asked.contains("make") => judgement(JudgeDecision::Allow, "it builds"),
            () if asked.contains("curl") => judgement(JudgeDecision::Deny, "nothing is sent"),
            () if asked.contains("unsure") => judgement(JudgeDecision::Ask, "who knows"),
            () if asked.contains("fails") => failure(ModelFailureKind::BadRequest, "no"),
            () => text("maybe"),
        }
    })
}

/// Checks what was asked, what the calls gave, and that each call was judged once.
fn check_judged(model: &FakeModel, asked: &[usize], outputs: &[String]) {
    let wanted: Vec<usize> = (0..JUDGED.len()).filter(|at| JUDGED[*at].1 == "asked").collect();
    assert_eq!(asked, wanted);
    let wanted = JUDGED.map(|(_, output)| if output == "asked" { "ran" } else { output });
    assert_eq!(outputs, wanted);
    let judged = model.calls().into_iter().filter(|call| call.model == "judge").count();
    assert_eq!(judged, 5, "the judge decides about what no rule speaks of, once");
}

#[workflow]
#[derive(Default)]
pub(crate) struct Judged;

#[workflow_methods]
impl Judged {
    #[run(name = "judged")]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        input: String,
    ) -> WorkflowResult<(Vec<usize>, Vec<String>)> {
        let runner = Runner::new(ctx).gate(judging());
        let RunOutcome::Paused(PausedRun { state, .. }) = runner.run(&agent(), input).until_paused().await? else {
            return Ok((Vec::new(), Vec::new()));
        };
        let asked = places(&state);
        let result = runner.run(&agent(), approved(state)).await?;
        Ok((asked, outputs(&result.to_input_list())))
    }
}

/// Plays the run whose history is golden.
pub(crate) async fn recorded(cache: Cache) -> anyhow::Result<Played<(Vec<usize>, Vec<String>)>> {
    play::<Judged, _>(cache, (agent,), judged_model(), Judged::run, "Go.".to_owned()).await
}

#[rstest]
#[tokio::test]
async fn a_judge_decides_about_what_no_rule_speaks_of_in_a_workflow(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = judged_model();
    let env = cache.environment::<Judged>()?.model(&model).agents((agent,)).start().await?;
    let run = env.run(Judged::run, "Go.".to_owned()).await?;
    histories::<Judged>(&env, &run.workflow_id).await?;
    let events: Vec<RunEvent> = RunEvents::new(env.client())
        .watch(&run.workflow_id)
        .map(|event| event.expect("facts are read"))
        .collect()
        .await;
    assert_eq!(gated(&events), (1, 4));
    let (asked, outputs) = run.output()?;
    check_judged(&model, &asked, &outputs);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_judge_decides_about_what_no_rule_speaks_of_inline() -> anyhow::Result<()> {
    let model = judged_model();
    let runner = InlineRunner::new(model.clone()).gate(judging());
    let RunOutcome::Paused(PausedRun { state, .. }) = runner.run(&agent(), "Go.").until_paused().await? else {
        anyhow::bail!("it did not pause")
    };
    let asked = places(&state);
    let result = runner.run(&agent(), approved(state)).await?;
    check_judged(&model, &asked, &outputs(&result.to_input_list()));
    Ok(())
}
