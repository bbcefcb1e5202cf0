//! Who has decided: in history, in the state of the run, and in the transcript.

use std::sync::{Arc, Mutex};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Tool,
    client::{AgentHandle, transcript::Transcript},
    inline::InlineRunner,
    run::RunOutcome,
    tool,
    wire::{AgentDecision, ApprovalRuling, Decision, DecisionAnswer, RunState, SuppliedOutput, Verdict},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call},
};
use temporalio_common::data_converters::DataConverter;
use tokio::time::timeout;

use super::support::{Desk, desk_with, lingering, request, state_when_waiting, taken};

fn model() -> FakeModel {
    FakeModel::script([tool_call("refund", json!({"order": 7})), text("done")])
}

/// The members of the first call's approval in a transcript, without the times, which are new each time.
fn approval(transcript: &Transcript) -> Value {
    let tool = &transcript.runs[0].turns[0].tools[0];
    let mut approval = serde_json::to_value(tool.approval.as_ref().expect("people were asked")).expect("it is JSON");
    for time in ["asked_at", "decided_at"] {
        if let Some(time) = approval.get_mut(time) {
            let text = time.as_str().expect("a time");
            assert!(text.ends_with('Z') && text.contains('T'), "{text}");
            *time = json!("then");
        }
    }
    approval
}

/// The transcript, once history has the question: a query may be answered before the pause is recorded.
async fn asked(env: &AgentEnvironment) -> anyhow::Result<Transcript> {
    loop {
        let transcript = Transcript::of_workflow(env.client(), "desk-0", None).await?;
        let tools = transcript.runs.first().and_then(|run| run.turns.first()).map(|turn| &turn.tools);
        if tools.is_some_and(|tools| tools.iter().any(|tool| tool.approval.is_some())) {
            return Ok(transcript);
        }
    }
}

#[rstest]
#[case::approved(AgentDecision::approve("call_0_0"), json!({"kind": "approve"}), "*Approved by ann@shop.test at ")]
#[case::rejected(
    AgentDecision::reject_with("call_0_0", "ask the boss"),
    json!({"kind": "reject", "message": "ask the boss"}),
    "*Rejected by ann@shop.test at "
)]
#[tokio::test]
async fn a_decision_says_who_made_it_and_the_transcript_shows_it(
    #[case] decision: AgentDecision,
    #[case] verdict: Value,
    #[case] line: &str,
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let env = desk_with(&model(), cached).await?;
    let handle = env.start_workflow(Desk::run, lingering()).await?;
    let agent = AgentHandle::new(env.client(), "desk-0");
    state_when_waiting(&agent).await?;
    let waiting = timeout(crate::PATIENCE, asked(&env)).await??;
    assert_eq!(approval(&waiting), json!({"id": "call_0_0", "asked_at": "then"}));
    assert!(waiting.to_markdown().contains("*There is no decision yet.*"), "{waiting}");

    let by_ann = agent.by("ann@shop.test");
    assert_eq!(by_ann.decide(decision.clone()).await?, DecisionAnswer::Accepted);
    // What comes second does not count, and does not show.
    let late = agent.by("bob").decide(AgentDecision::reject_with("call_0_0", "too late")).await?;
    assert!(matches!(late, DecisionAnswer::AlreadyDecided { .. }), "{late:?}");
    handle.signal(Desk::close, (), temporalio_client::WorkflowSignalOptions::default()).await?;
    let run = env.await_run(&handle).await?;
    let mut by = taken("call_0_0", decision.decision);
    by.by = Some("ann@shop.test".to_owned());
    assert_eq!(agent.state().await?.decided, [by]);

    let transcript = Transcript::of_workflow(env.client(), &run.workflow_id, None).await?;
    let expected =
        json!({"id": "call_0_0", "asked_at": "then", "decided_at": "then", "decision": verdict, "by": "ann@shop.test"});
    assert_eq!(approval(&transcript), expected);
    let page = transcript.to_markdown();
    assert!(page.contains("*Approval was requested at ") && page.contains(line), "{page}");
    assert!(!page.contains("too late"), "{page}");
    assert_eq!(page.contains("> ask the boss"), line.contains("Rejected"), "{page}");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_decision_before_the_question_is_in_the_transcript_too() -> anyhow::Result<()> {
    let env = desk_with(&model(), true).await?;
    let handle = env.start_workflow(Desk::run, request()).await?;
    let agent = AgentHandle::new(env.client(), "desk-0").by("ann");
    // Kept, or taken at once: it is the first one in any case.
    agent.supply_output("call_0_0", "paid by hand").await?;
    let run = env.await_run(&handle).await?;
    let transcript = Transcript::of_history(run.history.clone(), &DataConverter::default()).await?;
    let found = approval(&transcript);
    assert_eq!((&found["by"], &found["decision"]["output"]), (&json!("ann"), &json!("paid by hand")));
    assert!(transcript.to_markdown().contains("*The output was supplied by ann at "), "{transcript}");
    env.finish().await?;
    Ok(())
}

#[test]
fn a_name_is_bounded_and_nothing_else_is_one() {
    let long = "ä".repeat(300);
    assert_eq!(AgentDecision::approve("call_1").by(&*long).by, Some("ä".repeat(256)));
    assert_eq!(AgentDecision::approve("call_1").by("").by, None);
    let sent = |by: Value| json!({"interruption_id": "call_1", "decision": {"kind": "approve"}, "by": by});
    for (by, read) in [(json!(long), Some("ä".repeat(256))), (json!({"id": 7}), None), (json!(null), None)] {
        let decision: AgentDecision = serde_json::from_value(sent(by)).expect("it is taken in any case");
        assert_eq!(decision.by, read);
    }
}

#[test]
fn a_name_goes_through_every_form_of_a_decision() {
    let ruling = ApprovalRuling::from(Decision::reject_with("no").by("ann"));
    let decision = ruling.clone().on("call_1");
    assert_eq!((decision.by.as_deref(), ruling.clone().decision().by.as_deref()), (Some("ann"), Some("ann")));
    assert_eq!(ApprovalRuling::from(decision), ruling);
    let supplied = AgentDecision::from(SuppliedOutput::new("call_1", "paid").by("ann"));
    assert_eq!(
        (supplied.by.as_deref(), matches!(supplied.decision, Verdict::SupplyOutput { .. })),
        (Some("ann"), true)
    );
}

/// Pays money back.
///
/// # Arguments
/// * `order` - number of the order
#[tool(inline)]
fn pay_back(order: u32) -> u32 {
    order
}

#[tokio::test]
async fn a_state_keeps_the_name_until_the_call_has_its_output() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("pay_back", json!({"order": 7})), text("done")]);
    let last = Arc::new(Mutex::new(String::new()));
    let seen = Arc::clone(&last);
    let runner = InlineRunner::new(model).on_checkpoint(move |state| {
        *seen.lock().expect("nobody panics") = serde_json::to_string(state).expect("it is JSON");
    });
    let desk = Agent::new("desk").model("gpt-5").tool(pay_back.needs_approval());
    let RunOutcome::Paused(paused) = runner.run(&desk, "Please.").until_paused().await? else { panic!("it waits") };
    let mut state = paused.state;
    state.decide("call_0_0", Decision::approve().by("ann@shop.test"))?;
    let kept = serde_json::to_string(&state)?;
    assert!(kept.contains("\"by\":\"ann@shop.test\""), "{kept}");
    let RunOutcome::Finished(result) =
        runner.run(&desk, serde_json::from_str::<RunState>(&kept)?).until_paused().await?
    else {
        panic!("it is decided")
    };
    assert_eq!(result.final_output, "done");
    let last = last.lock().expect("nobody panics");
    assert!(last.contains("call_0_0") && !last.contains("ann@shop.test"), "{last}");
    Ok(())
}
