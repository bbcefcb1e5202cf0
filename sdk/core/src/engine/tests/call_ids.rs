//! The identity of call ids: a repeated call is not made again, and one id never names two calls.

use rstest::rstest;

use super::*;

const REUSED_IN_RESPONSE: &str = "Model reused a tool call ID for a different invocation in one response. \
                                  Use a unique call ID for each tool invocation.";
const REUSED_COMPLETED: &str = "Model reused a completed tool call ID for a different invocation. \
                                Use a unique call ID for each tool invocation.";
const REUSED_HIDDEN: &str =
    "Model reused a tool call ID for a different invocation. Use a unique call ID for each tool invocation.";
const EMPTY_ID: &str = "Tool invocations require a non-empty string call ID before execution.";

/// Starts a run whose first turn has made call `c1` of `weather` with these arguments.
fn after_call(arguments: &str) -> ByHand {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c1", "weather", arguments)]).unwrap();
    run.tools_return(&["sunny"]);
    run
}

#[rstest]
#[case::word_for_word(r#"{"a":1,"b":2}"#, r#"{"a":1,"b":2}"#)]
#[case::as_json(r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1 }"#)]
#[case::no_json("not json", "not json")]
fn the_same_call_twice_in_a_response_runs_once(#[case] first: &str, #[case] second: &str) {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c1", "weather", first), call("c1", "weather", second)]).unwrap();
    let due: Vec<String> = run.due_calls().into_iter().map(|call| call.arguments).collect();
    assert_eq!(due, [first]);
    assert_eq!(run.transcript(), ["triage: tool_call_item c1"]);
}

#[rstest]
#[case::other_arguments(call("c1", "weather", r#"{"a":2}"#))]
#[case::a_float_for_an_integer(call("c1", "weather", r#"{"a":1.0}"#))]
#[case::other_tool(call("c1", "time", r#"{"a":1}"#))]
#[case::a_handoff(call("c1", "transfer_to_sales", r#"{"a":1}"#))]
#[case::other_namespace(call("c1", "weather", r#"{"a":1}"#).with("namespace", json!("crm")))]
fn a_reused_call_id_is_an_error_of_the_model(#[case] second: Item) {
    let first = call("c1", "weather", r#"{"a":1}"#);
    let error = ByHand::start().turn(setup(), vec![first, second.clone()]).unwrap_err();
    assert_eq!(error.to_string(), misbehaved(REUSED_IN_RESPONSE, 1));

    let mut run = after_call(r#"{"a":1}"#);
    let error = run.turn(setup(), vec![message("again"), second]).unwrap_err();
    assert_eq!(error.to_string(), misbehaved(REUSED_COMPLETED, 2));
    assert_eq!(
        run.transcript(),
        ["triage: tool_call_item c1", "triage: tool_call_output_item c1 = sunny"],
        "nothing of the response stays"
    );
}

#[test]
fn a_reused_call_id_counts_for_more_than_an_unknown_tool() {
    let output = vec![call("c1", "nonsense", "{}"), call("c2", "weather", "{}"), call("c2", "time", "{}")];
    let error = ByHand::start().turn(setup(), output).unwrap_err();
    assert_eq!(error.to_string(), misbehaved(REUSED_IN_RESPONSE, 1));
}

#[rstest]
#[case::empty(call("", "weather", "{}"))]
#[case::absent(call("c1", "weather", "{}").without("call_id"))]
#[case::no_string(call("c1", "weather", "{}").with("call_id", json!(7)))]
#[case::of_a_handoff(call("", "transfer_to_sales", "{}"))]
fn a_call_needs_an_id(#[case] call: Item) {
    let error = ByHand::start().turn(setup(), vec![call]).unwrap_err();
    assert_eq!(error.to_string(), misbehaved(EMPTY_ID, 1));
}

#[test]
fn a_completed_call_that_comes_again_is_dropped_and_the_model_is_asked_again() {
    let mut run = after_call(r#"{"a":1}"#);
    run.turn(setup(), vec![call("c1", "weather", r#"{ "a": 1 }"#)]).unwrap();
    assert_eq!(run.next(), turn_due("triage", 3));
    assert_eq!(run.transcript(), ["triage: tool_call_item c1", "triage: tool_call_output_item c1 = sunny"]);
}

#[test]
fn a_completed_call_that_comes_again_beside_a_new_one_leaves_the_new_one() {
    let mut run = after_call("{}");
    run.turn(setup(), vec![call("c1", "weather", "{}"), call("c2", "time", "{}")]).unwrap();
    let due: Vec<String> = run.due_calls().into_iter().map(|call| call.call_id).collect();
    assert_eq!(due, ["c2"]);
}

#[test]
fn a_completed_call_that_comes_again_beside_a_message_ends_the_run_with_the_message() {
    let mut run = after_call("{}");
    run.turn(setup(), vec![call("c1", "weather", "{}"), message("sunny")]).unwrap();
    assert_eq!(run.output(), "sunny");
}

#[test]
fn all_reasoning_that_leads_to_a_dropped_call_is_dropped_and_no_other() {
    let mut run = after_call("{}");
    let output = vec![
        reasoning("rs_1"),
        call("c2", "time", "{}"),
        reasoning("rs_2"),
        reasoning("rs_3"),
        call("c1", "weather", "{}"),
        reasoning("rs_4"),
    ];
    run.turn(setup(), output.clone()).unwrap();
    assert_eq!(run.raw_items()[2..], [output[0].clone(), output[1].clone(), output[5].clone()]);
}

#[test]
fn a_dropped_call_does_not_reset_the_tool_choice_of_an_agent_that_used_no_tool() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c1", "weather", "{}"), call("h1", "transfer_to_refunds", "{}")]).unwrap();
    run.tools_return(&["sunny"]);
    run.hand_off();
    run.turn(setup(), vec![call("c1", "weather", "{}")]).unwrap();
    assert_eq!(run.next(), turn_due("refunds", 3), "a call id names one call, whichever agent makes it");
    assert!(!run.engine.tools_used().contains_key("refunds"));
}

#[test]
fn a_handoff_that_comes_again_is_dropped() {
    let mut run = ByHand::start();
    let to_refunds = || call("h1", "transfer_to_refunds", "{}");
    run.turn(setup(), vec![to_refunds(), to_refunds()]).unwrap();
    run.hand_off();
    assert_eq!(run.transcript().len(), 2, "no handoff beside it was ignored");
    run.turn(setup(), vec![to_refunds()]).unwrap();
    assert_eq!(run.next(), turn_due("refunds", 3));
}

#[test]
fn a_call_of_the_callers_own_input_is_not_one_of_this_run() {
    let input = vec![call("c1", "weather", "{}"), Item::function_call_output("c1", "rainy".into())];
    let mut run = ByHand::begin(Beginning { input, ..beginning() }, Rules::default());
    run.turn(setup(), vec![call("c1", "weather", r#"{"a":1}"#)]).unwrap();
    assert_eq!(run.due().len(), 1);
}

#[rstest]
#[case::the_same("{}", None)]
#[case::another(r#"{"a":1}"#, Some(REUSED_HIDDEN))]
fn a_call_that_a_handoff_hid_from_the_model_was_made_all_the_same(
    #[case] arguments: &str,
    #[case] complaint: Option<&str>,
) {
    let mut run = after_call("{}");
    run.turn(setup(), vec![call("h1", "transfer_to_refunds", "{}")]).unwrap();
    run.hand_off_with(Some(HandoffInputData::new(vec![], vec![], vec![])));
    let ended = run.turn(setup(), vec![call("c1", "weather", arguments)]);
    let complaint = complaint.map(|text| format!(r#"{text} (model behaviour, agent "refunds", turn 3)"#));
    assert_eq!(ended.err().map(|error| error.to_string()), complaint);
    if complaint.is_none() {
        assert_eq!(run.next(), turn_due("refunds", 4));
    }
}
