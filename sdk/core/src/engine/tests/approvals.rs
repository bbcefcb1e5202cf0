//! Calls that need approval: the items of a pause, and permanent decisions.

use super::*;
use crate::wire::run_state::{DecisionRefused, Interruption, InterruptionKind};

fn pay(call_id: &str) -> Item {
    call(call_id, "pay", r#"{"amount":5}"#)
}

#[test]
fn outputs_and_placeholders_stand_in_call_order_and_unknown_tools_come_last() {
    let mut run = ByHand::with_rules(telling_the_model());
    run.turn(setup(), vec![pay("c0"), call("c1", "nonsense", "{}"), call("c2", "time", "{}"), pay("c3")]).unwrap();
    run.tools_come_to(vec![
        CallResult::NeedsApproval,
        CallResult::Output("Tool 'nonsense' not found.".into()),
        CallResult::Output("noon".into()),
        CallResult::NeedsApproval,
    ]);
    assert_eq!(
        run.transcript()[4..],
        [
            "triage: tool_approval_item c0",
            "triage: tool_call_output_item c2 = noon",
            "triage: tool_approval_item c3",
            "triage: tool_call_output_item c1 = Tool 'nonsense' not found.",
        ]
    );
    assert_eq!(run.waits_for(), ["c0", "c3"]);
}

#[test]
fn an_interruption_is_the_call_as_it_came() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![pay("c1")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    let pending = Interruption {
        id: "c1".to_owned(),
        agent: "triage".to_owned(),
        tool: "pay".to_owned(),
        raw: pay("c1"),
        kind: InterruptionKind::Approval,
        question: None,
    };
    assert_eq!(run.engine.state().interruptions(), std::slice::from_ref(&pending));
    assert_eq!(pending.arguments(), r#"{"amount":5}"#);
}

#[test]
fn a_message_a_handoff_and_a_stop_rule_wait_with_the_call() {
    let mut run = ByHand::start();
    let setup = TurnSetup { tool_use: ToolUse::StopOnFirstTool, ..setup() };
    run.turn(setup, vec![message("ok"), call("c1", "time", "{}"), pay("c2"), call("h1", "transfer_to_sales", "{}")])
        .unwrap();
    run.tools_come_to(vec![CallResult::Output("noon".into()), CallResult::NeedsApproval]);
    assert_eq!(run.waits_for(), ["c2"]);
}

#[test]
fn a_pending_call_counts_as_a_used_tool() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![pay("c1")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    assert!(run.engine.tools_used()["triage"].contains("pay"));
}

#[test]
fn a_decision_on_what_does_not_wait_says_what_does() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c1", "time", "{}"), pay("c2")]).unwrap();
    run.tools_come_to(vec![CallResult::Output("noon".into()), CallResult::NeedsApproval]);
    let mut state = run.engine.into_state();
    let unknown = |id: &str| DecisionRefused::Unknown { id: id.to_owned(), pending: vec!["c2".to_owned()] };
    assert_eq!(state.decide("c1", Decision::approve()), Err(unknown("c1")));
    assert_eq!(unknown("c1").to_string(), r#"the run does not wait for a decision on "c1"; it waits for: c2"#);
}

#[test]
fn the_latest_decision_on_a_call_counts() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![pay("c1")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    run.decide(&[("c1", Decision::approve()), ("c1", Decision::reject_with("too much"))]);
    run.offer(&["pay"]).unwrap();
    assert_eq!(run.due()[0].decision, Some(Decision::reject_with("too much")));
}

#[test]
fn a_later_decision_takes_back_the_arguments_of_an_earlier_one() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![pay("c1")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    let mut state = run.engine.state().clone();
    let arguments = |state: &RunState| match &state.phase {
        Phase::Interrupted { round } => round.calls[0].call.arguments.clone(),
        phase => panic!("{phase:?}"),
    };
    let edited = serde_json::json!({"amount": 1}).as_object().unwrap().clone();
    state.decide("c1", Decision::approve_with(edited)).unwrap();
    assert_eq!(arguments(&state), r#"{"amount":1}"#);
    state.decide("c1", Decision::approve()).unwrap();
    assert_eq!(arguments(&state), r#"{"amount":5}"#);
}

#[test]
fn a_decision_for_good_decides_the_other_pending_calls_of_the_tool() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![pay("c1"), pay("c2"), call("c3", "time", "{}")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval, CallResult::NeedsApproval, CallResult::NeedsApproval]);
    let mut state = run.engine.state().clone();
    state.decide_always("c2", Decision::approve()).unwrap();
    assert_eq!(state.decision_on("c1"), Some(&Decision::approve()));
    assert_eq!(state.decision_on("c3"), None);
    run.take_up(state);
    run.offer(&["pay", "time"]).unwrap();
    run.tools_return(&["paid", "paid"]);
    assert_eq!(run.waits_for(), ["c3"]);
}

#[test]
fn a_decision_for_good_takes_the_place_of_earlier_ones_and_yields_to_later_ones() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![pay("c1"), pay("c2"), pay("c3")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval, CallResult::NeedsApproval, CallResult::NeedsApproval]);
    let mut state = run.engine.state().clone();
    state.decide("c1", Decision::reject()).unwrap();
    state.decide_always("c2", Decision::approve()).unwrap();
    state.decide("c3", Decision::reject()).unwrap();
    run.take_up(state);
    run.offer(&["pay"]).unwrap();
    let approved: Vec<bool> = run.due().iter().map(|due| due.decision.as_ref().unwrap().approve).collect();
    assert_eq!(approved, [true, true, false]);
}

#[test]
fn a_decision_for_good_holds_for_later_calls_of_this_agent_alone() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![pay("c1")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    let mut state = run.engine.state().clone();
    state.decide_always("c1", Decision::reject_with("never")).unwrap();
    run.take_up(state);
    run.offer(&["pay"]).unwrap();
    run.tools_return(&["never"]);

    run.turn(setup(), vec![pay("c2")]).unwrap();
    assert_eq!(run.due()[0].decision, Some(Decision::reject_with("never")));
    run.tools_return(&["never"]);

    run.turn(setup(), vec![call("h1", "transfer_to_refunds", "{}")]).unwrap();
    run.hand_off();
    run.turn(setup(), vec![pay("c3")]).unwrap();
    assert_eq!(run.due()[0].decision, None);
}

#[test]
fn the_same_call_twice_waits_once() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![pay("c1"), pay("c1")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    assert_eq!(run.waits_for(), ["c1"]);
}

#[test]
fn a_call_that_was_decided_is_not_asked_about_again() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![pay("c1")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    run.decide(&[("c1", Decision::reject())]);
    run.offer(&["pay"]).unwrap();
    run.tools_return(&["not approved"]);
    run.turn(setup(), vec![pay("c1")]).unwrap();
    assert_eq!(run.next(), turn_due("triage", 3));
}
