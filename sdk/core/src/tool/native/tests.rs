use serde_json::json;

use super::*;
use crate::tool::Tool;

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
fn two_tools_in_place_of_one_kind_are_two_activities() {
    let of = |name: &str| ToolDef::client(name, "Runs it.", json!({"type": "object"})).native(NativeTool::shell());
    assert_eq!(of("in_sandbox").activity_type(), "agents.tool.in_sandbox");
    assert_eq!(of("on_host").activity_type(), "agents.tool.on_host");
}
