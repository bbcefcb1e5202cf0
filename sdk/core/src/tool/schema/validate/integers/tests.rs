use rstest::rstest;
use serde_json::{Value, json};

use super::with_integers;
use crate::tool::schema::validate::validate;

fn text_of(schema: &Value, value: &str) -> String {
    let value: Value = serde_json::from_str(value).expect("JSON");
    let changed = with_integers(schema, value.clone());
    assert_eq!(validate(schema, &changed), validate(schema, &value), "the verdict is the same");
    changed.to_string()
}

#[rstest]
#[case("3.0", "3")]
#[case("1e3", "1000")]
#[case("-0.0", "0")]
#[case("-7.0", "-7")]
#[case("9007199254740991.0", "9007199254740991")]
#[case::already_an_integer("3", "3")]
#[case::fraction("3.5", "3.5")]
#[case::rounded_by_doubles("9007199254740993.0", "9007199254740992.0")]
#[case::too_large("1e300", "1e+300")]
fn whole_float_becomes_an_integer_if_exact(#[case] written: &str, #[case] expected: &str) {
    assert_eq!(text_of(&json!({"type": "integer"}), written), expected);
}

#[rstest]
#[case::nullable(json!({"type": ["integer", "null"]}), "3.0", "3")]
#[case::number(json!({"type": "number"}), "3.0", "3.0")]
#[case::both_types(json!({"type": ["integer", "number"]}), "3.0", "3.0")]
#[case::any(json!({}), "3.0", "3.0")]
#[case::listed(json!({"enum": [1, 3]}), "3.0", "3")]
#[case::listed_as_float(json!({"enum": [3.0]}), "3.0", "3.0")]
#[case::constant(json!({"const": 3}), "3.0", "3")]
#[case::all_of(json!({"type": "number", "allOf": [{"type": "integer"}]}), "3.0", "3")]
#[case::union(json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), "3.0", "3")]
#[case::union_of_both(json!({"anyOf": [{"type": "integer"}, {"type": "number"}]}), "3.0", "3.0")]
#[case::union_whose_number_does_not_fit(
    json!({"anyOf": [{"type": "integer"}, {"type": "number", "maximum": 1}]}), "3.0", "3"
)]
#[case::members(
    json!({"properties": {"a": {"type": "integer"}, "b": {"type": "number"}}, "additionalProperties": {"type": "integer"}}),
    r#"{"a":1.0,"b":2.0,"c":3.0}"#,
    r#"{"a":1,"b":2.0,"c":3}"#
)]
#[case::members_by_pattern(
    json!({"patternProperties": {"^\\d+$": {"type": "integer"}}}), r#"{"1":1.0,"x":2.0}"#, r#"{"1":1,"x":2.0}"#
)]
#[case::dependent(
    json!({"dependentSchemas": {"a": {"properties": {"b": {"type": "integer"}}}}}), r#"{"a":1,"b":2.0}"#, r#"{"a":1,"b":2}"#
)]
#[case::items(json!({"items": {"type": "integer"}}), "[1.0,2.5,3.0]", "[1,2.5,3]")]
#[case::tuple(json!({"prefixItems": [{"type": "integer"}, {"type": "number"}]}), "[1.0,2.0,3.0]", "[1,2.0,3.0]")]
#[case::reference(
    json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}), "3.0", "3"
)]
#[case::recursive(
    json!({"properties": {"n": {"type": "integer"}, "next": {"$ref": "#"}}}),
    r#"{"n":1.0,"next":{"n":2.0}}"#,
    r#"{"n":1,"next":{"n":2}}"#
)]
#[case::tagged(
    json!({"items": {"oneOf": [
        {"properties": {"k": {"const": "a"}, "n": {"type": "integer"}}},
        {"properties": {"k": {"const": "b"}, "n": {"type": "number"}}}
    ]}}),
    r#"[{"k":"a","n":1.0},{"k":"b","n":1.0}]"#,
    r#"[{"k":"a","n":1},{"k":"b","n":1.0}]"#
)]
#[case::untagged_that_differ_in_one_member(
    json!({"anyOf": [
        {"properties": {"n": {"type": "integer"}, "m": {"type": "integer"}}},
        {"properties": {"n": {"type": "number"}}}
    ]}),
    r#"{"n":1.0,"m":1.0}"#,
    r#"{"n":1.0,"m":1}"#
)]
#[case::condition(
    json!({"if": {"required": ["a"]}, "then": {"additionalProperties": {"type": "integer"}}}),
    r#"{"a":1.0}"#,
    r#"{"a":1}"#
)]
#[case::negation(json!({"not": {"type": "integer", "minimum": 9}}), "3.0", "3.0")]
#[case::one_of_several_items(json!({"contains": {"type": "integer"}}), "[3.0]", "[3.0]")]
#[case::reference_to_itself(json!({"anyOf": [{"$ref": "#"}, {"type": "integer"}]}), "3.0", "3")]
fn schema_decides_which_floats_become_integers(#[case] schema: Value, #[case] written: &str, #[case] expected: &str) {
    assert_eq!(text_of(&schema, written), expected);
}

#[test]
fn members_keep_their_order() {
    let schema = json!({"additionalProperties": {"type": "integer"}});
    assert_eq!(text_of(&schema, r#"{"b":1.0,"a":2.0,"c":"x"}"#), r#"{"b":1,"a":2,"c":"x"}"#);
}

#[test]
fn schema_that_multiplies_itself_is_applied_once() {
    let double = |below: &str| json!({"anyOf": [{"$ref": below}, {"allOf": [{"$ref": below}, {}]}]});
    let mut definitions = serde_json::Map::from_iter([("d0".to_owned(), json!({"type": "integer"}))]);
    for level in 1..40 {
        definitions.insert(format!("d{level}"), double(&format!("#/$defs/d{}", level - 1)));
    }
    let schema = json!({"$ref": "#/$defs/d39", "$defs": definitions});
    assert_eq!(text_of(&schema, "3.0"), "3");
}
