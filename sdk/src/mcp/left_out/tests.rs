use serde_json::json;

use super::within_bounds;

#[test]
fn a_tool_with_a_schema_beyond_the_bounds_is_left_out_and_named() {
    let small = json!({"name": "small", "inputSchema": {"type": "object"}});
    let large = json!({"name": "large", "inputSchema": {"description": "x".repeat(70_000)}});
    let listed = within_bounds("files", json!({"tools": [large, small]}));
    let reason = "its schema has 70018 bytes, the limit is 65536; configure the server to list a smaller one";
    assert_eq!(listed, json!({"tools": [small], "leftOut": [{"name": "large", "reason": reason}]}));
}

#[test]
fn a_list_within_the_bounds_stays_as_it_is() {
    let list = json!({"tools": [{"name": "small"}, {"name": "odd", "inputSchema": {"pattern": "(?=a)"}}]});
    assert_eq!(within_bounds("files", list.clone()), list);
}
