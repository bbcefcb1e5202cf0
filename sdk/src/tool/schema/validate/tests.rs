use rstest::rstest;
use serde_json::{Value, json};

use super::{Issue, validate};

fn issues(schema: &Value, instance: &Value) -> Vec<String> {
    let issues = validate(schema, instance).err().unwrap_or_default();
    issues.iter().map(Issue::to_string).collect()
}

#[rstest]
#[case("null", json!(null))]
#[case("boolean", json!(true))]
#[case("integer", json!(1))]
#[case("integer", json!(u64::MAX))]
#[case("number", json!(1))]
#[case("number", json!(1.5))]
#[case("string", json!("a"))]
#[case("array", json!([]))]
#[case("object", json!({}))]
fn a_value_has_its_type(#[case] name: &str, #[case] instance: Value) {
    assert_eq!(validate(&json!({"type": name}), &instance), Ok(()));
    assert_eq!(validate(&json!({"type": ["null", name]}), &instance), Ok(()));
}

#[rstest]
#[case::text_is_no_number("integer", json!("1"))]
#[case::whole_float_is_no_integer("integer", json!(1.0))]
#[case::bool_is_no_integer("integer", json!(true))]
#[case::bool_is_no_number("number", json!(false))]
#[case::number_is_no_text("string", json!(1))]
#[case::number_is_no_bool("boolean", json!(0))]
#[case::null_is_no_object("object", json!(null))]
#[case::object_is_no_array("array", json!({}))]
fn nothing_is_converted(#[case] name: &str, #[case] instance: Value) {
    let issue = Issue::new("", "type", name);
    assert_eq!(validate(&json!({"type": name}), &instance), Err(vec![issue]));
}

#[rstest]
#[case(json!({"enum": ["c", "f"]}), json!("k"), &[r#"(root): fails enum, allowed: ["c","f"]"#])]
#[case(json!({"type": "string", "enum": ["c"]}), json!(5), &[r#"(root): fails type, allowed: "string""#])]
#[case(json!({"const": 1}), json!(2), &["(root): fails const, allowed: 1"])]
#[case(json!({"minimum": 1, "maximum": 3}), json!(1), &[])]
#[case(json!({"minimum": 1, "maximum": 3}), json!(4), &["(root): fails maximum, allowed: 3"])]
#[case(json!({"minimum": 0}), json!(-0.5), &["(root): fails minimum, allowed: 0"])]
#[case(json!({"maximum": u64::MAX - 1}), json!(u64::MAX), &["(root): fails maximum, allowed: 18446744073709551614"])]
#[case(json!({"exclusiveMinimum": 1}), json!(1), &["(root): fails exclusiveMinimum, allowed: 1"])]
#[case(json!({"exclusiveMaximum": 1}), json!(1), &["(root): fails exclusiveMaximum, allowed: 1"])]
#[case(json!({"minLength": 2, "maxLength": 2}), json!("øå"), &[])]
#[case(json!({"minLength": 2}), json!("ø"), &["(root): fails minLength, allowed: 2"])]
#[case(json!({"maxItems": 1}), json!([1, 2]), &["(root): fails maxItems, allowed: 1"])]
#[case(json!({"minItems": 1}), json!([]), &["(root): fails minItems, allowed: 1"])]
#[case(json!({"items": {"type": "null"}}), json!([null, 1]), &[r#"1: fails type, allowed: "null""#])]
#[case(
    json!({"prefixItems": [{"type": "null"}], "items": {"type": "string"}}),
    json!([1, 2]),
    &[r#"0: fails type, allowed: "null""#, r#"1: fails type, allowed: "string""#]
)]
#[case(json!({"allOf": [{"minimum": 1}, {"maximum": 0}]}), json!(1), &["(root): fails maximum, allowed: 0"])]
#[case(json!({"pattern": "^a$", "format": "date", "not": {}}), json!("b"), &[])]
#[case(json!(true), json!("b"), &[])]
#[case(json!(false), json!("b"), &["(root): fails false, allowed: null"])]
fn a_value_is_checked(#[case] schema: Value, #[case] instance: Value, #[case] expected: &[&str]) {
    assert_eq!(issues(&schema, &instance), expected);
}

#[test]
fn an_object_is_checked_in_the_order_of_its_schema() {
    let schema = json!({
        "type": "object",
        "properties": {
            "b": {"type": "string"},
            "a": {"type": "object", "properties": {"list": {"items": {"type": "integer"}}}},
            "optional": {"type": "null"},
        },
        "required": ["elsewhere", "b"],
        "additionalProperties": false,
    });
    let instance = json!({"z": 1, "a": {"list": [1, "2"], "extra": true}});
    assert_eq!(
        issues(&schema, &instance),
        [
            r#"b: missing, allowed: "string""#,
            r#"a.list.1: fails type, allowed: "integer""#,
            r#"elsewhere: missing, allowed: "any value""#,
            r#"z: unknown, allowed: ["b","a","optional"]"#,
        ]
    );
}

#[test]
fn values_of_a_map_are_checked() {
    let map = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    assert_eq!(issues(&map, &json!({"a": 1, "b": "2"})), [r#"b: fails type, allowed: "integer""#]);
}

#[test]
fn keys_that_a_pattern_may_allow_are_not_refused() {
    let map = json!({"type": "object", "patternProperties": {"^a": {}}, "additionalProperties": false});
    assert_eq!(validate(&map, &json!({"abc": 1})), Ok(()));
}

fn shapes(keyword: &str) -> Value {
    json!({
        keyword: [{"$ref": "#/$defs/Circle"}, {"$ref": "#/$defs/Square"}, {"type": "null"}],
        "$defs": {
            "Circle": {
                "type": "object",
                "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}},
                "required": ["kind", "r"],
            },
            "Square": {
                "type": "object",
                "properties": {"kind": {"const": "square"}, "side": {"type": "number"}},
                "required": ["kind", "side"],
            },
        },
    })
}

#[rstest]
#[case::fits(json!({"kind": "circle", "r": 1}), &[])]
#[case::null(json!(null), &[])]
#[case::tag_says_which(json!({"kind": "square", "side": "1"}), &[r#"side: fails type, allowed: "number""#])]
#[case::member_says_which(json!({"r": 1}), &[r#"(root): fails {}, allowed: ["object","object","null"]"#])]
#[case::no_variant(json!(5), &[r#"(root): fails {}, allowed: ["object","object","null"]"#])]
fn a_union_explains_the_variant_that_was_meant(
    #[values("anyOf", "oneOf")] keyword: &str,
    #[case] instance: Value,
    #[case] expected: &[&str],
) {
    let expected: Vec<String> = expected.iter().map(|text| text.replace("{}", keyword)).collect();
    assert_eq!(issues(&shapes(keyword), &instance), expected);
}

#[test]
fn an_externally_tagged_variant_is_known_by_its_member() {
    let schema = json!({"anyOf": [
        {
            "type": "object",
            "properties": {"circle": {"type": "object", "properties": {"r": {"type": "number"}}, "required": ["r"]}},
            "required": ["circle"],
        },
        {"type": "object", "properties": {"square": {"type": "object"}}, "required": ["square"]},
        {"type": "string", "const": "none"},
    ]});
    assert_eq!(issues(&schema, &json!({"circle": {}})), [r#"circle.r: missing, allowed: "number""#]);
}

#[test]
fn one_of_refuses_what_fits_twice() {
    let both = json!([{"type": "integer"}, {"type": "number"}]);
    assert_eq!(validate(&json!({"anyOf": both}), &json!(1)), Ok(()));
    assert_eq!(issues(&json!({"oneOf": both}), &json!(1)), [r#"(root): fails oneOf, allowed: ["integer","number"]"#]);
}

#[test]
fn a_recursive_schema_follows_the_value() {
    let schema = json!({
        "type": "object",
        "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
        "required": ["next"],
    });
    assert_eq!(validate(&schema, &json!({"next": {"next": null}})), Ok(()));
    assert_eq!(
        issues(&schema, &json!({"next": {"next": {}}})),
        [r#"next.next.next: missing, allowed: "another schema""#]
    );
}

#[rstest]
#[case::dangling(json!({"$ref": "#/$defs/None"}), r##"(root): fails $ref, allowed: "#/$defs/None""##)]
#[case::circular(json!({"$ref": "#"}), r##"(root): fails $ref, allowed: "#""##)]
#[case::circular_twice(json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}), r##"(root): fails anyOf, allowed: ["#","#"]"##)]
fn a_reference_that_leads_nowhere_fails(#[case] schema: Value, #[case] expected: &str) {
    assert_eq!(issues(&schema, &json!(1)), [expected]);
}

#[test]
fn an_issue_survives_serialisation() {
    let issue = Issue::new("a.0", "enum", json!(["x"]));
    let json = json!({"field": "a.0", "constraint": "enum", "allowed": ["x"]});
    assert_eq!(serde_json::to_value(&issue).unwrap(), json);
    assert_eq!(serde_json::from_value::<Issue>(json).unwrap(), issue);
}
