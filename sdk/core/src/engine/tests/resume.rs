//! Resumption after a pause: decisions take effect, undecided calls continue to wait.

use rstest::rstest;

use super::*;
use crate::wire::{WireVersion, run_state::CallProgress};

/// A run whose first response has made these calls, each of which waits, beside call `c0` of
/// `time`, which has its output.
fn waiting_for(setup: TurnSetup, rules: Rules, call_ids: &[&str]) -> ByHand {
    let mut run = ByHand::with_rules(rules);
    let mut output = vec![message("a moment"), call("c0", "time", "{}")];
    output.extend(call_ids.iter().map(|id| call(id, "weather", "{}")));
    run.turn(setup, output).unwrap();
    let mut results = vec![CallResult::Output("noon".into())];
    results.extend(call_ids.iter().map(|_| CallResult::NeedsApproval));
    run.tools_come_to(results);
    run
}

fn two_waiting() -> ByHand {
    waiting_for(setup(), Rules::default(), &["c1", "c2"])
}

fn approved(id: &str) -> (&str, Decision) {
    (id, Decision::approve())
}

#[test]
fn without_a_decision_a_run_goes_on_waiting_and_nothing_is_added() {
    let mut run = two_waiting();
    let before = run.transcript();
    run.decide(&[]);
    assert_eq!(run.waits_for(), ["c1", "c2"]);
    assert_eq!(run.transcript(), before);
}

#[test]
fn decided_calls_are_made_and_the_others_go_on_waiting() {
    let mut run = two_waiting();
    run.decide(&[approved("c2")]);
    run.offer(&["weather", "time"]).unwrap();
    let due = run.due();
    assert_eq!(due.len(), 1, "what has its output is not made again");
    assert_eq!((due[0].index, &*due[0].call.call_id, &due[0].decision), (2, "c2", &Some(Decision::approve())));
    run.tools_return(&["sunny"]);
    assert_eq!(run.waits_for(), ["c1"]);
    assert_eq!(
        run.transcript()[4..],
        [
            "triage: tool_call_output_item c0 = noon",
            "triage: tool_approval_item c1",
            "triage: tool_approval_item c2",
            "triage: tool_call_output_item c2 = sunny",
        ],
        "a placeholder stands once"
    );
    assert_eq!(run.engine.state().turn, 1);
}

#[test]
fn outputs_and_rejections_stand_in_call_order_whatever_the_order_of_decisions() {
    let mut run = waiting_for(setup(), Rules::default(), &["c1", "c2", "c3"]);
    run.decide(&[("c3", Decision::reject()), approved("c2"), ("c1", Decision::reject())]);
    run.offer(&["weather", "time"]).unwrap();
    run.tools_return(&["no", "sunny", "no"]);
    assert_eq!(
        run.transcript()[9..],
        [
            "triage: tool_call_output_item c1 = no",
            "triage: tool_call_output_item c2 = sunny",
            "triage: tool_call_output_item c3 = no",
        ]
    );
}

#[test]
fn the_model_is_asked_next_and_sees_no_placeholder() {
    let mut run = waiting_for(setup(), Rules::default(), &["c1"]);
    run.decide(&[approved("c1")]);
    run.offer(&["weather", "time"]).unwrap();
    run.tools_return(&["sunny"]);
    assert_eq!(run.next(), starts("triage", 2), "a message beside the call does not end the run");
    assert_eq!(
        run.prepare(setup()).input.iter().map(content).collect::<Vec<_>>(),
        ["hi", "a moment", "c0", "c1", "c0 = noon", "c1 = sunny"]
    );
}

#[test]
fn a_run_without_turns_left_makes_its_decided_calls_before_it_ends() {
    let mut run = ByHand::with_max_turns(Some(1));
    run.turn(setup(), vec![call("c1", "weather", "{}")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    run.decide(&[approved("c1")]);
    run.offer(&["weather"]).unwrap();
    run.tools_return(&["sunny"]);
    assert_eq!(run.next(), out_of_turns(1, "triage"));
}

#[test]
fn a_handoff_waits_until_all_is_decided_and_then_comes_after_the_outputs() {
    let mut run = ByHand::start();
    let handoff = |call_id: &str, agent: &str| call(call_id, &format!("transfer_to_{agent}"), "{}");
    run.turn(setup(), vec![handoff("h1", "refunds"), call("c1", "weather", "{}"), handoff("h2", "sales")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    run.decide(&[approved("c1")]);
    run.offer(&["weather"]).unwrap();
    run.tools_return(&["sunny"]);
    run.hand_off();
    assert_eq!(
        run.transcript()[4..],
        [
            "triage: tool_call_output_item c1 = sunny",
            "triage: tool_call_output_item h2 = Multiple handoffs detected, ignoring this one.",
            r#"triage: handoff_output_item h1 = {"assistant": "refunds"}"#,
        ]
    );
    assert_eq!(run.next(), starts("refunds", 2));
}

#[test]
fn an_approved_tool_that_is_gone_ends_the_run_and_no_call_is_made() {
    let mut run = two_waiting();
    run.decide(&[approved("c1"), approved("c2")]);
    let error = run.offer(&["time"]).unwrap_err();
    assert_eq!(error.to_string(), misbehaved("Tool weather not found in agent triage", 1));
}

#[test]
fn a_model_that_is_told_of_unknown_tools_is_told_of_one_that_is_gone_in_its_place() {
    let mut run = waiting_for(setup(), telling_the_model(), &["c1", "c2"]);
    run.decide(&[approved("c1"), approved("c2")]);
    run.offer(&["time"]).unwrap();
    assert_eq!(run.due().iter().map(|due| due.is_known).collect::<Vec<_>>(), [false, false]);
    run.tools_return(&["not found", "not found"]);
    assert_eq!(run.next(), starts("triage", 2));
    assert_eq!(run.transcript().last().unwrap(), "triage: tool_call_output_item c2 = not found");
}

#[rstest]
#[case::calls_that_are_done(CallProgress::Done { output: "noon".into() })]
#[case::a_run_inside_that_waits_for_nothing(CallProgress::Paused {
    run: Box::new(ByHand::start().engine.into_state()),
    since_earlier: false,
})]
fn a_state_that_waits_for_nothing_goes_on(#[case] progress: CallProgress) {
    let mut run = two_waiting();
    let mut state = run.engine.state().clone();
    let Phase::Interrupted { round } = &mut state.phase else { panic!("it is paused") };
    for call in &mut round.calls {
        call.progress = progress.clone();
    }
    run.take_up(state);
    run.offer(&["weather", "time", "pay"]).unwrap();
    if let Step::CallTools { calls, .. } = run.next() {
        run.tools_return(&vec!["noon"; calls.len()]);
    }
    assert_eq!(run.next(), starts("triage", 2));
}

#[test]
fn another_tool_of_the_name_is_not_the_one_that_was_approved() {
    let mut run = waiting_for(setup(), telling_the_model(), &["c1"]);
    run.decide(&[approved("c1")]);
    run.offer_variants([("weather", 1)]).unwrap();
    assert_eq!(run.due().iter().map(|due| due.is_known).collect::<Vec<_>>(), [false]);
}

#[rstest]
#[case::rejected(&[("c1", Decision::reject()), ("c2", Decision::reject())])]
#[case::undecided(&[("c1", Decision::reject())])]
fn a_tool_that_is_gone_matters_to_approved_calls_only(#[case] decisions: &[(&str, Decision)]) {
    let mut run = two_waiting();
    run.decide(decisions);
    run.offer(&["time"]).unwrap();
    assert_eq!(run.due().len(), decisions.len());
    assert!(run.due().iter().all(|due| due.is_known));
}

/// Returns the numbers of results of input and output guardrails of tools, after the approved call
/// of a resumed run.
fn findings(setup: TurnSetup, calls: &[&str], and_then: impl FnOnce(&mut ByHand)) -> (usize, usize) {
    let mut run = waiting_for(setup, Rules::default(), calls);
    run.decide(&[approved("c1")]);
    run.offer(&["weather", "time"]).unwrap();
    let outcome = ToolOutcome {
        input_guardrails: vec![finding("before")],
        output_guardrails: vec![finding("after")],
        ..outcome(1, CallResult::Output("sunny".into()))
    };
    run.resolve(Resolution::ToolsRan(vec![outcome])).unwrap();
    and_then(&mut run);
    let found = &run.engine.state().guardrails;
    (found.tool_input.len(), found.tool_output.len())
}

#[test]
fn what_tool_guardrails_find_since_a_pause_is_forgotten_when_the_model_goes_on() {
    let goes_on = |run: &mut ByHand| assert_eq!(run.next(), starts("triage", 2));
    assert_eq!(findings(setup(), &["c1"], goes_on), (0, 0));
    let waits = |run: &mut ByHand| assert_eq!(run.waits_for(), ["c2"]);
    assert_eq!(findings(setup(), &["c1", "c2"], waits), (1, 1));
    let stops = |run: &mut ByHand| assert_eq!(run.output(), "noon");
    let stop_rule = TurnSetup { tool_use: ToolUse::StopOnFirstTool, ..setup() };
    assert_eq!(findings(stop_rule, &["c1"], stops), (1, 1));
}

#[test]
fn calls_without_output_in_the_callers_input_are_dropped_when_a_run_is_taken_up() {
    let input = vec![Item::user("hi"), reasoning("rs_0"), call("c0", "time", "{}")];
    let mut run = ByHand::begin(Beginning { input: input.clone(), ..beginning() }, Rules::default());
    let sent = run.turn(setup(), vec![call("c1", "weather", "{}")]).unwrap();
    assert_eq!(sent.input, input, "it is the caller's to say");
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    run.decide(&[approved("c1")]);
    assert_eq!(run.engine.state().input, [Item::user("hi")]);
}

#[test]
fn a_state_of_another_build_is_written_as_this_one_writes_it_from_here_on() {
    let state = RunState { version: WireVersion { major: 1, minor: 0 }, ..RunState::finished("a", Vec::new()) };
    assert_eq!(Engine::go_on(state.clone(), Rules::default()).state().version, WIRE_VERSION);
    assert_eq!(Engine::resume(state, Rules::default()).state().version, WIRE_VERSION);
}
