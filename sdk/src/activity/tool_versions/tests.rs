use serde_json::{Map, Value, json};
use temporal_agents_core::tool::ToolDef;

use super::place_that_fits;

fn order(members: &[&str], required: &[&str]) -> ToolDef {
    let properties: Map<String, Value> =
        members.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    let parameters = json!({"type": "object", "properties": properties, "required": required});
    let binding =
        ToolDef::activity("order", "Orders.", |_, (): ()| Box::pin(async { Ok("".into()) })).binding().clone();
    ToolDef::new("order", "Orders.", parameters, binding)
}

fn place(tools: &[&ToolDef], arguments: Value) -> Option<usize> {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    place_that_fits(tools, &arguments)
}

#[test]
fn a_call_without_a_digest_is_for_the_only_version_whatever_its_arguments_are() {
    let only = order(&["article"], &["article"]);
    assert_eq!(place(&[&only], json!({"details": "red"})), Some(0));
}

#[test]
fn a_call_without_a_digest_is_for_a_marked_version_only_where_its_arguments_fit() {
    let only = order(&["article"], &["article"]).versioned();
    assert_eq!(place(&[&only], json!({"article": "pen"})), Some(0));
    assert_eq!(place(&[&only], json!({"details": "red"})), None);
}

#[test]
fn required_and_unknown_members_tell_versions_apart() {
    let (old, new) = (order(&["article"], &["article"]), order(&["article", "details"], &["article", "details"]));
    for tools in [[&old, &new], [&new, &old]] {
        let chosen = |arguments| place(&tools, arguments).map(|place| tools[place].accepts());
        assert_eq!(chosen(json!({"article": "pen"})), Some(old.accepts()));
        assert_eq!(chosen(json!({"article": "pen", "details": "red"})), Some(new.accepts()));
        assert_eq!(chosen(json!({"details": "red"})), None);
    }
}

#[test]
fn a_call_whose_arguments_fit_several_versions_is_for_the_unmarked_one() {
    let (old, new) = (order(&["article"], &["article"]), order(&["article", "details"], &["article"]).versioned());
    for tools in [[&old, &new], [&new, &old]] {
        let chosen = |arguments| place(&tools, arguments).map(|place| tools[place].accepts());
        assert_eq!(chosen(json!({"article": "pen"})), Some(old.accepts()));
        assert_eq!(chosen(json!({"article": "pen", "details": "red"})), Some(new.accepts()));
    }
}
