use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::wire::ItemView;

fn item(value: Value) -> Item {
    Item::try_from(value).expect("it is an object")
}

#[rstest]
#[case::shell(
    json!({"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}}),
    ("shell", json!({"commands": ["ls"]}))
)]
#[case::local_shell(
    json!({"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls", "-l"]}}),
    ("local_shell", json!({"type": "exec", "command": ["ls", "-l"]}))
)]
#[case::patch(
    json!({"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file", "path": "a"}}),
    ("apply_patch", json!({"type": "delete_file", "path": "a"}))
)]
#[case::computer(
    json!({"type": "computer_call", "call_id": "c", "action": {"type": "wait"}, "pending_safety_checks": [{"id": "s"}]}),
    ("computer_use_preview", json!({"action": {"type": "wait"}, "pending_safety_checks": [{"id": "s"}]}))
)]
#[case::custom(
    json!({"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"}),
    ("sql", json!({"input": "select 1"}))
)]
#[case::nothing(json!({"type": "shell_call", "call_id": "c"}), ("shell", json!({})))]
fn a_call_has_a_name_and_arguments(#[case] call: Value, #[case] (name, arguments): (&str, Value)) {
    let call = item(call);
    let ItemView::NativeCall { call, .. } = call.view() else { panic!("it is a native call") };
    assert_eq!((call.name, call.call_id), (name, "c"));
    assert_eq!(serde_json::from_str::<Value>(&call.arguments).expect("it is JSON"), arguments);
}

#[rstest]
#[case::text("two files", json!([{"stdout": "two files", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]))]
#[case::code(
    r#"{"stdout": "", "stderr": "no such file", "exit_code": 2}"#,
    json!([{"stdout": "", "stderr": "no such file", "outcome": {"type": "exit", "exit_code": 2}}])
)]
#[case::list(
    r#"[{"stdout": "a"}, {"stderr": "b", "outcome": {"type": "timeout"}}]"#,
    json!([
        {"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        {"stdout": "", "stderr": "b", "outcome": {"type": "timeout"}}
    ])
)]
#[case::other_json(
    r#"{"files": 2}"#,
    json!([{"stdout": "{\"files\": 2}", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}])
)]
#[case::no_list("[]", json!([{"stdout": "[]", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]))]
fn the_output_of_a_shell_is_a_list(#[case] text: &str, #[case] output: Value) {
    let made = NativeKind::Shell.output("c", r#"{"commands": ["ls"]}"#, &text.into(), false);
    assert_eq!(made.to_value(), json!({"type": "shell_call_output", "call_id": "c", "output": output}));
}

#[test]
fn failures_and_rejections_have_the_form_of_each_kind() {
    let made = |kind: NativeKind, arguments: &str| {
        let made = kind.output("c", arguments, &"Not today.".into(), true).to_value();
        assert_eq!(made["is_error"], true);
        made
    };
    let shell = made(NativeKind::Shell, r#"{"max_output_length": 10}"#);
    let exit = json!({"stdout": "", "stderr": "Not today.", "outcome": {"type": "exit", "exit_code": 1}});
    assert_eq!((&shell["output"], &shell["max_output_length"]), (&json!([exit]), &json!(10)));
    let patch = made(NativeKind::ApplyPatch, "{}");
    assert_eq!((&patch["status"], &patch["output"]), (&json!("failed"), &json!("Not today.")));
    assert_eq!(made(NativeKind::Custom, "{}")["output"], "Not today.");
    assert_eq!(made(NativeKind::LocalShell, "{}")["output"], "Not today.");
}

#[test]
fn a_computer_returns_an_image_and_what_a_person_has_acknowledged() {
    let image = "data:image/png;base64,AAAA";
    let part = ToolOutput::Content(vec![json!({"type": "input_image", "image_url": image})]);
    let arguments = r#"{"action": {"type": "wait"}, "pending_safety_checks": [{"id": "s"}]}"#;
    for output in [ToolOutput::from(image), part] {
        assert!(NativeKind::Computer.takes(&output));
        let made = NativeKind::Computer.output("c", arguments, &output, false);
        let expected = json!({
            "type": "computer_call_output",
            "call_id": "c",
            "output": {"type": "computer_screenshot", "image_url": image},
            "acknowledged_safety_checks": [{"id": "s"}],
        });
        assert_eq!(made.to_value(), expected);
    }
    assert!(!NativeKind::Computer.takes(&"clicked".into()));
    assert!(NativeKind::Shell.takes(&"clicked".into()));
}

#[test]
fn the_types_of_calls_and_outputs_are_known_both_ways() {
    for kind in NativeKind::ALL {
        assert_eq!(NativeKind::of_call(kind.call_type()), Some(kind));
        assert_eq!(NativeKind::of_output(kind.output_type()), Some(kind));
    }
    assert_eq!(NativeKind::of_call("function_call"), None);
    assert_eq!(NativeKind::of_output("function_call_output"), None);
}

#[test]
fn a_call_that_the_provider_has_made_is_none_of_the_run() {
    let shell = item(json!({"type": "shell_call", "call_id": "c1", "action": {}}));
    let output = item(json!({"type": "shell_call_output", "call_id": "c1", "output": []}));
    let function = item(json!({"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}"}));
    let response = [shell.clone(), output, function.clone()];
    assert!(call_of(&shell, &response).is_none());
    assert!(call_of(&shell, &response[..1]).is_some());
    assert!(call_of(&function, &response).is_some());
}

#[rstest]
#[case::of_a_computer(NativeKind::Computer, r#"{"pending_safety_checks": [{"id": "s"}]}"#, true)]
#[case::none(NativeKind::Computer, r#"{"pending_safety_checks": []}"#, false)]
#[case::absent(NativeKind::Computer, "{}", false)]
#[case::of_another_kind(NativeKind::Custom, r#"{"pending_safety_checks": [{"id": "s"}]}"#, false)]
fn safety_checks_are_those_of_a_computer(#[case] kind: NativeKind, #[case] arguments: &str, #[case] has_checks: bool) {
    assert_eq!(kind.has_safety_checks(arguments), has_checks);
}
