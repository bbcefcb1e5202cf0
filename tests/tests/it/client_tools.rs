//! Tools that their callers run: the run waits for the output.

mod chat;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Tool, ToolError,
    agent::{HookContext, HookResult, HookedCall, RunHooks},
    client::AgentHandle,
    inline::InlineRunner,
    run::RunOutcome,
    tool,
    tool::{OnToolError, ToolDef, ToolGuardrailOutput, ToolOutputGuardrail},
    wire::{
        AgentInterruption, AgentRequest, AgentState, Decision, DecisionAnswer, InterruptionKind, RunStatus, ToolOutput,
    },
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call, tool_calls},
};

use crate::{
    agent_handlers::support::{last_outputs, state_when, state_when_waiting},
    continuing::ready_made::histories,
    held_model::HeldModel,
    support::read,
};

fn no_secrets() -> ToolOutputGuardrail {
    ToolOutputGuardrail::new("no_secrets", |_ctx, output| match output {
        ToolOutput::Text(text) if text.contains("password") => ToolGuardrailOutput::reject_content("(withheld)"),
        _ => ToolGuardrailOutput::allow(),
    })
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]})
}

/// Lets the user pick a file; gives its path.
#[tool(client)]
fn pick_file(title: String) -> String;

/// Sends a letter.
#[tool]
async fn send(title: String) -> Result<String, ToolError> {
    Ok(format!("sent {title}"))
}

fn editor() -> Agent {
    let print = ToolDef::client("print", "Prints a page at the user's.", schema());
    let clerk = Agent::new("clerk").model("gpt-5").tool(pick_file.output_guardrail(no_secrets()));
    Agent::new("editor")
        .model("gpt-5")
        .tool(pick_file.output_guardrail(no_secrets()))
        .tool(print.needs_approval())
        .tool(send.needs_approval().output_guardrail(no_secrets()))
        .tool(clerk.as_tool().description("Files papers."))
}

fn title(title: &str) -> Value {
    json!({"title": title})
}

fn asks(id: &str, tool: &str, kind: InterruptionKind) -> AgentInterruption {
    let arguments = title("Minutes").to_string();
    read(json!({"id": id, "agent": "editor", "tool": tool, "arguments": arguments, "kind": kind}))
}

/// The editor in a workflow that continues as new whenever it may.
async fn environment(model: &HeldModel, cached: bool) -> anyhow::Result<AgentEnvironment> {
    let set = || AgentSet::new((editor,)).continue_when(ContinueOptions::builder().new_events(0).build());
    let mut builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set()))?
        .model_provider(model.clone())
        .agents((editor,));
    if !cached {
        builder = builder.without_workflow_cache();
    }
    Ok(builder.start().await?)
}

fn free(model: &FakeModel) -> HeldModel {
    HeldModel::of_agent(model, "nobody")
}

#[rstest]
#[tokio::test]
async fn a_call_waits_for_its_output_through_a_new_execution_and_another_worker(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("pick_file", title("Minutes")), text("done")]);
    let mut env = environment(&free(&model), cached).await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("editor", "File the minutes.")).await?;
    let id = started.info().workflow_id.clone();
    let agent = AgentHandle::new(env.client(), &*id);
    let asked = asks("call_0_0", "pick_file", InterruptionKind::Output);
    assert_eq!(state_when_waiting(&agent).await?.interruptions, [asked]);
    let reason = "tool \"pick_file\" runs at the caller: supply its output (agent_supply_output), or reject the call";
    assert_eq!(agent.approve("call_0_0").await?, DecisionAnswer::Refused { reason: reason.to_owned() });

    env.stop_worker().await?;
    env.start_worker()?;
    assert_eq!(agent.supply_output("call_0_0", json!({"path": "a.txt"})).await?, DecisionAnswer::Accepted);
    assert_eq!(env.await_run(&started).await?.output()?, json!("done"));
    assert_eq!(last_outputs(&model), [json!("{\"path\":\"a.txt\"}")]);
    assert_eq!(histories(&env, &id).await?.len(), 2);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn one_that_needs_approval_is_approved_first(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let model =
        FakeModel::script([tool_calls([("print", title("Minutes")), ("print", title("Minutes "))]), text("done")]);
    let env = environment(&free(&model), cached).await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("editor", "Print.")).await?;
    let id = started.info().workflow_id.clone();
    let agent = AgentHandle::new(env.client(), &*id);
    let approvals = state_when_waiting(&agent).await?.interruptions;
    assert_eq!(approvals[0], asks("call_0_0", "print", InterruptionKind::Approval));
    assert_eq!(agent.reject("call_0_1", "once is enough").await?, DecisionAnswer::Accepted);
    assert_eq!(agent.approve("call_0_0").await?, DecisionAnswer::Accepted);
    let asked = [asks("call_0_0#2", "print", InterruptionKind::Output)];
    state_when(&agent, "waiting for the page", |state: &AgentState| state.interruptions == asked).await?;
    assert_eq!(agent.supply_output("call_0_0#2", "printed").await?, DecisionAnswer::Accepted);
    assert_eq!(env.await_run(&started).await?.output()?, json!("done"));
    assert_eq!(last_outputs(&model), [json!("once is enough"), json!("printed")], "in the order in which they came");
    histories(&env, &id).await?;
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn supplied_outputs_pass_the_output_guardrails_of_their_tool(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let calls = [
        ("pick_file", title("Minutes")),
        ("send", title("a")),
        ("send", title("b")),
        ("clerk", json!({"input": "File it."})),
    ];
    let model = FakeModel::script([tool_calls(calls), tool_call("pick_file", title("x")), text("filed"), text("done")]);
    let env = environment(&free(&model), cached).await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("editor", "Go.")).await?;
    let id = started.info().workflow_id.clone();
    let agent = AgentHandle::new(env.client(), &*id);
    assert_eq!(state_when_waiting(&agent).await?.interruptions.len(), 4);
    for (call, output) in [
        ("call_0_0", "the password is 1234"),
        ("call_0_1", "sent with the password"),
        ("call_0_2", "sent by hand"),
        ("call_0_3/call_1_0", "no password"),
    ] {
        assert_eq!(agent.supply_output(call, output).await?, DecisionAnswer::Accepted, "{call}");
    }
    assert_eq!(env.await_run(&started).await?.output()?, json!("done"));
    assert_eq!(last_outputs(&model), ["(withheld)", "(withheld)", "sent by hand", "filed"].map(|text| json!(text)));
    let told_clerk = model.calls().into_iter().rfind(|call| call.agent == "clerk");
    let told_clerk = told_clerk.and_then(|call| call.input.last().and_then(|item| item.get("output").cloned()));
    assert_eq!(told_clerk, Some(json!("(withheld)")));
    histories(&env, &id).await?;
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn arguments_are_checked_before_anybody_is_asked_and_an_early_approval_is_no_output(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let script = [tool_call("pick_file", json!({"title": 5})), tool_call("pick_file", title("Minutes")), text("done")];
    let model = FakeModel::script(script);
    let held = HeldModel::new(&model);
    let env = environment(&held, cached).await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("editor", "File it.")).await?;
    let id = started.info().workflow_id.clone();
    let agent = AgentHandle::new(env.client(), &*id);
    held.asked().await?;
    assert_eq!(agent.approve("call_1_0").await?, DecisionAnswer::Kept { waits_for: Vec::new() });
    held.answer();
    held.answer();
    let state = state_when_waiting(&agent).await?;
    assert_eq!(state.interruptions, [asks("call_1_0", "pick_file", InterruptionKind::Output)]);
    assert_eq!(state.decided, []);
    assert_eq!(agent.reject("call_1_0", "no file").await?, DecisionAnswer::Accepted);
    held.answer();
    assert_eq!(env.await_run(&started).await?.output()?, json!("done"));
    let refused = r#"Invalid JSON input for tool pick_file: title: fails type, allowed: "string""#;
    assert_eq!(last_outputs(&model), [json!(refused), json!("no file")]);
    assert_eq!(agent.state().await?.status, RunStatus::Completed);
    histories(&env, &id).await?;
    env.finish().await?;
    Ok(())
}

/// Notes when calls begin and end.
struct Diary(std::sync::Arc<std::sync::Mutex<Vec<String>>>);

impl RunHooks for Diary {
    fn on_tool_start(&self, _ctx: &HookContext<'_>, _agent: &str, call: &HookedCall<'_>) -> HookResult {
        self.0.lock().expect("not poisoned").push(format!("{} begins", call.info.tool));
        Ok(())
    }

    fn on_tool_end(
        &self,
        _ctx: &HookContext<'_>,
        _agent: &str,
        call: &HookedCall<'_>,
        _output: &ToolOutput,
    ) -> HookResult {
        self.0.lock().expect("not poisoned").push(format!("{} ends", call.info.tool));
        Ok(())
    }
}

#[tokio::test]
async fn without_temporal_the_run_pauses_and_is_resumed_with_the_output() -> anyhow::Result<()> {
    let diary = std::sync::Arc::default();
    let model = FakeModel::script([tool_call("pick_file", title("Minutes")), text("done")]);
    let runner = InlineRunner::new(model.clone());
    let agent = editor().hooks(Diary(std::sync::Arc::clone(&diary)));
    let RunOutcome::Paused(paused) = runner.run(&agent, "File it.").until_paused().await? else {
        anyhow::bail!("nobody has picked a file")
    };
    let waits: Vec<_> = paused.interruptions().into_iter().map(|call| (call.id, call.kind)).collect();
    assert_eq!(waits, [("call_0_0".to_owned(), InterruptionKind::Output)]);
    let mut state: temporal_agents::wire::RunState = serde_json::from_value(serde_json::to_value(&paused.state)?)?;
    assert_eq!(
        state.decide("call_0_0", Decision::approve()).unwrap_err().to_string(),
        "call \"call_0_0\" of client tool \"pick_file\" waits for its output: supply it with `supply_output`, or reject \
         the call"
    );
    state.supply_output("call_0_0", "a.txt")?;
    let RunOutcome::Finished(result) = runner.run(&agent, state).until_paused().await? else {
        anyhow::bail!("it has its output")
    };
    assert_eq!(result.final_output, "done");
    assert_eq!(last_outputs(&model), [json!("a.txt")]);
    assert_eq!(*diary.lock().expect("not poisoned"), ["pick_file begins", "pick_file ends"]);
    Ok(())
}

#[tokio::test]
async fn supplied_outputs_keep_to_the_limit_and_the_redaction_of_their_tool() -> anyhow::Result<()> {
    let model =
        FakeModel::script([tool_calls([("pick_file", title("Minutes")), ("pick_file", title("Map"))]), text("done")]);
    let runner = InlineRunner::new(model.clone());
    let careful = pick_file.definition().max_output_bytes(20).redact(|text| text.replace("1234", "****"));
    let agent: Agent = Agent::new("editor")
        .model("gpt-5")
        .tool(careful.on_error(OnToolError::tell(|_call, failure| failure.reason().to_owned())));
    let RunOutcome::Paused(mut paused) = runner.run(&agent, "File it.").until_paused().await? else {
        anyhow::bail!("nobody has picked a file")
    };
    paused.state.supply_output("call_0_0", "pin 1234")?;
    paused.state.supply_output("call_0_1", "x".repeat(21))?;
    let RunOutcome::Finished(_) = runner.run(&agent, paused.state).until_paused().await? else {
        anyhow::bail!("it has both")
    };
    let too_large = "tool \"pick_file\" returned 23 bytes, the limit is 20 bytes";
    assert_eq!(last_outputs(&model), [json!("pin ****"), json!(too_large)]);
    Ok(())
}
