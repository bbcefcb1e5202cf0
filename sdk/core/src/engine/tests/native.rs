//! Calls of tools that the provider defines.

use super::*;

/// The setup of an agent with a shell, whose calls the run executes if `is_bound`.
fn with_shell(is_bound: bool) -> TurnSetup {
    let mut setup = setup();
    let config = json!({"type": "shell", "environment": {"type": "local"}}).as_object().cloned().unwrap();
    setup.definitions.tools.push(ToolSpec::Hosted { name: "shell".to_owned(), config });
    if is_bound {
        setup.native_tools.push("shell".to_owned());
    }
    setup
}

fn shell_call(call_id: &str, command: &str) -> Item {
    let action = json!({"commands": [command], "max_output_length": 100});
    item(json!({"type": "shell_call", "id": format!("sh_{call_id}"), "call_id": call_id, "action": action}))
}

#[test]
fn a_native_call_is_a_call_of_the_agents_tool_and_has_an_output_of_its_kind() {
    let mut run = ByHand::start();
    run.turn(with_shell(true), vec![shell_call("c1", "ls"), call("c2", "weather", "{}")]).unwrap();
    let Step::CallTools { calls, .. } = run.next() else { panic!("tools are due") };
    let planned: Vec<_> = calls.iter().map(|due| (&*due.call.tool, &*due.call.call_id)).collect();
    assert_eq!(planned, [("shell", "c1"), ("weather", "c2")]);
    assert_eq!(calls[0].call.arguments, r#"{"commands":["ls"],"max_output_length":100}"#);
    run.tools_return(&["a.txt", "sunny"]);
    let input = run.prepare(with_shell(true)).input;
    let outputs: Vec<_> = input[input.len() - 2..].iter().map(Item::to_value).collect();
    let listed = json!({"stdout": "a.txt", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}});
    assert_eq!(
        outputs,
        [
            json!({"type": "shell_call_output", "call_id": "c1", "output": [listed], "max_output_length": 100}),
            json!({"type": "function_call_output", "call_id": "c2", "output": "sunny"}),
        ]
    );
}

#[test]
fn a_native_call_that_nothing_makes_ends_the_run_unless_an_earlier_build_made_it() {
    let mut run = ByHand::start();
    let error = run.turn(with_shell(false), vec![shell_call("c1", "ls")]).unwrap_err();
    let RunError::User { agent, message, .. } = error else { panic!("{error}") };
    assert_eq!(agent, "triage");
    assert!(message.starts_with("the model called tool \"shell\", which nothing runs: give agent"), "{message}");

    let mut earlier = ByHand::start();
    earlier.prepare(with_shell(false));
    let response = response(vec![shell_call("c1", "ls")]);
    assert!(earlier.engine.has_call_that_nothing_makes(&response));
    assert!(!earlier.engine.patched(NATIVE_CALLS_MADE, || false));
    earlier.resolve(Resolution::Answered(response)).unwrap();
    assert!(matches!(earlier.next(), Step::PrepareTurn { .. }), "the model is called again");
}

#[test]
fn a_native_call_that_the_provider_answers_is_not_made() {
    let mut run = ByHand::start();
    let output = item(json!({"type": "shell_call_output", "call_id": "c1", "output": []}));
    run.turn(with_shell(false), vec![shell_call("c1", "ls"), output, message("done")]).unwrap();
    assert_eq!(run.output(), "done");
}

#[test]
fn a_native_call_is_made_once() {
    let mut run = ByHand::start();
    run.turn(with_shell(true), vec![shell_call("c1", "ls"), shell_call("c1", "ls")]).unwrap();
    let Step::CallTools { calls, .. } = run.next() else { panic!("tools are due") };
    assert_eq!(calls.len(), 1);
    run.tools_return(&["a.txt"]);
    let error = run.turn(with_shell(true), vec![shell_call("c1", "rm a.txt")]).unwrap_err();
    assert!(matches!(error, RunError::CallIdReused { .. }), "{error}");
    let error = ByHand::start().turn(with_shell(true), vec![shell_call("", "ls")]).unwrap_err();
    assert!(matches!(error, RunError::CallIdReused { .. }), "{error}");
}

#[test]
fn a_native_call_waits_for_a_decision_with_its_arguments() {
    let mut run = ByHand::start();
    run.turn(with_shell(true), vec![shell_call("c1", "rm -r a")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    let asked = run.engine.state().interruptions();
    assert_eq!(
        (&*asked[0].tool, &*asked[0].arguments()),
        ("shell", r#"{"commands":["rm -r a"],"max_output_length":100}"#)
    );
    assert_eq!(asked[0].raw.kind(), "shell_call");
}

#[test]
fn a_custom_tool_by_its_own_name_was_unknown_to_earlier_builds() {
    let mut with_sql = setup();
    let config = json!({"type": "custom", "name": "sql"}).as_object().cloned().unwrap();
    with_sql.definitions.tools.push(ToolSpec::Hosted { name: "sql".to_owned(), config });
    let called = item(json!({"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "select 1"}));
    let mut earlier = ByHand::start();
    earlier.prepare(with_sql.clone());
    let response = response(vec![called.clone()]);
    assert!(earlier.engine.has_call_that_nothing_makes(&response));
    earlier.engine.patched(NATIVE_CALLS_MADE, || false);
    let error = earlier.resolve(Resolution::Answered(response)).unwrap_err();
    assert!(error.to_string().starts_with("Model produced custom tool call without a custom tool."), "{error}");
    let error = ByHand::start().turn(with_sql, vec![called]).unwrap_err();
    assert!(error.to_string().contains("which nothing runs"), "{error}");
}

#[test]
fn a_native_call_that_the_provider_answers_is_not_made_by_a_tool_either() {
    let mut run = ByHand::start();
    let output = item(json!({"type": "shell_call_output", "call_id": "c1", "output": []}));
    run.turn(with_shell(true), vec![shell_call("c1", "ls"), output, message("done")]).unwrap();
    assert_eq!(run.output(), "done");
}

#[test]
fn a_function_call_cannot_have_the_id_of_a_native_call() {
    let function = || call("c1", "weather", r#"{"commands": ["ls"]}"#);
    let error = ByHand::start().turn(with_shell(true), vec![shell_call("c1", "rm -r a"), function()]).unwrap_err();
    assert!(matches!(error, RunError::CallIdReused { .. }), "{error}");
    let mut run = ByHand::start();
    run.turn(with_shell(true), vec![shell_call("c1", "ls")]).unwrap();
    run.tools_return(&["a.txt"]);
    let error = run.turn(with_shell(true), vec![function()]).unwrap_err();
    assert!(matches!(error, RunError::CallIdReused { .. }), "{error}");
}

#[test]
fn the_output_of_an_edited_call_repeats_what_the_model_wrote() {
    let mut run = ByHand::start();
    run.turn(with_shell(true), vec![shell_call("c1", "rm -r a")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    let edited = json!({"commands": ["ls"]}).as_object().cloned().unwrap();
    run.decide(&[("c1", Decision::approve_with(edited))]);
    run.offer(&["shell"]).unwrap();
    assert_eq!(run.due_calls()[0].arguments, r#"{"commands":["ls"]}"#);
    run.tools_return(&["a.txt"]);
    let input = run.prepare(with_shell(true)).input;
    assert_eq!(input.last().unwrap().get("max_output_length"), Some(&json!(100)));
}
