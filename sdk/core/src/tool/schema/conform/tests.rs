use rstest::rstest;
use serde_json::{Value, json};

use super::{Conversions, conform};

#[rstest]
#[case::text_to_integer(json!({"type": "integer"}), json!("7"), json!(7))]
#[case::text_to_number(json!({"type": "number"}), json!("1.5"), json!(1.5))]
#[case::whole_float(json!({"type": "integer"}), json!(3.0), json!(3))]
#[case::fraction_stays(json!({"type": "integer"}), json!(3.5), json!(3.5))]
#[case::truth(json!({"type": "boolean"}), json!("no"), json!(false))]
#[case::bool_as_integer(json!({"type": "integer"}), json!(true), json!(1))]
#[case::number_is_no_text(json!({"type": "string"}), json!(1), json!(1))]
#[case::in_lists(json!({"type": "array", "items": {"type": "integer"}}), json!(["1", 2]), json!([1, 2]))]
fn lax_conversions(#[case] schema: Value, #[case] given: Value, #[case] expected: Value) {
    assert_eq!(conform(&schema, given.clone(), Conversions::Lax), expected);
    assert_eq!(conform(&schema, given.clone(), Conversions::None), given);
}

#[test]
fn undeclared_members_go_unless_the_schema_wants_them() {
    let properties = json!({"a": {"type": "object", "properties": {"x": {"type": "integer"}}}});
    let closed = json!({"type": "object", "properties": properties});
    let given = json!({"a": {"x": 1, "y": 2}, "b": 3});
    assert_eq!(conform(&closed, given.clone(), Conversions::None), json!({"a": {"x": 1}}));
    let open = json!({"type": "object", "properties": properties, "additionalProperties": true});
    assert_eq!(conform(&open, given, Conversions::None), json!({"a": {"x": 1}, "b": 3}));
}

fn nullable() -> Value {
    json!({
        "$defs": {"A": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        "anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}],
    })
}

#[test]
fn variants_of_a_union_are_looked_up_at_the_root() {
    assert_eq!(conform(&nullable(), json!({"n": "1", "m": 2}), Conversions::Lax), json!({"n": 1}));
    assert_eq!(conform(&nullable(), json!({"n": 1, "m": 2}), Conversions::None), json!({"n": 1}));
    assert_eq!(conform(&nullable(), json!(null), Conversions::Lax), json!(null));
    assert_eq!(conform(&nullable(), json!("x"), Conversions::Lax), json!("x"));
}

#[test]
fn nested_unions_are_conformed_once() {
    let variant = |other: &str| json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}, other: {}}});
    let schema = json!({
        "$ref": "#/$defs/N",
        "$defs": {"N": {"anyOf": [variant("a"), variant("b"), {"type": "integer"}]}},
    });
    let chain = |last: Value| (0..14).fold(last, |inner, _| json!({"next": inner}));
    assert_eq!(conform(&schema, chain(json!("7")), Conversions::Lax), chain(json!(7)));
    assert_eq!(conform(&schema, chain(json!("x")), Conversions::Lax), chain(json!("x")));
    let circular = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]});
    assert_eq!(conform(&circular, json!("x"), Conversions::Lax), json!("x"));
}

#[test]
fn members_that_another_keyword_may_speak_of_stay() {
    let schema = json!({"properties": {"a": {}}, "allOf": [{"properties": {"b": {}}}]});
    let given = json!({"a": 1, "b": 2});
    assert_eq!(conform(&schema, given.clone(), Conversions::None), given);
}

#[test]
fn members_that_are_required_stay_without_a_declaration() {
    let schema = json!({"properties": {"a": {}}, "required": ["b"]});
    let given = json!({"a": 1, "b": 2, "c": 3});
    assert_eq!(conform(&schema, given, Conversions::None), json!({"a": 1, "b": 2}));
}
