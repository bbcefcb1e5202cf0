//! Tool calls: the calls that run, and the order of their items.

use super::*;

fn planned(call_id: &str, tool: &str, arguments: &str) -> PlannedCall {
    PlannedCall {
        tool: tool.to_owned(),
        variant: 0,
        call_id: call_id.to_owned(),
        arguments: arguments.to_owned(),
        native: None,
    }
}

fn due(index: usize, call: PlannedCall) -> DueCall {
    DueCall {
        index,
        call,
        is_known: true,
        decision: None,
        is_permanent: false,
        is_for_good: false,
        paused: None,
        answers: Vec::new(),
    }
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
            calls: vec![due(0, planned("c1", "time", "{}")), due(1, planned("c2", "weather", r#"{"city": "Oslo"}"#)),],
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
    run.tools_come_to(vec![CallResult::Output(ToolOutput::Content(parts.as_array().unwrap().clone()))]);
    let sent = run.prepare(setup()).input.pop().unwrap();
    assert_eq!(sent.to_value(), json!({"type": "function_call_output", "call_id": "c1", "output": parts}));
}

#[test]
fn an_unknown_tool_ends_the_run_and_nothing_of_its_response_stays() {
    let mut run = ByHand::start();
    let output = vec![message("a moment"), call("c1", "weather", "{}"), call("c2", "nonsense", "{}"), message("?")];
    let error = run.turn(setup(), output).unwrap_err();
    assert_eq!(error.to_string(), misbehaved("Tool nonsense not found in agent triage", 1));
    assert_eq!(run.transcript(), [""; 0]);
}

#[test]
fn the_first_unknown_tool_of_a_response_is_named() {
    let output = vec![call("c1", "nonsense", "{}"), call("c2", "rubbish", "{}")];
    let error = ByHand::start().turn(setup(), output).unwrap_err();
    assert_eq!(error.to_string(), misbehaved("Tool nonsense not found in agent triage", 1));
}

#[test]
fn a_model_that_is_told_of_an_unknown_tool_gets_the_outputs_of_known_ones_first() {
    let mut run = ByHand::with_rules(telling_the_model());
    run.turn(setup(), vec![call("c1", "nonsense", "{}"), call("c2", "weather", "{}")]).unwrap();
    assert_eq!(run.due().iter().map(|due| due.is_known).collect::<Vec<_>>(), [false, true]);
    run.tools_return(&["Tool 'nonsense' not found.", "sunny"]);
    assert_eq!(
        run.transcript()[2..],
        ["triage: tool_call_output_item c2 = sunny", "triage: tool_call_output_item c1 = Tool 'nonsense' not found."]
    );
    assert_eq!(run.next(), turn_due("triage", 2));
}

#[test]
fn a_hosted_tool_cannot_be_called_as_a_function() {
    let mut setup = setup();
    setup.definitions.tools.push(ToolSpec::Hosted { name: "web_search".to_owned(), config: Map::new() });
    let error = ByHand::start().turn(setup, vec![call("c1", "web_search", "{}")]).unwrap_err();
    assert_eq!(error.to_string(), misbehaved("Tool web_search not found in agent triage", 1));
}

#[test]
fn a_call_with_a_namespace_is_never_a_handoff() {
    let of_another = "Tool crm.transfer_to_sales not found in agent triage";
    let error = ByHand::start().turn(setup(), vec![namespaced("c1", "transfer_to_sales")]).unwrap_err();
    assert_eq!(error.to_string(), misbehaved(of_another, 1));

    let mut with_tool = setup();
    with_tool.definitions.tools.push(tool("transfer_to_sales"));
    let error = ByHand::start().turn(with_tool.clone(), vec![namespaced("c1", "transfer_to_sales")]).unwrap_err();
    assert_eq!(error.to_string(), misbehaved(of_another, 1));

    let mut run = ByHand::start();
    let own = namespaced("c1", "transfer_to_sales").with("namespace", json!("transfer_to_sales"));
    run.turn(with_tool, vec![own]).unwrap();
    assert_eq!(run.due_calls(), [planned("c1", "transfer_to_sales", "{}")]);
}

#[test]
fn what_the_guardrails_of_tools_found_stands_in_call_order() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c1", "time", "{}"), call("c2", "weather", "{}")]).unwrap();
    let found = |index: usize, before: &str, after: &str| ToolOutcome {
        input_guardrails: vec![finding(before)],
        output_guardrails: vec![finding(after)],
        ..outcome(index, CallResult::Output("done".into()))
    };
    run.resolve(Resolution::ToolsRan(vec![found(0, "a", "b"), found(1, "c", "d")])).unwrap();
    let GuardrailResults { tool_input, tool_output, .. } = &run.engine.state().guardrails;
    assert_eq!(
        (&tool_input[..], &tool_output[..]),
        (&[finding("a"), finding("c")][..], &[finding("b"), finding("d")][..])
    );
}
