//! Tool calls: which run, in which order their items stand, and the identity of call ids.

use rstest::rstest;

use super::*;

const REUSED_IN_RESPONSE: &str = "Model reused a tool call ID for a different invocation in one response. \
                                  Use a unique call ID for each tool invocation.";
const REUSED_COMPLETED: &str = "Model reused a completed tool call ID for a different invocation. \
                                Use a unique call ID for each tool invocation.";
const EMPTY_ID: &str = "Tool invocations require a non-empty string call ID before execution.";

fn planned(call_id: &str, tool: &str, arguments: &str) -> PlannedCall {
    PlannedCall { tool: tool.to_owned(), call_id: call_id.to_owned(), arguments: arguments.to_owned() }
}

fn misbehaved(message: &str, turn: u32) -> String {
    format!(r#"{message} (model behaviour, agent "triage", turn {turn})"#)
}

fn namespaced(call_id: &str, name: &str) -> Item {
    call(call_id, name, "{}").with("namespace", json!("crm"))
}

#[test]
fn all_items_of_a_response_stand_before_the_outputs_which_stand_in_call_order() {
    let mut run = ByHand::start();
    let output = vec![call("c1", "time", "{}"), message("a moment"), call("c2", "weather", r#"{"city": "Oslo"}"#)];
    run.turn(setup(), output).unwrap();
    assert_eq!(
        run.next(),
        Step::CallTools {
            agent: "triage".to_owned(),
            turn: 1,
            calls: vec![planned("c1", "time", "{}"), planned("c2", "weather", r#"{"city": "Oslo"}"#)],
        }
    );
    run.tools_return(&["noon", "sunny"]);
    assert_eq!(
        run.transcript(),
        [
            "triage: tool_call_item c1",
            "triage: message_output_item a moment",
            "triage: tool_call_item c2",
            "triage: tool_call_output_item c1 = noon",
            "triage: tool_call_output_item c2 = sunny",
        ]
    );
    assert_eq!(run.next(), turn_due("triage", 2), "a message beside a tool call does not end the run");
}

#[test]
fn content_parts_go_to_the_model_as_they_are() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c1", "weather", "{}")]).unwrap();
    let parts = json!([{"type": "input_image", "image_url": "data:image/png;base64,AA=="}]);
    let output = ToolOutput::Content(parts.as_array().unwrap().clone());
    let outcome = ToolOutcome { call_id: "c1".to_owned(), output, context_patch: None };
    run.resolve(Resolution::ToolsRan(vec![outcome])).unwrap();
    let sent = run.prepare(setup()).input.pop().unwrap();
    assert_eq!(sent.to_value(), json!({"type": "function_call_output", "call_id": "c1", "output": parts}));
}

#[test]
fn an_unknown_tool_ends_the_run_and_the_items_before_it_are_kept() {
    let mut run = ByHand::start();
    let output = vec![message("a moment"), call("c1", "weather", "{}"), call("c2", "nonsense", "{}"), message("?")];
    let error = run.turn(setup(), output).unwrap_err();
    assert_eq!(error.to_string(), misbehaved("Tool nonsense not found in agent triage", 1));
    assert_eq!(run.transcript(), ["triage: message_output_item a moment", "triage: tool_call_item c1"]);
}

#[test]
fn a_hosted_tool_cannot_be_called_as_a_function() {
    let mut setup = setup();
    setup.definitions.tools.push(ToolSpec::Hosted { name: "web_search".to_owned(), config: Map::new() });
    let error = ByHand::start().turn(setup, vec![call("c1", "web_search", "{}")]).unwrap_err();
    assert_eq!(error.to_string(), misbehaved("Tool web_search not found in agent triage", 1));
}

#[rstest]
#[case::word_for_word(r#"{"a":1,"b":2}"#, r#"{"a":1,"b":2}"#)]
#[case::as_json(r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1 }"#)]
#[case::no_json("not json", "not json")]
fn the_same_call_twice_in_a_response_runs_once(#[case] first: &str, #[case] second: &str) {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c1", "weather", first), call("c1", "weather", second)]).unwrap();
    assert_eq!(run.due_calls(), [planned("c1", "weather", first)]);
    assert_eq!(run.transcript(), ["triage: tool_call_item c1"]);
}

#[rstest]
#[case::other_arguments(call("c1", "weather", r#"{"a":2}"#))]
#[case::other_tool(call("c1", "time", r#"{"a":1}"#))]
#[case::a_handoff(call("c1", "transfer_to_sales", r#"{"a":1}"#))]
#[case::other_namespace(call("c1", "weather", r#"{"a":1}"#).with("namespace", json!("crm")))]
fn a_reused_call_id_is_an_error_of_the_model(#[case] second: Item) {
    let first = call("c1", "weather", r#"{"a":1}"#);
    let error = ByHand::start().turn(setup(), vec![first.clone(), second.clone()]).unwrap_err();
    assert_eq!(error.to_string(), misbehaved(REUSED_IN_RESPONSE, 1));

    let mut run = ByHand::start();
    run.turn(setup(), vec![first]).unwrap();
    run.tools_return(&["sunny"]);
    let error = run.turn(setup(), vec![second]).unwrap_err();
    assert_eq!(error.to_string(), misbehaved(REUSED_COMPLETED, 2));
}

#[test]
fn a_completed_call_that_comes_again_is_dropped_and_the_model_is_asked_again() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c1", "weather", r#"{"a":1}"#)]).unwrap();
    run.tools_return(&["sunny"]);
    run.turn(setup(), vec![call("c1", "weather", r#"{ "a": 1 }"#)]).unwrap();
    assert_eq!(run.next(), turn_due("triage", 3));
    assert_eq!(run.transcript(), ["triage: tool_call_item c1", "triage: tool_call_output_item c1 = sunny"]);
}

#[test]
fn a_completed_call_that_comes_again_beside_a_new_one_leaves_the_new_one() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c1", "weather", "{}")]).unwrap();
    run.tools_return(&["sunny"]);
    run.turn(setup(), vec![call("c1", "weather", "{}"), call("c2", "time", "{}")]).unwrap();
    assert_eq!(run.due_calls(), [planned("c2", "time", "{}")]);
}

#[test]
fn a_completed_call_that_comes_again_beside_a_message_ends_the_run_with_the_message() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c1", "weather", "{}")]).unwrap();
    run.tools_return(&["sunny"]);
    run.turn(setup(), vec![call("c1", "weather", "{}"), message("sunny")]).unwrap();
    assert_eq!(run.next(), done("sunny"));
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
fn a_call_with_a_namespace_is_never_a_handoff() {
    let error = ByHand::start().turn(setup(), vec![namespaced("c1", "transfer_to_sales")]).unwrap_err();
    assert_eq!(error.to_string(), misbehaved("Tool transfer_to_sales not found in agent triage", 1));

    let mut with_tool = setup();
    with_tool.definitions.tools.push(tool("transfer_to_sales"));
    let of_another = ByHand::start().turn(with_tool.clone(), vec![namespaced("c1", "transfer_to_sales")]).unwrap_err();
    assert_eq!(of_another.to_string(), misbehaved("Tool transfer_to_sales not found in agent triage", 1));

    let mut run = ByHand::start();
    let own = namespaced("c1", "transfer_to_sales").with("namespace", json!("transfer_to_sales"));
    run.turn(with_tool, vec![own]).unwrap();
    assert_eq!(run.due_calls(), [planned("c1", "transfer_to_sales", "{}")]);
}

#[test]
#[should_panic(expected = "one outcome per call")]
fn an_outcome_too_few_is_a_bug_of_the_driver() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c1", "weather", "{}"), call("c2", "time", "{}")]).unwrap();
    run.tools_return(&["sunny"]);
}
