//! Input guardrails: the time at which they run, and the effect of their results.

use rstest::rstest;

use super::*;
use crate::wire::run_state::{Admission, InputGuardrailResult};

fn found(guardrail: &str, tripwire_triggered: bool) -> InputGuardrailResult {
    InputGuardrailResult { guardrail: guardrail.to_owned(), tripwire_triggered, output_info: json!({"score": 1}) }
}

fn passed(guardrail: &str) -> InputGuardrailResult {
    found(guardrail, false)
}

/// A new run, before its first step.
fn fresh() -> ByHand {
    ByHand { engine: Engine::start(beginning(), Rules::default()) }
}

/// A run whose blocking guardrails have passed; others run beside the first turn.
fn beside_the_turn() -> ByHand {
    let mut run = fresh();
    run.resolve(Resolution::InputChecked { results: vec![passed("blocking")], more: true }).unwrap();
    run
}

fn admit(run: &mut ByHand) {
    run.resolve(Resolution::InputChecked { results: vec![passed("beside")], more: false }).unwrap();
    let names: Vec<&str> = run.engine.state().guardrails.input.iter().map(|found| &*found.guardrail).collect();
    assert_eq!(names, ["blocking", "beside"], "the blocking ones come first");
    assert_eq!(run.engine.state().admission, Admission::Admitted);
}

#[test]
fn blocking_guardrails_are_asked_before_anything_else() {
    let mut run = fresh();
    assert_eq!(run.next(), Step::CheckInput { agent: "triage".to_owned() });
    run.resolve(Resolution::InputChecked { results: vec![passed("polite")], more: false }).unwrap();
    assert_eq!(run.next(), starts("triage", 1));
    assert_eq!(run.engine.state().guardrails.input, [passed("polite")]);
}

#[test]
fn a_run_without_turns_asks_no_guardrail() {
    let run = ByHand::with_max_turns(Some(0));
    assert_eq!(run.next(), out_of_turns(0, "triage"));
}

#[rstest]
#[case::blocking(fresh())]
#[case::beside_the_turn(beside_the_turn())]
fn the_first_that_trips_ends_the_run_and_those_asked_after_it_are_not_told(#[case] mut run: ByHand) {
    let before = run.engine.state().guardrails.input.clone();
    let results = vec![passed("polite"), found("homework", true), found("late", true)];
    let error = run.resolve(Resolution::InputChecked { results, more: false }).unwrap_err();
    assert_eq!(error.to_string(), r#"input guardrail "homework" of agent "triage" tripped: {"score":1}"#);
    let found = [before, vec![passed("polite"), found("homework", true)]].concat();
    assert_eq!(run.engine.state().guardrails.input, found);
}

#[test]
fn a_turn_begins_while_guardrails_beside_it_are_still_to_answer() {
    let mut run = beside_the_turn();
    assert_eq!(run.next(), starts("triage", 1));
    run.turn(setup(), vec![call("c1", "time", "{}")]).unwrap();
    run.tools_return(&["noon"]);
    assert_eq!(run.next(), Step::AdmitInput, "the second turn waits for them");
    admit(&mut run);
    assert_eq!(run.next(), turn_due("triage", 2));
}

#[test]
fn a_final_output_waits_for_the_guardrails_beside_the_turn() {
    let mut run = beside_the_turn();
    run.turn(setup(), vec![message("noon")]).unwrap();
    assert_eq!(run.next(), Step::AdmitInput);
    admit(&mut run);
    assert_eq!(run.output(), "noon");
}

#[test]
fn a_pause_waits_for_the_guardrails_beside_the_turn() {
    let mut run = beside_the_turn();
    run.turn(setup(), vec![call("c1", "pay", "{}")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    assert_eq!(run.next(), Step::AdmitInput);
    admit(&mut run);
    assert_eq!(run.waits_for(), ["c1"]);
}

#[test]
fn the_next_agent_waits_for_the_guardrails_beside_the_turn() {
    let mut run = beside_the_turn();
    run.turn(setup(), vec![call("h1", "transfer_to_refunds", "{}")]).unwrap();
    run.hand_off();
    assert_eq!(run.next(), Step::AdmitInput);
    admit(&mut run);
    assert_eq!(run.next(), starts("refunds", 2));
}

#[test]
fn guardrails_that_answer_early_are_not_waited_for() {
    let mut run = beside_the_turn();
    run.prepare(setup());
    admit(&mut run);
    run.resolve(Resolution::Answered(response(vec![call("c1", "time", "{}")]))).unwrap();
    run.tools_return(&["noon"]);
    assert_eq!(run.next(), turn_due("triage", 2));
}

#[test]
fn guardrails_are_not_asked_again_after_a_pause() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c1", "pay", "{}")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    run.decide(&[("c1", Decision::approve())]);
    run.offer(&["pay"]).unwrap();
    run.tools_return(&["paid"]);
    assert_eq!(run.next(), starts("triage", 2));
}
