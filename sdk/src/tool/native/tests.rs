use serde_json::{Map, json};

use super::*;
use crate::tool::{RunContext, Tool};

fn run() -> ToolDef {
    ToolDef::client("run", "Runs it.", json!({"type": "object"}))
}

#[test]
fn a_tool_in_place_of_a_native_one_is_offered_as_that_one() {
    let shell = run().native(NativeTool::shell());
    assert_eq!((shell.name(), shell.native_kind()), ("shell", Some(NativeKind::Shell)));
    assert!(shell.issues().is_empty(), "the model does not see the schema: {:?}", shell.issues());
    let config = json!({"type": "shell", "environment": {"type": "local"}});
    let ToolSpec::Hosted { name, config: offered } = shell.spec() else { panic!("it is no function") };
    assert_eq!((&*name, json!(offered)), ("shell", config));
    let sql = run().native(NativeTool::custom("sql", "Queries.").set("format", json!({"type": "text"})));
    assert_eq!((sql.name(), sql.spec().name()), ("sql", "sql"));
}

#[test]
fn a_computer_with_safety_checks_asks_and_another_rule_stays() {
    let computer = run().native(NativeTool::computer(1024, 768, "browser"));
    let NeedsApproval::When(asks) = computer.approval_rule() else { panic!("it has a rule") };
    let asks = |arguments: Value| {
        let arguments: Map<_, _> = arguments.as_object().cloned().expect("it is an object");
        asks(&RunContext::default(), &arguments, "c1")
    };
    assert!(asks(json!({"pending_safety_checks": [{"id": "s"}]})));
    assert!(!asks(json!({"pending_safety_checks": []})) && !asks(json!({})));
    let always = run().needs_approval().native(NativeTool::computer(1024, 768, "browser"));
    assert!(matches!(always.approval_rule(), NeedsApproval::Always));
}
