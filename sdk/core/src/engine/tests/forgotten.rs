//! A decision is removed once its call has an output, and applies to no other call of the same id.

use super::*;

fn pay(amount: u32) -> Item {
    call("call_0", "pay", &format!(r#"{{"amount":{amount}}}"#))
}

fn decided(decision: Decision) -> ByHand {
    let mut run = ByHand::start();
    run.turn(setup(), vec![pay(5)]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    run.decide(&[("call_0", decision)]);
    run.offer(&["pay"]).unwrap();
    run
}

#[test]
fn an_approval_does_not_count_for_a_later_call_of_the_same_id() {
    let mut run = decided(Decision::approve());
    assert_eq!(run.due()[0].decision, Some(Decision::approve()));
    run.tools_return(&["paid"]);
    run.engine.compact(Vec::new());
    run.turn(setup(), vec![pay(9999)]).unwrap();
    assert_eq!(run.due()[0].decision, None);
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    assert_eq!(run.waits_for(), ["call_0"]);
}

#[test]
fn a_supplied_output_does_not_stay_in_the_state_beside_its_item() {
    let mut run = decided(Decision::supply("photo ".repeat(1000)));
    run.tools_return(&["seen"]);
    assert!(run.engine.state().approvals.is_empty());
    run.engine.compact(Vec::new());
    assert!(!serde_json::to_string(run.engine.state()).unwrap().contains("photo"));
}

#[test]
fn what_an_earlier_release_has_left_in_a_state_does_not_count() {
    let mut run = decided(Decision::approve());
    let left = run.engine.state().approvals.clone();
    run.tools_return(&["paid"]);
    run.engine.compact(Vec::new());
    run.engine.state.approvals = left;
    run.through_json();
    run.turn(setup(), vec![pay(9999)]).unwrap();
    assert_eq!(run.due()[0].decision, None);
    assert!(run.engine.state().approvals.is_empty());
}

#[test]
fn a_decision_for_good_stays() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![pay(5)]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    let mut state = run.engine.state().clone();
    state.decide_always("call_0", Decision::approve()).unwrap();
    run.take_up(state);
    run.offer(&["pay"]).unwrap();
    run.tools_return(&["paid"]);
    run.engine.compact(Vec::new());
    run.turn(setup(), vec![pay(9999)]).unwrap();
    assert_eq!(run.due()[0].decision, Some(Decision::approve()));
}

#[test]
fn the_decision_on_a_calls_round_stays_until_the_call_has_its_output() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![pay(5), call("call_1", "pay", "{}")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval, CallResult::NeedsApproval]);
    run.decide(&[("call_0", Decision::approve())]);
    run.offer(&["pay"]).unwrap();
    run.tools_return(&["paid"]);
    assert_eq!(run.waits_for(), ["call_1"]);
    assert!(run.engine.state().approvals.is_empty());
    run.decide(&[("call_1", Decision::reject())]);
    run.offer(&["pay"]).unwrap();
    assert_eq!(run.due()[0].decision, Some(Decision::reject()));
}
