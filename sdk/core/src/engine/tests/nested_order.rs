//! The order in which a run lists its waiting calls after a decision on some of them, and the time
//! at which it lists the calls of nested runs as its own.

use super::*;

/// A run whose waiting calls are, in order: `o1`, the calls of `s1`, the one call `j1` of `s2`,
/// `o2`.
fn waiting(inside: &[&str]) -> ByHand {
    let mut run = ByHand::start();
    let output =
        vec![call("o1", "pay", "{}"), call("s1", "clerk", "{}"), call("s2", "clerk", "{}"), call("o2", "pay", "{}")];
    run.turn(setup(), output).unwrap();
    let results =
        vec![CallResult::NeedsApproval, paused_clerk(inside), paused_clerk(&["j1"]), CallResult::NeedsApproval];
    run.tools_come_to(results);
    run
}

/// The items since the first pause.
fn added(run: &ByHand) -> Vec<String> {
    run.transcript()[6..].to_vec()
}

fn decide(run: &mut ByHand, ids: &[&str], results: Vec<CallResult>) {
    let decisions: Vec<(&str, Decision)> = ids.iter().map(|id| (*id, Decision::approve())).collect();
    run.decide(&decisions);
    if let Step::PrepareResume { .. } = run.next() {
        run.offer(&["pay", "clerk"]).unwrap();
    }
    if !results.is_empty() {
        run.tools_come_to(results);
    }
}

#[test]
fn after_a_decision_runs_inside_that_still_wait_come_first() {
    let mut run = waiting(&["i1"]);
    assert_eq!(run.waits_for(), ["o1", "s1/i1", "s2/j1", "o2"]);
    decide(&mut run, &["s2/j1"], vec![CallResult::Output("signed".into())]);
    assert_eq!(run.waits_for(), ["s1/i1", "o1", "o2"]);
    assert_eq!(added(&run), ["triage: tool_call_output_item s2 = signed", "clerk: tool_approval_item i1"]);
}

#[test]
fn after_a_decision_runs_inside_that_paused_anew_come_last() {
    let mut run = waiting(&["i1"]);
    decide(&mut run, &["o2", "s1/i1"], vec![paused_clerk(&["i2"]), CallResult::Output("paid".into())]);
    assert_eq!(run.waits_for(), ["s2/j1", "o1", "s1/i2"]);
    assert_eq!(
        added(&run),
        ["triage: tool_call_output_item o2 = paid", "clerk: tool_approval_item j1", "clerk: tool_approval_item i2",]
    );
}

#[test]
fn a_call_inside_is_shown_once() {
    let mut run = waiting(&["i1"]);
    decide(&mut run, &["o1"], vec![CallResult::Output("paid".into())]);
    decide(&mut run, &["o2"], vec![CallResult::Output("paid".into())]);
    assert_eq!(run.waits_for(), ["s1/i1", "s2/j1"]);
    assert_eq!(
        added(&run),
        [
            "triage: tool_call_output_item o1 = paid",
            "clerk: tool_approval_item i1",
            "clerk: tool_approval_item j1",
            "triage: tool_call_output_item o2 = paid",
        ]
    );
}

#[test]
fn a_run_that_is_taken_up_without_a_decision_shows_the_calls_inside() {
    let mut run = waiting(&["i1"]);
    decide(&mut run, &[], vec![]);
    assert_eq!(run.waits_for(), ["s1/i1", "s2/j1", "o1", "o2"]);
    assert_eq!(added(&run), ["clerk: tool_approval_item i1", "clerk: tool_approval_item j1"]);
    decide(&mut run, &[], vec![]);
    assert_eq!(run.waits_for(), ["s1/i1", "s2/j1", "o1", "o2"]);
    assert_eq!(added(&run).len(), 2);
}

#[test]
fn a_call_inside_that_was_approved_is_not_asked_about_again_though_it_waits_for_the_others() {
    let mut run = waiting(&["i1", "i2"]);
    decide(&mut run, &["s1/i1"], vec![]);
    assert_eq!(run.waits_for(), ["s1/i2", "s2/j1", "o1", "o2"]);
    assert_eq!(added(&run), ["clerk: tool_approval_item i2", "clerk: tool_approval_item j1"]);
    decide(&mut run, &["s1/i2"], vec![CallResult::Output("signed".into())]);
    assert_eq!(run.waits_for(), ["s2/j1", "o1", "o2"]);
}
