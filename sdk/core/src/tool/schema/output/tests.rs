use rstest::rstest;
use serde_json::{Value, json};

use super::{super::strict, wrap_output};

#[rstest]
#[case::object(json!({"type": "object", "properties": {"a": {"type": "null"}}}))]
#[case::object_without_type(json!({"properties": {}}))]
#[case::map(json!({"type": "object", "additionalProperties": {"type": "string"}}))]
fn an_object_stays_as_it_is(#[case] schema: Value) {
    assert_eq!(wrap_output(schema.clone()), (schema, false));
}

#[rstest]
#[case::array(json!({"type": "array", "items": {"type": "string"}}))]
#[case::number(json!({"type": "integer"}))]
#[case::nullable(json!({"type": ["object", "null"], "properties": {}}))]
#[case::union(json!({"oneOf": [{"type": "null"}, {"type": "object"}]}))]
#[case::anything(json!(true))]
fn anything_else_is_wrapped(#[case] schema: Value) {
    let wrapped = json!({"type": "object", "properties": {"response": schema}, "required": ["response"]});
    assert_eq!(wrap_output(schema), (wrapped, true));
}

#[test]
fn strict_closes_the_wrapper() {
    let (wrapped, _) = wrap_output(json!({"type": "array", "items": {"type": "string"}}));
    assert_eq!(
        strict(wrapped).unwrap().to_string(),
        json!({
            "type": "object",
            "properties": {"response": {"type": "array", "items": {"type": "string"}}},
            "required": ["response"],
            "additionalProperties": false,
        })
        .to_string()
    );
}

#[test]
fn definitions_move_to_the_root() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "array",
        "items": {"$ref": "#/$defs/Word"},
        "$defs": {"Word": {"type": "string"}},
    });
    let wrapped = json!({
        "type": "object",
        "properties": {"response": {"type": "array", "items": {"$ref": "#/$defs/Word"}}},
        "required": ["response"],
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"Word": {"type": "string"}},
    });
    assert_eq!(wrap_output(schema), (wrapped, true));
}

#[test]
fn a_root_reference_to_an_object_is_replaced_by_it() {
    let point = json!({"type": "object", "properties": {"x": {"type": "number"}}});
    let schema = json!({
        "$ref": "#/$defs/Alias",
        "$defs": {"Alias": {"$ref": "#/$defs/Point"}, "Point": point},
    });
    let inlined = json!({
        "$defs": {"Alias": {"$ref": "#/$defs/Point"}, "Point": point},
        "type": "object",
        "properties": {"x": {"type": "number"}},
    });
    assert_eq!(wrap_output(schema), (inlined, false));
}

#[test]
fn a_root_reference_to_anything_else_is_wrapped() {
    let schema = json!({"$ref": "#/$defs/Word", "$defs": {"Word": {"type": "string"}}});
    let wrapped = json!({
        "type": "object",
        "properties": {"response": {"$ref": "#/$defs/Word"}},
        "required": ["response"],
        "$defs": {"Word": {"type": "string"}},
    });
    assert_eq!(wrap_output(schema), (wrapped, true));
}

#[test]
fn a_schema_that_refers_to_its_root_becomes_a_definition() {
    let schema = json!({
        "oneOf": [
            {"type": "number"},
            {"type": "object", "properties": {"neg": {"$ref": "#"}, "first": {"$ref": "#/oneOf/0"}}},
        ],
        "$defs": {"response": {"type": "null"}},
    });
    let wrapped = json!({
        "type": "object",
        "properties": {"response": {"$ref": "#/$defs/response_"}},
        "required": ["response"],
        "$defs": {
            "response": {"type": "null"},
            "response_": {
                "oneOf": [
                    {"type": "number"},
                    {
                        "type": "object",
                        "properties": {
                            "neg": {"$ref": "#/$defs/response_"},
                            "first": {"$ref": "#/$defs/response_/oneOf/0"},
                        },
                    },
                ],
            },
        },
    });
    assert_eq!(wrap_output(schema), (wrapped, true));
}
