//! Decisions for all later calls that hold beyond their run, in a real database.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use rstest::rstest;
use serde::Deserialize;
use serde_json::json;
use temporal_agents::{
    Agent, Resources, RunConfig, ToolDef,
    agent::ChildAgent,
    gate::{Gate, GateMode, Rule, RuleDecision},
    inline::InlineRunner,
    run::{PausedRun, RunOutcome},
    store::{DecisionStore, SqlStore, StoredDecision},
    tool::{BoxError, HostedTool, NeedsApproval, RequireApproval},
    wire::{AgentDecision, AgentRequest, Decision, Item, KeptDecision, ModelCall, RunState, RunStatus},
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{Reply, item, text, tool_calls},
};
use tokio::sync::Semaphore;

use crate::{
    databases::{Kind, TestDatabase},
    examples::executions_of,
};

#[derive(Deserialize, schemars::JsonSchema)]
struct Command {
    command: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Payment {
    amount: u32,
}

fn coder() -> Agent {
    let run = ToolDef::inline("run", "Runs.", |_ctx, Command { command }| Ok(format!("ran {command}").into()));
    let pay = ToolDef::inline("pay", "Pays.", |_ctx, Payment { amount }| Ok(format!("paid {amount}").into()));
    let boss = Agent::new("boss").model("gpt-5");
    let pay = pay.approval(NeedsApproval::Always);
    let helper = Agent::new("helper").model("gpt-5").tool(pay.clone());
    boss.tool(run).tool(pay).tool(helper.as_tool().name("help").description("Helps."))
}

/// The boss makes the calls that its input names, and ends with their outputs; the helper pays 7.
fn model() -> FakeModel {
    FakeModel::function(|call: &ModelCall, _| -> Reply {
        let outputs: Vec<String> = call.input.iter().filter_map(output).collect();
        if !outputs.is_empty() {
            return text(outputs.join("; "));
        }
        if call.agent == "helper" {
            return tool_calls([("pay", json!({"amount": 7}))]);
        }
        let asked = call.input.iter().find_map(Item::text).unwrap_or_default();
        tool_calls(asked.split(", ").map(|asked| match asked.split_once(' ') {
            Some(("pay", amount)) => ("pay", json!({"amount": amount.parse::<u32>().expect("an amount")})),
            Some(("run", command)) => ("run", json!({"command": command})),
            _ => ("help", json!({"input": "please"})),
        }))
    })
}

fn output(item: &Item) -> Option<String> {
    Some(item.get("output")?.as_str()?.to_owned())
}

fn gate(mode: GateMode) -> Gate {
    let mut deny = Rule::new("no-rm", RuleDecision::Deny);
    deny.program.push_str("rm");
    Gate::new(mode).rules([deny])
}

fn config() -> RunConfig {
    RunConfig::builder().gate(gate(GateMode::ApproveUnknown)).keep_decisions(true).build()
}

async fn store(database: &TestDatabase) -> anyhow::Result<SqlStore> {
    Ok(SqlStore::connect(&database.url).await?)
}

fn asked(input: &str, user: &str) -> AgentRequest {
    let mut request = AgentRequest::new("boss", input);
    request.user = Some(user.to_owned());
    request
}

#[rstest]
#[tokio::test]
async fn a_later_run_of_the_user_is_not_asked_again(
    #[values(true, false)] cached: bool,
    #[values(true, false)] continues: bool,
) -> anyhow::Result<()> {
    let database = Kind::Sqlite.create().await?;
    let mut set = AgentSet::new((coder,)).config(config());
    if continues {
        set = set.continue_when(ContinueOptions::builder().new_events(0).build());
    }
    let kept = store(&database).await?;
    let resources = kept.clone();
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .agent(coder)
        .resources(|all| all.decision_store(resources))
        .model(&model());
    let builder = if cached { builder } else { builder.without_workflow_cache() };
    let env = builder.start().await?;
    let first = env.start_workflow(AgentWorkflow::run, asked("run make, pay 1, run ls, help", "ada")).await?;
    let handle = env.agent_handle(&first).by("ada");
    let questions = handle.wait_for_interruptions().await?;
    assert_eq!(questions.len(), 4, "{questions:?}");
    handle.decide(AgentDecision::approve(&questions[0].id).always()).await?;
    handle.decide(AgentDecision::reject_with(&questions[1].id, "Never pay.").always()).await?;
    handle.approve(&*questions[2].id).await?;
    handle.decide(AgentDecision::approve(&questions[3].id).always()).await?;
    // The agent that is a tool asks as well.
    let nested = handle.wait_for_interruptions().await?;
    handle.decide(AgentDecision::approve(&nested[0].id).always()).await?;
    let run = env.await_run(&first).await?;
    let mut workflows = vec![run.workflow_id.clone()];
    assert_eq!(run.output()?, json!("ran make; Never pay.; ran ls; paid 7"));

    // The same command, the tool that is rejected, and the tool of the nested agent.
    let second = env.start_workflow(AgentWorkflow::run, asked("run make, pay 2, help", "ada")).await?;
    let run = env.await_run(&second).await?;
    workflows.push(run.workflow_id.clone());
    assert_eq!(run.output()?, json!("ran make; Never pay.; paid 7"));

    // Another command, a command that the gate denies, another user.
    let third = env.start_workflow(AgentWorkflow::run, asked("run ls, run make", "ada")).await?;
    let questions = env.agent_handle(&third).wait_for_interruptions().await?;
    assert_eq!(questions.len(), 1, "{questions:?}");
    assert_eq!(questions[0].arguments, r#"{"command":"ls"}"#);
    env.agent_handle(&third).approve(&*questions[0].id).await?;
    workflows.push(env.await_run(&third).await?.workflow_id);
    let of_bob = env.start_workflow(AgentWorkflow::run, asked("run make", "bob")).await?;
    let questions = env.agent_handle(&of_bob).wait_for_interruptions().await?;
    env.agent_handle(&of_bob).approve(&*questions[0].id).await?;
    env.await_run(&of_bob).await?;

    let mut stored = done(kept.decisions("ada", 10).await)?;
    stored
        .sort_by(|one, other| one.decision.agent.cmp(&other.decision.agent).then(one.arguments.cmp(&other.arguments)));
    let about: Vec<_> = stored
        .iter()
        .map(|kept| (&*kept.decision.agent, &*kept.arguments, kept.decision.arguments.is_some()))
        .collect();
    let expected = [
        ("boss", r#"{"amount":1}"#, false),
        ("boss", r#"{"command":"make"}"#, true),
        ("boss", r#"{"input":"please"}"#, false),
        ("helper", r#"{"amount":7}"#, false),
    ];
    assert_eq!(about, expected);
    assert!(stored.iter().all(|kept| kept.decision.decision.by.as_deref() == Some("ada")), "{stored:?}");
    for workflow in workflows {
        for history in executions_of(env.client(), &workflow).await? {
            env.replay(&history).await?;
        }
    }

    // A decision that is forgotten is asked about again.
    assert!(done(kept.forget("ada", &stored[1].decision).await)?);
    assert!(!done(kept.forget("ada", &stored[1].decision).await)?);
    let fourth = env.start_workflow(AgentWorkflow::run, asked("run make", "ada")).await?;
    let questions = env.agent_handle(&fourth).wait_for_interruptions().await?;
    env.agent_handle(&fourth).reject(&*questions[0].id, "No.").await?;
    env.await_run(&fourth).await?;
    env.finish().await?;
    Ok(())
}

/// A store that keeps a decision once it is permitted to.
struct Held(SqlStore, Arc<Semaphore>);

impl DecisionStore for Held {
    fn decisions<'a>(&'a self, user: &'a str, limit: u32) -> BoxFuture<'a, Result<Vec<StoredDecision>, BoxError>> {
        self.0.decisions(user, limit)
    }

    fn keep<'a>(
        &'a self,
        user: &'a str,
        decision: &'a KeptDecision,
        arguments: &'a str,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        async move {
            let _permit = self.1.acquire().await?;
            self.0.keep(user, decision, arguments).await
        }
        .boxed()
    }

    fn forget<'a>(&'a self, user: &'a str, decision: &'a KeptDecision) -> BoxFuture<'a, Result<bool, BoxError>> {
        self.0.forget(user, decision)
    }
}

#[tokio::test]
async fn a_decided_call_waits_no_more_while_the_run_is_busy_with_another_decision() -> anyhow::Result<()> {
    let database = Kind::Sqlite.create().await?;
    let permits = Arc::new(Semaphore::new(0));
    let resources = Held(store(&database).await?, Arc::clone(&permits));
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((coder,)).config(config())))?
        .agent(coder)
        .resources(|all| all.decision_store(resources))
        .model(&model())
        .start()
        .await?;
    let started = env.start_workflow(AgentWorkflow::run, asked("run make, help", "ada")).await?;
    let handle = env.agent_handle(&started);
    let questions = handle.wait_for_interruptions().await?;
    handle.decide(AgentDecision::approve(&questions[0].id).always()).await?;
    handle.approve(&*questions[1].id).await?;
    let state = handle.state().await?;
    assert_eq!((state.status, state.interruptions), (RunStatus::Running, vec![]));
    permits.add_permits(1);
    let nested = handle.wait_for_interruptions().await?;
    assert_eq!(nested[0].tool, "pay");
    handle.approve(&*nested[0].id).await?;
    assert_eq!(env.await_run(&started).await?.output()?, json!("ran make; paid 7"));
    env.finish().await?;
    Ok(())
}

#[rstest]
#[case::of_letters("ada ")]
#[case::that_json_escapes("\"\\")]
#[tokio::test]
async fn a_long_name_of_a_user_does_not_stop_the_workflow(#[case] part: &str) -> anyhow::Result<()> {
    let database = Kind::Sqlite.create().await?;
    let resources = store(&database).await?;
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((coder,)).config(config())))?
        .agent(coder)
        .resources(|all| all.decision_store(resources))
        .model(&model())
        .start()
        .await?;
    let started = env.start_workflow(AgentWorkflow::run, asked("run make", &part.repeat(1_000))).await?;
    let handle = env.agent_handle(&started);
    let questions = handle.wait_for_interruptions().await?;
    handle.decide(AgentDecision::approve(&questions[0].id).always()).await?;
    assert_eq!(env.await_run(&started).await?.output()?, json!("ran make"));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn an_agent_in_a_child_workflow_has_the_user_of_the_run() -> anyhow::Result<()> {
    let database = Kind::Sqlite.create().await?;
    let resources = store(&database).await?;
    let helper = || Agent::new("helper").model("gpt-5");
    let boss = move || {
        let help = helper().as_tool().name("help").description("Helps.");
        Agent::new("boss").model("gpt-5").tool(help.in_child_workflow(ChildAgent::new()))
    };
    let set = AgentSet::new((boss, helper)).config(RunConfig::builder().keep_decisions(true).build());
    let answers = [tool_calls([("help", json!({"input": "please"}))]), text("Helped."), text("Done.")];
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .agents((boss, helper))
        .resources(|all| all.decision_store(resources))
        .model(&FakeModel::script(answers))
        .start()
        .await?;
    let started = env.start_workflow(AgentWorkflow::run, asked("help", "ada")).await?;
    // Without a user, the run of the helper fails and answers nothing.
    assert_eq!(env.await_run(&started).await?.output()?, json!("Done."));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn an_open_run_does_not_begin_to_keep_decisions() -> anyhow::Result<()> {
    let environment = |keeps: bool| {
        let mut config = config();
        config.keep_decisions = keeps;
        let set = AgentSet::new((coder,)).config(config);
        let builder =
            AgentEnvironment::builder().workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?;
        anyhow::Ok(builder.agent(coder).model(&model()))
    };
    let before = environment(false)?.start().await?;
    let started = before.start_workflow(AgentWorkflow::run, asked("run make", "ada")).await?;
    let handle = before.agent_handle(&started);
    let questions = handle.wait_for_interruptions().await?;
    handle.approve(&*questions[0].id).await?;
    let run = before.await_run(&started).await?;
    let after = environment(true)?.start().await?;
    for history in executions_of(before.client(), &run.workflow_id).await? {
        after.replay(&history).await?;
    }
    before.finish().await?;
    after.finish().await?;
    Ok(())
}

/// Decides about all calls of the first run for good, and returns the number of questions of a second one, or its output.
async fn second_run(
    first: Gate,
    second: Gate,
    keeps: bool,
    input: &str,
    decision: Decision,
) -> anyhow::Result<Result<String, usize>> {
    let database = Kind::Sqlite.create().await?;
    let resources = Resources::new().model_provider(model()).decision_store(store(&database).await?);
    let runner = |gate| InlineRunner::new(resources.clone()).gate(gate).user("ada");
    let first = runner(first).keep_decisions(true);
    let RunOutcome::Paused(PausedRun { mut state, .. }) = first.run(&coder(), input).until_paused().await? else {
        panic!("it waits")
    };
    decide_all(&mut state, &decision);
    first.run(&coder(), state).await?;
    Ok(match runner(second).keep_decisions(keeps).run(&coder(), input).until_paused().await? {
        RunOutcome::Paused(paused) => Err(paused.state.interruptions().len()),
        RunOutcome::Finished(result) => Ok(result.final_output),
    })
}

fn done<T>(result: Result<T, BoxError>) -> anyhow::Result<T> {
    result.map_err(anyhow::Error::from_boxed)
}

fn decide_all(state: &mut RunState, decision: &Decision) {
    for call in state.interruptions() {
        state.decide_always(&call.id, decision.clone()).expect("it waits");
    }
}

#[rstest]
#[case::holds(GateMode::ApproveUnknown, false, true, Decision::approve(), Ok("ran make; paid 1"))]
#[case::of_a_rejection_holds(GateMode::ApproveUnknown, false, true, Decision::reject_with("No."), Ok("No.; No."))]
#[case::does_not_hold_where_each_is_approved(GateMode::ApproveEach, false, true, Decision::approve(), Err(2))]
#[case::to_reject_holds_there(GateMode::ApproveEach, false, true, Decision::reject_with("No."), Ok("No.; No."))]
#[case::does_not_hold_for_untrusted_content(GateMode::ApproveUnknown, true, true, Decision::approve(), Err(2))]
#[case::is_not_read_without_the_setting(GateMode::ApproveUnknown, false, false, Decision::approve(), Err(2))]
#[tokio::test]
async fn a_kept_decision_inline(
    #[case] mode: GateMode,
    #[case] untrusted: bool,
    #[case] keeps: bool,
    #[case] decision: Decision,
    #[case] expected: Result<&str, usize>,
) -> anyhow::Result<()> {
    let (first, second) = (gate(GateMode::ApproveUnknown), gate(mode).untrusted(untrusted));
    let found = second_run(first, second, keeps, "run make, pay 1", decision).await?;
    assert_eq!(found.as_deref().map_err(|asked| *asked), expected);
    Ok(())
}

#[tokio::test]
async fn an_approval_does_not_overrule_the_gate() -> anyhow::Result<()> {
    let open = Gate::new(GateMode::ApproveUnknown);
    let found = second_run(open, gate(GateMode::ApproveUnknown), true, "run rm -rf /", Decision::approve()).await?;
    assert!(found.is_ok_and(|output| output.starts_with("[blocked by command policy]")));
    Ok(())
}

#[tokio::test]
async fn a_run_without_a_user_or_a_store_fails_with_the_remedy() -> anyhow::Result<()> {
    let runner = InlineRunner::new(model()).keep_decisions(true);
    let error = runner.run(&coder(), "run make").await.expect_err("it has no user").to_string();
    assert!(error.contains("set the user of the run"), "{error}");
    let error = runner.user("ada").run(&coder(), "run make").await.expect_err("it has no store").to_string();
    assert!(error.contains("Resources::decision_store"), "{error}");
    Ok(())
}

#[rstest]
#[case::sqlite(Kind::Sqlite)]
#[case::postgres(Kind::Postgres)]
#[tokio::test]
async fn a_later_decision_replaces_an_earlier_one_about_the_same_calls(#[case] kind: Kind) -> anyhow::Result<()> {
    let database = kind.create().await?;
    let kept = store(&database).await?;
    let user = "a\0".repeat(2_000);
    let on = |decision| KeptDecision::on_tool("boss", "pay\0", "", decision);
    let narrow = on(Decision::approve()).with_arguments(&json!({"b": 1, "a": [2]}));
    done(kept.keep(&user, &on(Decision::approve()), "{}").await)?;
    done(kept.keep(&user, &narrow, "a\0b").await)?;
    done(kept.keep(&user, &on(Decision::reject_with("no")), "{}").await)?;
    let of_user = done(kept.decisions(&user, 10).await)?;
    assert_eq!(of_user.len(), 2, "{of_user:?}");
    assert!(of_user.iter().any(|kept| kept.decision == on(Decision::reject_with("no"))), "{of_user:?}");
    let same = on(Decision::approve()).with_arguments(&json!({"a": [2], "b": 1}));
    assert!(of_user.iter().any(|kept| kept.decision.is_about_the_same(&same) && kept.arguments == "a\0b"));
    assert_eq!(done(kept.decisions("another", 10).await)?, []);
    assert_eq!(done(kept.decisions(&user, 1).await)?.len(), 1);
    Ok(())
}

/// The boss and its helper have the same hosted MCP server.
fn admin() -> Agent {
    let crm = || HostedTool::mcp("crm", "https://crm.test").require_approval(RequireApproval::Always);
    let helper = Agent::new("helper").model("gpt-5").hosted(crm());
    Agent::new("boss").model("gpt-5").hosted(crm()).tool(helper.as_tool().name("help").description("Helps."))
}

/// Requests the calls that the input names, of the hosted server or of the helper, and ends with what it is told.
/// With `is_text`, the arguments are JSON in a string, as OpenAI sends them.
fn hosted_model(is_text: bool) -> FakeModel {
    FakeModel::function(move |call: &ModelCall, number| -> Reply {
        let told = |item: &Item| match item.kind() {
            "mcp_approval_response" => Some(json!([item.get("approve"), item.get("reason")]).to_string()),
            _ => output(item),
        };
        let told: Vec<String> = call.input.iter().filter_map(told).collect();
        if !told.is_empty() {
            return text(told.join("; "));
        }
        let asked = call.input.iter().find_map(Item::text).unwrap_or_default();
        let request = |(index, asked): (usize, &str)| {
            let (name, argument) = asked.split_once(' ').expect("a tool and its argument");
            let member = if name == "run" { "command" } else { "id" };
            let arguments = json!({member: argument});
            let arguments = if is_text { json!(arguments.to_string()) } else { arguments };
            item(json!({
                "type": "mcp_approval_request", "id": format!("mcpr_{number}_{index}"), "server_label": "crm",
                "name": name, "arguments": arguments,
            }))
        };
        match asked.strip_prefix("help: ") {
            Some(asked) => tool_calls([("help", json!({"input": asked}))]),
            None => asked.split(", ").enumerate().map(request).reduce(Reply::and).expect("a request"),
        }
    })
}

/// A person's decision on the call with this id.
type Decide<'d> = &'d dyn Fn(&str) -> AgentDecision;

#[rstest]
#[tokio::test]
async fn a_decision_about_a_hosted_server_holds_for_one_tool_of_one_agent(
    #[values(true, false)] cached: bool,
    #[values(true, false)] is_text: bool,
) -> anyhow::Result<()> {
    let database = Kind::Sqlite.create().await?;
    let kept = store(&database).await?;
    let resources = kept.clone();
    let config = RunConfig::builder().keep_decisions(true).build();
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((admin,)).config(config)))?
        .agent(admin)
        .resources(|all| all.decision_store(resources))
        .model(&hosted_model(is_text));
    let env = if cached { builder } else { builder.without_workflow_cache() }.start().await?;
    let mut workflows = Vec::new();
    // What each run asks, what a person decides for good, and what the model is told.
    let approve = |id: &str| AgentDecision::approve(id).always();
    let reject = |id: &str| AgentDecision::reject_with(id, "Never.").always();
    let runs: [(&str, &str, &[Decide<'_>], &str); 6] = [
        ("ada", "delete 1, read 2", &[&approve, &reject], r#"[true,null]; [false,"Never."]"#),
        ("ada", "read 3, delete 4", &[], r#"[false,"Never."]; [true,null]"#),
        // Another tool, the same tool of another agent, another user.
        ("ada", "delete 5, run ls", &[&approve], "[true,null]; [true,null]"),
        ("ada", "help: delete 6", &[&reject], r#"[false,"Never."]"#),
        ("bob", "delete 7", &[&reject], r#"[false,"Never."]"#),
        // A command holds for the same arguments.
        ("ada", "run ls, run make", &[&reject], r#"[true,null]; [false,"Never."]"#),
    ];
    for (user, input, decisions, expected) in runs {
        let started = env.start_workflow(AgentWorkflow::run, asked(input, user)).await?;
        let handle = env.agent_handle(&started).by(user);
        if !decisions.is_empty() {
            let questions = handle.wait_for_interruptions().await?;
            assert_eq!(questions.len(), decisions.len(), "{input}: {questions:?}");
            for (question, decide) in questions.iter().zip(decisions) {
                handle.decide(decide(&question.id)).await?;
            }
        }
        let run = env.await_run(&started).await?;
        workflows.push(run.workflow_id.clone());
        let told = run.output()?;
        let mut parts: Vec<&str> = told.as_str().expect("a text").split("; ").collect();
        let mut wanted: Vec<&str> = expected.split("; ").collect();
        // People's answers are told before those of kept decisions.
        parts.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(parts, wanted, "{input}");
    }
    let mut about: Vec<_> = done(kept.decisions("ada", 10).await)?.into_iter().map(|stored| stored.decision).collect();
    about.sort_by(|one, other| {
        (&one.agent, &one.tool, one.decision.approve).cmp(&(&other.agent, &other.tool, other.decision.approve))
    });
    let about: Vec<_> = about
        .iter()
        .map(|kept| (&*kept.agent, &*kept.tool, &*kept.place, kept.arguments.is_some(), kept.decision.approve))
        .collect();
    let expected = [
        ("boss", "delete", "hosted:crm", false, true),
        ("boss", "read", "hosted:crm", false, false),
        ("boss", "run", "hosted:crm", true, false),
        ("boss", "run", "hosted:crm", true, true),
        ("helper", "delete", "hosted:crm", false, false),
    ];
    assert_eq!(about, expected);
    for workflow in workflows {
        for history in executions_of(env.client(), &workflow).await? {
            env.replay(&history).await?;
        }
    }
    env.finish().await?;
    Ok(())
}
