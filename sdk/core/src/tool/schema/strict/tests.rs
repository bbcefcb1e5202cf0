use rstest::rstest;
use serde_json::{Value, json};

use super::{NotStrict, strict};

fn object_of(member: &Value) -> Value {
    json!({"type": "object", "properties": {"m": member}})
}

fn strict_member(member: &Value) -> Result<Value, (String, String)> {
    strict(object_of(member))
        .map(|schema| schema["properties"]["m"].clone())
        .map_err(|NotStrict { path, reason }| (path, reason))
}

/// Returns the schema as a string, since `Value` does not compare the order of keys.
fn text(schema: &Value) -> String {
    schema.to_string()
}

#[test]
fn every_object_is_closed_and_requires_all_members() {
    let schema = json!({
        "type": "object",
        "properties": {
            "q": {"type": "string"},
            "limit": {"type": "integer"},
            "filter": {
                "type": "object",
                "properties": {"k": {"type": "string"}, "v": {"type": "string"}},
                "required": ["k"],
            },
        },
        "required": ["q"],
    });

    let expected = json!({
        "type": "object",
        "properties": {
            "q": {"type": "string"},
            "limit": {"type": "integer"},
            "filter": {
                "type": "object",
                "properties": {"k": {"type": "string"}, "v": {"type": "string"}},
                "required": ["k", "v"],
                "additionalProperties": false,
            },
        },
        "required": ["q", "limit", "filter"],
        "additionalProperties": false,
    });
    assert_eq!(text(&strict(schema).unwrap()), text(&expected));
}

#[test]
fn the_empty_schema_is_a_closed_object_without_members() {
    let expected = json!({"additionalProperties": false, "type": "object", "properties": {}, "required": []});
    assert_eq!(text(&strict(json!({})).unwrap()), text(&expected));
}

#[rstest]
#[case::one_of(
    json!({"description": "d", "oneOf": [{"type": "string", "const": "A"}, {"type": "null"}]}),
    json!({"description": "d", "anyOf": [{"type": "string", "const": "A"}, {"type": "null"}]})
)]
#[case::one_of_joins_any_of(
    json!({"oneOf": [{"type": "null"}], "anyOf": [{"type": "string"}]}),
    json!({"anyOf": [{"type": "string"}, {"type": "null"}]})
)]
#[case::default_null(json!({"type": ["string", "null"], "default": null}), json!({"type": ["string", "null"]}))]
#[case::other_default(json!({"type": "integer", "default": 5}), json!({"type": "integer", "default": 5}))]
#[case::single_all_of(
    json!({"description": "ours", "allOf": [{"type": "string", "description": "theirs"}]}),
    json!({"description": "ours", "type": "string"})
)]
#[case::all_of_adds_members(
    json!({"type": "object", "properties": {"a": {"type": "null"}}, "allOf": [{"properties": {"b": {"type": "null"}}}]}),
    json!({
        "type": "object",
        "properties": {"a": {"type": "null"}, "b": {"type": "null"}},
        "additionalProperties": false,
        "required": ["a", "b"],
    })
)]
#[case::nullable_object(
    json!({"type": ["object", "null"], "properties": {"a": {"type": "null"}}}),
    json!({
        "type": ["object", "null"],
        "properties": {"a": {"type": "null"}},
        "additionalProperties": false,
        "required": ["a"],
    })
)]
#[case::object_without_type(
    json!({"properties": {}}),
    json!({"properties": {}, "type": "object", "additionalProperties": false, "required": []})
)]
#[case::object_without_members(json!({"type": "object"}), json!({"type": "object", "additionalProperties": false}))]
#[case::items(
    json!({"type": "array", "items": {"type": "object", "properties": {}}}),
    json!({
        "type": "array",
        "items": {"type": "object", "properties": {}, "additionalProperties": false, "required": []},
    })
)]
#[case::enum_without_type(json!({"enum": ["a", 1]}), json!({"enum": ["a", 1]}))]
fn a_member_becomes(#[case] given: Value, #[case] expected: Value) {
    assert_eq!(text(&strict_member(&given).unwrap()), text(&expected));
}

fn with_defs(member: &Value) -> Value {
    json!({
        "type": "object",
        "properties": {"m": member},
        "$defs": {
            "Word": {"type": "string", "description": "a word"},
            "Alias": {"$ref": "#/$defs/Word"},
            "Point": {"type": "object", "properties": {"x": {"type": "number"}}},
            "Closed": {"type": "object", "properties": {"x": {"type": "number"}}, "additionalProperties": false},
            "List": {
                "type": "object",
                "properties": {"next": {"description": "the rest", "$ref": "#/$defs/List"}},
            },
            "A B": {"type": "null"},
        },
    })
}

const LIST: &str = "#/$defs/List";

#[rstest]
#[case::alone(json!({"$ref": "#/$defs/Word"}), json!({"$ref": "#/$defs/Word"}))]
#[case::alone_after_default_null(json!({"$ref": "#/$defs/Word", "default": null}), json!({"$ref": "#/$defs/Word"}))]
#[case::described(
    json!({"description": "ours", "$ref": "#/$defs/Word"}),
    json!({"description": "ours", "type": "string"})
)]
#[case::chain(json!({"title": "t", "$ref": "#/$defs/Alias"}), json!({"title": "t", "type": "string", "description": "a word"}))]
#[case::all_of(json!({"allOf": [{"$ref": "#/$defs/Alias"}]}), json!({"type": "string", "description": "a word"}))]
#[case::percent_encoded(json!({"title": "t", "$ref": "#/$defs/A%20B"}), json!({"title": "t", "type": "null"}))]
#[case::beside_members(
    json!({"type": "object", "properties": {"kind": {"const": "point"}}, "$ref": "#/$defs/Point", "required": ["kind"]}),
    json!({
        "type": "object",
        "properties": {"kind": {"const": "point"}, "x": {"type": "number"}},
        "required": ["kind", "x"],
        "additionalProperties": false,
    })
)]
#[case::recursive(
    json!({"description": "ours", "$ref": LIST}),
    json!({
        "description": "ours",
        "type": "object",
        "properties": {"next": {"description": "the rest", "anyOf": [{"$ref": LIST}]}},
        "additionalProperties": false,
        "required": ["next"],
    })
)]
#[case::root(json!({"description": "again", "$ref": "#"}), json!({"description": "again", "anyOf": [{"$ref": "#"}]}))]
fn a_reference_becomes(#[case] given: Value, #[case] expected: Value) {
    let schema = strict(with_defs(&given)).unwrap();
    assert_eq!(text(&schema["properties"]["m"]), text(&expected));
}

#[test]
fn a_recursive_definition_keeps_its_documented_reference() {
    let schema = strict(with_defs(&json!({"$ref": LIST}))).unwrap();
    assert_eq!(
        schema["$defs"]["List"],
        json!({
            "type": "object",
            "properties": {"next": {"description": "the rest", "anyOf": [{"$ref": LIST}]}},
            "additionalProperties": false,
            "required": ["next"],
        })
    );
}

#[rstest]
#[case::map(json!({"type": "object", "additionalProperties": {"type": "string"}}), "/additionalProperties", "a map has free keys")]
#[case::open(json!({"type": "object", "additionalProperties": true}), "/additionalProperties", "a map has free keys")]
#[case::open_by_schema(json!({"type": "object", "additionalProperties": {}}), "/additionalProperties", "a map has free keys")]
#[case::pattern_map(json!({"type": "object", "patternProperties": {"^a": {"type": "null"}}}), "", "a map has free keys")]
#[case::anything(json!(true), "", "any value is valid here")]
#[case::anything_empty(json!({}), "", "any value is valid here")]
#[case::anything_described(json!({"description": "d"}), "", "any value is valid here")]
#[case::nothing(json!(false), "", "no value is valid here")]
#[case::no_schema(json!("string"), "", "a schema is a JSON object")]
#[case::array_of_anything(json!({"type": "array"}), "", "an array without `items`")]
#[case::array_of_true(json!({"type": "array", "items": true}), "/items", "any value is valid here")]
#[case::tuple(json!({"type": "array", "prefixItems": [{"type": "null"}]}), "", "a tuple has no names")]
#[case::old_tuple(json!({"type": "array", "items": [{"type": "null"}]}), "", "a tuple has no names")]
#[case::negation(json!({"not": {"type": "null"}}), "", "conditions and negation")]
#[case::condition(json!({"type": "object", "if": {}, "then": {}}), "", "conditions and negation")]
#[case::dependency(json!({"type": "object", "dependentRequired": {}}), "", "conditions and negation")]
#[case::several_all_of(json!({"allOf": [{"type": "string"}, {"minLength": 1}]}), "", "an `allOf` of several")]
#[case::union_and_members(json!({"properties": {}, "anyOf": [{"type": "null"}]}), "", "an object cannot be both closed and a union")]
#[case::unresolved_reference(json!({"$ref": "#/$defs/None"}), "", "\"#/$defs/None\" points to no schema")]
#[case::remote(json!({"$ref": "https://example.com/a.json"}), "", "\"https://example.com/a.json\" points to no schema")]
#[case::nested_id(json!({"$id": "a", "type": "null"}), "", "a nested `$id`")]
#[case::merge_conflict(json!({"type": "string", "allOf": [{"type": "null"}]}), "", "`type` differs")]
#[case::in_a_variant(json!({"oneOf": [{"type": "null"}, {}]}), "/oneOf/1", "any value is valid here")]
#[case::odd_names(json!({"type": "object", "properties": {"a/b~": true}}), "/properties/a~1b~0", "any value is valid here")]
fn a_member_is_refused(#[case] member: Value, #[case] at: &str, #[case] reason: &str) {
    let (path, given) = strict_member(&member).unwrap_err();
    assert_eq!(path, format!("#/properties/m{at}"));
    assert!(given.starts_with(reason), "{given}");
}

#[rstest]
#[case::string(json!({"type": "string"}), "the root does not require an object")]
#[case::array(json!({"type": "array", "items": {"type": "null"}}), "the root does not require an object")]
#[case::nullable(json!({"type": ["object", "null"], "properties": {}}), "the root does not require an object")]
#[case::any_of(json!({"anyOf": [{"type": "object"}]}), "the root is a union")]
#[case::one_of(json!({"oneOf": [{"type": "object"}]}), "the root is a union")]
#[case::anything(json!(true), "any value is valid here")]
#[case::no_schema(json!(null), "a schema is a JSON object")]
fn a_root_is_refused(#[case] root: Value, #[case] reason: &str) {
    let NotStrict { path, reason: given } = strict(root).unwrap_err();
    assert_eq!(path, "#");
    assert!(given.starts_with(reason), "{given}");
}

#[test]
fn the_error_names_place_and_remedy() {
    let schema = object_of(&json!({"type": "object", "additionalProperties": {"type": "string"}}));
    assert_eq!(
        strict(schema).unwrap_err().to_string(),
        "schema cannot be strict at #/properties/m/additionalProperties: a map has free keys; \
         use a Vec of {key, value} structs or mark the tool `#[tool(lenient)]`"
    );
}

#[test]
fn a_root_reference_is_replaced_by_its_object() {
    let schema = json!({
        "$ref": "#/$defs/Point",
        "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "number"}}}},
    });
    let point = json!({
        "type": "object",
        "properties": {"x": {"type": "number"}},
        "additionalProperties": false,
        "required": ["x"],
    });
    let mut expected = point.clone();
    expected["$defs"] = json!({"Point": point});
    assert_eq!(strict(schema).unwrap(), expected);
}

#[test]
fn a_root_type_list_of_object_alone_is_an_object() {
    let schema = json!({"type": ["object"], "properties": {}});
    let expected = json!({"type": "object", "properties": {}, "additionalProperties": false, "required": []});
    assert_eq!(strict(schema).unwrap(), expected);
}

#[test]
fn members_may_not_be_added_to_a_closed_object() {
    let member = json!({"type": "object", "properties": {"kind": {"const": "p"}}, "$ref": "#/$defs/Closed"});
    let NotStrict { path, reason } = strict(with_defs(&member)).unwrap_err();
    assert_eq!(path, "#/properties/m");
    assert!(reason.contains("`kind` is added to an object"), "{reason}");
}

#[test]
fn deep_nesting_is_refused() {
    let mut schema = json!({"type": "string"});
    for _ in 0..60 {
        schema = json!({"type": "array", "items": schema});
    }
    assert!(strict_member(&schema).is_ok());

    for _ in 0..60 {
        schema = json!({"type": "array", "items": schema});
    }
    let (path, reason) = strict_member(&schema).unwrap_err();
    assert_eq!((path.as_str(), reason.starts_with("nested more than 100 levels")), ("#", true));
}

#[test]
fn references_that_multiply_each_other_are_refused() {
    let mut schema = object_of(&json!({"description": "d", "$ref": "#/$defs/L0"}));
    for level in 0..20 {
        let next = json!({"description": "d", "$ref": format!("#/$defs/L{}", level + 1)});
        schema["$defs"][format!("L{level}")] = json!({"type": "object", "properties": {"a": next, "b": next}});
    }
    schema["$defs"]["L20"] = json!({"type": "string"});
    let NotStrict { reason, .. } = strict(schema).unwrap_err();
    assert!(reason.starts_with("more than 100000 schemas"), "{reason}");
}
