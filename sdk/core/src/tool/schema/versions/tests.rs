use serde_json::json;

use super::*;

#[test]
fn texts_are_left_out_wherever_a_schema_has_them_and_parameters_of_these_names_are_not() {
    let schema = json!({
        "title": "Order",
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "Of the book."},
            "kind": {"enum": ["description"], "default": "title"},
            "lines": {"items": {"anyOf": [{"$ref": "#/$defs/Line", "title": "A line"}, {"type": "null"}]}},
        },
        "required": ["title"],
        "$defs": {"Line": {"type": "string", "examples": ["x"]}},
    });
    let bare = json!({
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "kind": {"enum": ["description"], "default": "title"},
            "lines": {"items": {"anyOf": [{"$ref": "#/$defs/Line"}, {"type": "null"}]}},
        },
        "required": ["title"],
        "$defs": {"Line": {"type": "string"}},
    });
    assert_eq!(without_texts(&schema), bare);
}

#[test]
fn a_required_parameter_that_the_other_does_not_have_tells_versions_apart() {
    let order = |members: &[&str], required: &[&str]| {
        let properties: Map<String, Value> = members.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        json!({"properties": properties, "required": required})
    };
    let old = order(&["article"], &["article"]);
    assert!(are_distinguishable(&old, &order(&["article", "size"], &["article", "size"])));
    assert!(are_distinguishable(&order(&["goods"], &["goods"]), &old));
    assert!(!are_distinguishable(&old, &order(&["article", "size"], &["article"])));
    assert!(!are_distinguishable(&old, &json!({"properties": {"article": {"type": "string"}}})));
}
