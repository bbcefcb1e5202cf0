//! Agents used as tools whose runs wait for decisions.

use super::*;

fn text(output: &str) -> CallResult {
    CallResult::Output(output.into())
}

/// A run whose first response has called agent `clerk` this number of times, each time with two
/// calls that wait: `i1` and `i2`.
fn waiting_clerks(calls: usize) -> ByHand {
    let mut run = ByHand::start();
    run.turn(setup(), (1..=calls).map(|n| call(&format!("s{n}"), "clerk", "{}")).collect()).unwrap();
    run.tools_come_to((1..=calls).map(|_| paused_clerk(&["i1", "i2"])).collect());
    run
}

/// Returns the nested runs that can continue now, by the id of their call, with the calls that they
/// have decisions for.
fn going_on(run: &ByHand) -> Vec<(String, Vec<String>)> {
    let decided = |state: &RunState| {
        let paused = state.paused_calls().into_iter().map(|call| call.id);
        paused.filter(|id| state.decision_on(id).is_some()).collect()
    };
    run.due().into_iter().map(|due| (due.call.call_id, decided(&due.paused.unwrap()))).collect()
}

fn one_going_on(id: &str, decided: &[&str]) -> (String, Vec<String>) {
    (id.to_owned(), decided.iter().map(|id| (*id).to_owned()).collect())
}

#[test]
fn calls_inside_stand_where_the_call_of_their_agent_stands_and_add_no_item() {
    let mut run = ByHand::start();
    let output = vec![call("o1", "pay", "{}"), call("s1", "clerk", "{}"), call("o2", "pay", "{}")];
    run.turn(setup(), output).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval, paused_clerk(&["i1", "i2"]), CallResult::NeedsApproval]);
    assert_eq!(run.waits_for(), ["o1", "s1/i1", "s1/i2", "o2"]);
    let agents: Vec<String> =
        run.engine.state().interruptions().into_iter().map(|interruption| interruption.agent).collect();
    assert_eq!(agents, ["triage", "clerk", "clerk", "triage"]);
    assert_eq!(run.transcript()[3..], ["triage: tool_approval_item o1", "triage: tool_approval_item o2"]);
}

#[test]
fn calls_two_levels_down_are_named_by_the_whole_way() {
    let mut outer = ByHand::start();
    outer.turn(setup(), vec![call("s1", "clerk", "{}")]).unwrap();
    let inner = CallResult::Paused(Box::new(waiting_clerks(1).engine.into_state()));
    outer.tools_come_to(vec![inner]);
    assert_eq!(outer.waits_for(), ["s1/s1/i1", "s1/s1/i2"]);
    outer.decide(&[("s1/s1/i1", Decision::approve()), ("s1/s1/i2", Decision::approve())]);
    outer.offer(&["clerk"]).unwrap();
    assert_eq!(going_on(&outer), [one_going_on("s1", &["s1/i1", "s1/i2"])]);
}

/// The provider chooses the ids of calls freely.
#[test]
fn ids_of_calls_with_slashes_lead_to_one_call_each() {
    let mut run = ByHand::start();
    let output = ["a", "a/b", "a~1b"].map(|id| call(id, "clerk", "{}")).into_iter();
    run.turn(setup(), output.chain([call("a/x", "pay", "{}")]).collect()).unwrap();
    let inside = [paused_clerk(&["x", "b/c"]), paused_clerk(&["c"]), paused_clerk(&["c"])];
    run.tools_come_to(inside.into_iter().chain([CallResult::NeedsApproval]).collect());
    let ids = ["a/x", "a/b~1c", "a~1b/c", "a~01b/c", "a~1x"];
    assert_eq!(run.waits_for(), ids);

    let mut state = run.engine.state().clone();
    for (decided, id) in ids.iter().enumerate() {
        state.decide(id, Decision::reject_with(*id)).unwrap();
        let waiting: Vec<String> = state.interruptions().into_iter().map(|interruption| interruption.id).collect();
        assert_eq!(waiting, ids[decided + 1..]);
        assert_eq!(state.decision_on(id), Some(&Decision::reject_with(*id)));
    }
    run.take_up(state);
    run.offer(&["pay", "clerk"]).unwrap();
    assert_eq!(run.due().len(), 4);
    assert_eq!(run.due()[3].decision, Some(Decision::reject_with("a~1x")));
}

#[test]
fn a_run_inside_goes_on_when_all_its_calls_are_decided() {
    let mut run = waiting_clerks(1);
    run.decide(&[("s1/i1", Decision::approve()), ("s1/i2", Decision::approve())]);
    run.offer(&["clerk"]).unwrap();
    assert_eq!(going_on(&run), [one_going_on("s1", &["i1", "i2"])]);
    run.tools_return(&["signed"]);
    assert_eq!(run.transcript(), ["triage: tool_call_item s1", "triage: tool_call_output_item s1 = signed"]);
    assert_eq!(run.next(), starts("triage", 2));
}

#[test]
fn a_run_inside_goes_on_at_once_when_a_call_is_rejected() {
    let mut run = waiting_clerks(1);
    run.decide(&[("s1/i2", Decision::reject())]);
    run.offer(&["clerk"]).unwrap();
    assert_eq!(going_on(&run), [one_going_on("s1", &["i2"])]);
}

#[test]
fn a_run_inside_that_goes_on_with_a_rejection_makes_what_was_approved() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("s1", "clerk", "{}")]).unwrap();
    run.tools_come_to(vec![paused_clerk(&["i1", "i2", "i3"])]);
    run.decide(&[("s1/i1", Decision::approve()), ("s1/i2", Decision::reject())]);
    run.offer(&["clerk"]).unwrap();
    assert_eq!(going_on(&run), [one_going_on("s1", &["i1", "i2"])]);
}

#[test]
fn a_run_inside_with_an_undecided_call_waits_with_what_was_approved() {
    let mut run = waiting_clerks(2);
    run.decide(&[("s1/i1", Decision::approve()), ("s2/i1", Decision::approve()), ("s2/i2", Decision::approve())]);
    run.offer(&["clerk"]).unwrap();
    assert_eq!(going_on(&run), [one_going_on("s2", &["i1", "i2"])]);
    run.tools_return(&["signed"]);
    run.decide(&[("s1/i2", Decision::approve())]);
    run.offer(&["clerk"]).unwrap();
    assert_eq!(going_on(&run).len(), 1, "the approval of the first round counts in the second");
}

#[test]
fn a_decision_for_good_inside_decides_the_other_calls_of_that_run_alone() {
    let mut run = waiting_clerks(2);
    let mut state = run.engine.state().clone();
    state.decide_always("s1/i1", Decision::approve()).unwrap();
    run.take_up(state);
    run.offer(&["clerk"]).unwrap();
    assert_eq!(going_on(&run), [one_going_on("s1", &["i1", "i2"])]);
    run.tools_return(&["signed"]);
    assert_eq!(run.waits_for(), ["s2/i1", "s2/i2"]);

    run.decide(&[("s2/i1", Decision::reject())]);
    run.offer(&["clerk"]).unwrap();
    run.tools_return(&["not signed"]);
    run.turn(setup(), vec![call("o1", "sign", "{}")]).unwrap();
    assert_eq!(run.due()[0].decision, None, "nor the calls of the run around it");
}

#[test]
fn a_run_inside_may_wait_again() {
    let mut run = waiting_clerks(1);
    run.decide(&[("s1/i1", Decision::reject())]);
    run.offer(&["clerk"]).unwrap();
    run.tools_come_to(vec![paused_clerk(&["i3"])]);
    assert_eq!(run.waits_for(), ["s1/i3"]);
    assert_eq!(run.transcript(), ["triage: tool_call_item s1", "clerk: tool_approval_item i3"]);
    run.decide(&[("s1/i3", Decision::approve())]);
    run.offer(&["clerk"]).unwrap();
    run.tools_return(&["signed"]);
    assert_eq!(run.next(), starts("triage", 2));
}

#[test]
fn the_call_of_an_agent_may_need_approval_itself() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("s1", "clerk", "{}")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    run.decide(&[("s1", Decision::approve())]);
    run.offer(&["clerk"]).unwrap();
    run.tools_come_to(vec![paused_clerk(&["i1"])]);
    assert_eq!(run.waits_for(), ["s1/i1"]);
    assert_eq!(
        run.transcript(),
        ["triage: tool_call_item s1", "triage: tool_approval_item s1", "clerk: tool_approval_item i1"]
    );
}

#[test]
fn calls_of_the_same_id_in_two_runs_inside_are_decided_one_by_one() {
    let mut run = waiting_clerks(2);
    run.decide(&[("s2/i1", Decision::reject())]);
    run.offer(&["clerk"]).unwrap();
    assert_eq!(going_on(&run), [one_going_on("s2", &["i1"])]);
}

#[test]
fn the_output_of_an_agent_is_an_output_of_a_tool_like_any_other() {
    let mut run = ByHand::start();
    let setup = TurnSetup { tool_use: ToolUse::StopOnFirstTool, ..setup() };
    run.turn(setup, vec![call("s1", "clerk", "{}"), call("c2", "time", "{}")]).unwrap();
    run.tools_come_to(vec![paused_clerk(&["i1"]), text("noon")]);
    run.decide(&[("s1/i1", Decision::approve())]);
    run.offer(&["clerk", "time"]).unwrap();
    run.tools_return(&["signed"]);
    assert_eq!(run.output(), "signed");
}

#[test]
fn an_agent_that_is_gone_ends_the_run_when_its_run_would_go_on() {
    let mut run = waiting_clerks(1);
    run.decide(&[("s1/i1", Decision::reject())]);
    let error = run.offer(&["time"]).unwrap_err();
    assert_eq!(error.to_string(), misbehaved("Tool clerk not found in agent triage", 1));
}
