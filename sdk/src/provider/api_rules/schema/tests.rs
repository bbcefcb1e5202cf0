use rstest::rstest;
use serde_json::{Value, json};

use super::{
    super::rules::{ANTHROPIC, GEMINI, RESPONSES, XAI},
    fit, sound,
};

fn member(schema: &Value) -> Value {
    json!({"type": "object", "properties": {"m": schema}})
}

#[rstest]
#[case::draft_4_bound(json!({"minimum": 0, "exclusiveMinimum": true}), json!({"exclusiveMinimum": 0}))]
#[case::tuple(json!({"items": [{"type": "null"}]}), json!({"prefixItems": [{"type": "null"}]}))]
#[case::upper_case(json!({"type": "STRING"}), json!({"type": "string"}))]
#[case::nullable(json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]}))]
#[case::unknown_type(json!({"type": "any"}), json!({}))]
#[case::float_count(json!({"minLength": 2.0}), json!({"minLength": 2}))]
#[case::null_keywords(json!({"required": null, "minimum": null, "description": ["no"]}), json!({}))]
#[case::repeated(json!({"enum": ["x", "x"], "required": ["a", "a"]}), json!({"enum": ["x"], "required": ["a"]}))]
#[case::empty_union(json!({"anyOf": [], "enum": []}), json!({}))]
#[case::boolean(json!(false), json!({}))]
#[case::lost_reference(json!({"$ref": "#/$defs/None"}), json!({"description": "as described in #/$defs/None"}))]
fn a_schema_becomes_valid(#[case] given: Value, #[case] expected: Value) {
    assert_eq!(sound(&member(&given))["properties"]["m"], expected);
}

#[test]
fn a_union_at_the_root_becomes_one_object() {
    let schema = json!({
        "type": "object",
        "properties": {"paths": {"type": "array"}, "scopes": {"type": "string"}},
        "anyOf": [{"required": ["paths"]}, {"required": ["scopes"]}],
    });
    let expected = json!({
        "description": "give at least one of these: `paths`; or `scopes`",
        "type": "object",
        "properties": {"paths": {"type": "array"}, "scopes": {"type": "string"}},
    });
    assert_eq!(sound(&schema), expected);
}

#[test]
fn variants_of_a_root_are_merged() {
    let schema = json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind", "x"]},
        {"$ref": "#/$defs/B"},
    ], "$defs": {"B": {"properties": {"kind": {"const": "b"}, "x": {"type": "integer"}}, "required": ["kind"]}}});
    let found = sound(&schema);
    assert_eq!(
        found["properties"],
        json!({
            "kind": {"enum": ["a", "b"]},
            "x": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        })
    );
    assert_eq!(found["required"], json!(["kind"]));
    assert_eq!(found["description"], "give exactly one of these: `kind` = \"a\" and `x`; or `kind` = \"b\"");
}

#[test]
fn roots_that_refer_to_themselves_end() {
    let schema = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "allOf": [{"$ref": "#"}]});
    assert_eq!(sound(&schema), json!({"type": "object", "properties": {}}));
}

#[test]
fn removed_bounds_are_stated_in_the_description() {
    let schema = member(&json!({"description": "How many.", "type": "integer", "minimum": 0, "maximum": 255}));
    let strict = &ANTHROPIC.strict.as_ref().expect("a strict mode").schemas;
    let expected = json!({"description": "How many. (at least 0, at most 255)", "type": "integer"});
    assert_eq!(fit(&schema, strict)["properties"]["m"], expected);
    assert_eq!(fit(&schema, &ANTHROPIC.schemas), schema);
}

#[test]
fn members_with_names_that_claude_refuses_are_described() {
    let schema = json!({"type": "object", "properties": {"$top": {"type": "integer"}, "q": {"type": "string"}},
        "required": ["$top", "q"], "additionalProperties": false});
    let expected = json!({"description": "more members, by JSON schema: {\"$top\":{\"type\":\"integer\"}}",
        "type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
    assert_eq!(fit(&schema, &ANTHROPIC.schemas), expected);
}

#[rstest]
#[case("^a+$", true)]
#[case("a?i", true)]
#[case("(?:a)", true)]
#[case("(?i)a", false)]
#[case("(?=x)y", false)]
#[case(r"\bz", false)]
#[case(r"\d{3}", true)]
fn patterns_beyond_grammars_are_stated(#[case] pattern: &str, #[case] is_plain: bool) {
    let strict = &RESPONSES.strict.as_ref().expect("a strict mode").schemas;
    let found = fit(&member(&json!({"type": "string", "pattern": pattern})), strict);
    assert_eq!(found["properties"]["m"].get("pattern").is_some(), is_plain);
}

#[test]
fn recursion_ends_where_an_api_refuses_it() {
    let schema = json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/Tree"}}, "$defs": {"Tree": {
        "type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}}});
    for rules in [&GEMINI.schemas, &XAI.schemas] {
        let found = fit(&schema, rules);
        assert!(!super::cycles::has_cycle(&found), "{found:#}");
        assert_eq!(found["properties"]["tree"], json!({"$ref": "#/$defs/Tree"}));
    }
    assert_eq!(fit(&schema, &RESPONSES.schemas), schema);
}
