#![expect(dead_code, reason = "of the types here only the schemas are used")]

use std::collections::{BTreeMap, BTreeSet};

use rstest::rstest;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    super::{NotStrict, strict, wrap_output},
    schema_of,
};

/// Where to look.
#[derive(Deserialize, JsonSchema)]
struct Search {
    /// What to look for.
    query: String,
    /// The first place.
    start: Place,
    then: Vec<Place>,
    near: Option<Place>,
    limit: Option<u64>,
    radius: f32,
    #[serde(default)]
    page: u8,
    tags: BTreeSet<String>,
    nothing: Nothing,
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
enum Units {
    Celsius,
    Fahrenheit,
}

#[derive(Deserialize, JsonSchema)]
enum Documented {
    /// Now.
    Now,
    /// Some time.
    Later,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Step {
    /// Goes there.
    Go(Place),
    Wait {
        seconds: u32,
    },
    Stop,
}

#[derive(Deserialize, JsonSchema)]
struct Tree {
    label: String,
    /// The left one.
    left: Box<Tree>,
    children: Vec<Tree>,
}

#[derive(Deserialize, JsonSchema)]
enum Expression {
    Literal(f64),
    Negative(Box<Expression>),
}

#[derive(Deserialize, JsonSchema)]
struct One<T> {
    m: T,
}

#[derive(Deserialize, JsonSchema)]
struct Flattened {
    #[serde(flatten)]
    step: Step,
}

fn strict_of<T: JsonSchema>() -> Value {
    strict(schema_of::<T>()).unwrap()
}

#[test]
fn a_struct_keeps_the_order_of_its_fields() {
    let place = json!({"$ref": "#/$defs/Place"});
    let expected = json!({
        "description": "Where to look.",
        "type": "object",
        "properties": {
            "query": {"description": "What to look for.", "type": "string"},
            "start": {"description": "The first place.", "$ref": "#/$defs/Place"},
            "then": {"type": "array", "items": place},
            "near": {"anyOf": [place, {"type": "null"}]},
            "limit": {"type": ["integer", "null"], "minimum": 0},
            "radius": {"type": "number"},
            "page": {"type": "integer", "minimum": 0, "maximum": 255, "default": 0},
            "tags": {"type": "array", "items": {"type": "string"}},
            "nothing": {"$ref": "#/$defs/Nothing"},
        },
        "required": ["query", "start", "then", "radius", "tags", "nothing"],
        "$defs": {
            "Place": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
            "Nothing": {"type": "object", "properties": {}},
        },
    });
    assert_eq!(schema_of::<Search>().to_string(), expected.to_string());
}

#[test]
fn a_struct_is_strict() {
    let place = json!({"$ref": "#/$defs/Place"});
    let expected = json!({
        "description": "Where to look.",
        "type": "object",
        "properties": {
            "query": {"description": "What to look for.", "type": "string"},
            "start": {
                "description": "The first place.",
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
                "additionalProperties": false,
            },
            "then": {"type": "array", "items": place},
            "near": {"anyOf": [place, {"type": "null"}]},
            "limit": {"type": ["integer", "null"], "minimum": 0},
            "radius": {"type": "number"},
            "page": {"type": "integer", "minimum": 0, "maximum": 255, "default": 0},
            "tags": {"type": "array", "items": {"type": "string"}},
            "nothing": {"$ref": "#/$defs/Nothing"},
        },
        "required": ["query", "start", "then", "near", "limit", "radius", "page", "tags", "nothing"],
        "$defs": {
            "Place": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
                "additionalProperties": false,
            },
            "Nothing": {"type": "object", "properties": {}, "additionalProperties": false, "required": []},
        },
        "additionalProperties": false,
    });
    assert_eq!(strict_of::<Search>().to_string(), expected.to_string());
}

#[test]
fn a_unit_enum_is_a_list_of_names() {
    let expected = json!({"type": "string", "enum": ["Celsius", "Fahrenheit"]});
    assert_eq!(strict_of::<One<Units>>()["$defs"]["Units"], expected);
}

#[test]
fn a_documented_unit_enum_is_a_union_of_constants() {
    let expected = json!({"anyOf": [
        {"description": "Now.", "type": "string", "const": "Now"},
        {"description": "Some time.", "type": "string", "const": "Later"},
    ]});
    assert_eq!(strict_of::<One<Documented>>()["$defs"]["Documented"], expected);
}

#[test]
fn an_internally_tagged_enum_is_a_union_of_closed_objects() {
    let expected = json!({"anyOf": [
        {
            "description": "Goes there.",
            "type": "object",
            "properties": {"kind": {"type": "string", "const": "go"}, "name": {"type": "string"}},
            "required": ["kind", "name"],
            "additionalProperties": false,
        },
        {
            "type": "object",
            "properties": {"kind": {"type": "string", "const": "wait"}, "seconds": {"type": "integer", "minimum": 0}},
            "required": ["kind", "seconds"],
            "additionalProperties": false,
        },
        {
            "type": "object",
            "properties": {"kind": {"type": "string", "const": "stop"}},
            "required": ["kind"],
            "additionalProperties": false,
        },
    ]});
    assert_eq!(strict_of::<One<Step>>()["$defs"]["Step"].to_string(), expected.to_string());
}

#[test]
fn a_recursive_struct_refers_to_its_root() {
    let expected = json!({
        "type": "object",
        "properties": {
            "label": {"type": "string"},
            "left": {"description": "The left one.", "anyOf": [{"$ref": "#"}]},
            "children": {"type": "array", "items": {"$ref": "#"}},
        },
        "required": ["label", "left", "children"],
        "additionalProperties": false,
    });
    assert_eq!(strict_of::<Tree>(), expected);
}

#[test]
fn a_recursive_enum_is_wrapped_as_a_definition() {
    let (schema, wrapped) = wrap_output(schema_of::<Expression>());
    let expected = json!({
        "type": "object",
        "properties": {"response": {"$ref": "#/$defs/response"}},
        "required": ["response"],
        "$defs": {"response": {"anyOf": [
            {
                "type": "object",
                "properties": {"Literal": {"type": "number"}},
                "required": ["Literal"],
                "additionalProperties": false,
            },
            {
                "type": "object",
                "properties": {"Negative": {"$ref": "#/$defs/response"}},
                "required": ["Negative"],
                "additionalProperties": false,
            },
        ]}},
        "additionalProperties": false,
    });
    assert_eq!((strict(schema).unwrap(), wrapped), (expected, true));
}

#[test]
fn any_json_is_true() {
    assert_eq!(schema_of::<Value>(), json!(true));
}

#[rstest]
#[case::map(schema_of::<One<BTreeMap<String, u8>>>(), "#/properties/m/additionalProperties", "a map")]
#[case::map_of_numbers(schema_of::<One<BTreeMap<u32, u8>>>(), "#/properties/m", "a map")]
#[case::json_object(schema_of::<serde_json::Map<String, Value>>(), "#/additionalProperties", "a map")]
#[case::value(schema_of::<One<Value>>(), "#/properties/m", "any value")]
#[case::values(schema_of::<One<Vec<Value>>>(), "#/properties/m/items", "any value")]
#[case::value_root(schema_of::<Value>(), "#", "any value")]
#[case::tuple(schema_of::<One<(u8, String)>>(), "#/properties/m", "a tuple")]
#[case::enum_root(schema_of::<Step>(), "#", "the root is a union")]
#[case::flattened_enum(schema_of::<One<Flattened>>(), "#/$defs/Flattened", "an object cannot be both closed and a union")]
fn a_type_is_refused(#[case] schema: Value, #[case] at: &str, #[case] start: &str) {
    let NotStrict { path, reason } = strict(schema).unwrap_err();
    assert_eq!(path, at);
    assert!(reason.starts_with(start), "{reason}");
}
