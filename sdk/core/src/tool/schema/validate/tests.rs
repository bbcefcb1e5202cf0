use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Map, Value, json};

use super::{Check, Issue, MAX_ISSUES, MAX_STEPS, unchecked, validate, validate_earlier_keywords};

fn issues(schema: &Value, instance: &Value) -> Vec<String> {
    let issues = validate(schema, instance).err().unwrap_or_default();
    issues.iter().map(Issue::to_string).collect()
}

#[rstest]
#[case("null", json!(null))]
#[case("boolean", json!(true))]
#[case("integer", json!(1))]
#[case("integer", json!(u64::MAX))]
#[case("integer", json!(1.0))]
#[case("integer", json!(1e3))]
#[case("integer", json!(-0.0))]
#[case("integer", json!(1e300))]
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
#[case::fraction_is_no_integer("integer", json!(1.5))]
#[case::bool_is_no_integer("integer", json!(true))]
#[case::bool_is_no_number("number", json!(false))]
#[case::number_is_no_text("string", json!(1))]
#[case::number_is_no_bool("boolean", json!(0))]
#[case::null_is_no_object("object", json!(null))]
#[case::object_is_no_array("array", json!({}))]
fn nothing_is_converted(#[case] name: &str, #[case] instance: Value) {
    let mut issue = Issue::new("", "type", name);
    issue.set_type_of(&instance);
    assert_eq!(validate(&json!({"type": name}), &instance), Err(vec![issue]));
}

#[rstest]
#[case(json!({"enum": ["c", "f"]}), json!("k"), &[r#"(root): fails enum, allowed: ["c","f"]"#])]
#[case(json!({"type": "string", "enum": ["c"]}), json!(5), &[r#"(root): fails type, allowed: "string""#])]
#[case(json!({"const": 1}), json!(2), &["(root): fails const, allowed: 1"])]
#[case(json!({"const": {"a": [1, 2.0]}}), json!({"a": [1.0, 2]}), &[])]
#[case(json!({"enum": [1.0, 2]}), json!(1), &[])]
#[case(json!({"enum": [1.0, 2]}), json!(2.0), &[])]
#[case(json!({"enum": [1.0, 2]}), json!(1.5), &["(root): fails enum, allowed: [1.0,2]"])]
#[case(json!({"const": 9_007_199_254_740_993_u64}), json!(9_007_199_254_740_992.0), &["(root): fails const, allowed: 9007199254740993"])]
#[case(json!({"minimum": 1, "maximum": 3}), json!(1), &[])]
#[case(json!({"minimum": 1.0, "maximum": 1e3}), json!(1000), &[])]
#[case(json!({"maximum": 9_007_199_254_740_992.0}), json!(9_007_199_254_740_993_u64), &["(root): fails maximum, allowed: 9007199254740992.0"])]
#[case(json!({"minLength": 2.0}), json!("ø"), &["(root): fails minLength, allowed: 2.0"])]
#[case(json!({"contains": {"const": 1}, "minContains": 2.0}), json!([1, 1.0]), &[])]
#[case(json!({"contains": {"const": 1}, "minContains": 2.0}), json!([1]), &["(root): fails contains, allowed: 1"])]
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
#[case(json!({"pattern": "^a$"}), json!("b"), &[r#"(root): fails pattern, allowed: "^a$""#])]
#[case(json!({"format": "date"}), json!("b"), &[r#"(root): fails format, allowed: "date""#])]
#[case(json!({"format": "date"}), json!(5), &[])]
#[case(json!({"not": {}}), json!("b"), &[r#"(root): fails not, allowed: "anything else""#])]
#[case(json!({"multipleOf": 5}), json!(7), &["(root): fails multipleOf, allowed: 5"])]
#[case(json!({"multipleOf": 5.0}), json!(1e1), &[])]
#[case(json!({"uniqueItems": true}), json!([1, 1.0]), &["(root): fails uniqueItems, allowed: true"])]
#[case(
    json!({"oneOf": [{"properties": {"kind": {"const": 1}}}, {"properties": {"kind": {"const": 2}, "n": {"type": "integer"}}}]}),
    json!({"kind": 2.0, "n": "x"}),
    &[r#"n: fails type, allowed: "integer""#]
)]
#[case(json!({"uniqueItems": true}), json!([{"a": 1, "b": 2}, {"b": 2, "a": 1}]), &["(root): fails uniqueItems, allowed: true"])]
#[case(json!({"uniqueItems": true}), json!([1, 2, "1", [1], true]), &[])]
#[case(json!({"contains": {"type": "null"}}), json!([1]), &[r#"(root): fails contains, allowed: "null""#])]
#[case(json!({"contains": {"type": "null"}, "maxContains": 1}), json!([null, null]), &[r#"(root): fails contains, allowed: "null""#])]
#[case(json!({"contains": {"type": "null"}, "minContains": 0}), json!([1]), &[])]
#[case(json!({"items": [{"type": "null"}], "additionalItems": false}), json!([null, 1]), &["1: fails false, allowed: null"])]
#[case(json!({"minProperties": 1}), json!({}), &["(root): fails minProperties, allowed: 1"])]
#[case(json!({"maxProperties": 0}), json!({"a": 1}), &["(root): fails maxProperties, allowed: 0"])]
#[case(json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1}), &[r#"b: missing, allowed: "any value""#])]
#[case(json!({"dependentRequired": {"a": ["b"]}}), json!({}), &[])]
#[case(json!({"dependencies": {"a": ["b"]}}), json!({"a": 1}), &[r#"b: missing, allowed: "any value""#])]
#[case(
    json!({"dependentSchemas": {"a": {"properties": {"b": {"type": "null"}}}}}),
    json!({"a": 1, "b": 2}),
    &[r#"b: fails type, allowed: "null""#]
)]
#[case(json!({"propertyNames": {"pattern": "^x-"}}), json!({"x-a": 1}), &[])]
#[case(json!({"propertyNames": {"enum": ["a"]}}), json!({"b": 1}), &[r#"b: fails propertyNames, allowed: ["a"]"#])]
#[case(
    json!({"patternProperties": {"^x-": {"type": "null"}}, "additionalProperties": false}),
    json!({"x-a": 1, "b": 2}),
    &[r#"x-a: fails type, allowed: "null""#, "b: unknown, allowed: []"]
)]
#[case(
    json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"maxProperties": 0}}),
    json!({"a": 1}),
    &[r#"b: missing, allowed: "any value""#]
)]
#[case(
    json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"maxProperties": 0}}),
    json!({"c": 1}),
    &["(root): fails maxProperties, allowed: 0"]
)]
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
    let map = json!({"type": "object", "patternProperties": {"^a": {}, "(?=x)": {}}, "additionalProperties": false});
    assert_eq!(validate(&map, &json!({"abc": 1, "b": 2})), Ok(()));
    let map = json!({"type": "object", "patternProperties": {"^a": {}}, "additionalProperties": false});
    assert_eq!(issues(&map, &json!({"abc": 1, "b": 2})), ["b: unknown, allowed: []"]);
}

/// A keyword that is not checked refuses nothing, in any schema around it.
#[rstest]
#[case::alone(json!({"pattern": "(?=a)"}))]
#[case::negated(json!({"not": {"pattern": "(?=a)"}}))]
#[case::a_format(json!({"not": {"format": "duration"}}))]
#[case::twice(json!({"oneOf": [{"pattern": "(?=a)"}, {"pattern": "(?!a)"}]}))]
#[case::as_a_condition(json!({"if": {"pattern": "(?=a)"}, "then": false, "else": true}))]
#[case::unevaluated(json!({"not": {"unevaluatedProperties": false}}))]
fn what_is_not_checked_refuses_nothing(#[case] schema: Value) {
    assert_eq!(validate(&schema, &json!("b")), Ok(()));
    assert!(!unchecked(&schema).is_empty());
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
#[case::unresolved_reference(json!({"$ref": "#/$defs/None"}), r##"(root): fails $ref, allowed: "#/$defs/None""##)]
#[case::circular(json!({"$ref": "#"}), r##"(root): fails $ref, allowed: "#""##)]
#[case::circular_twice(json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}), r##"(root): fails anyOf, allowed: ["#","#"]"##)]
fn a_reference_that_leads_nowhere_fails(#[case] schema: Value, #[case] expected: &str) {
    assert_eq!(issues(&schema, &json!(1)), [expected]);
}

/// A verdict inside a cycle depends on pairs whose numbers are used again once they are closed.
#[rstest]
fn a_value_fits_a_cycle_that_has_a_way_out(#[values("a", "b", "c", "d", "e")] first: &str) {
    let any = |names: &[&str]| {
        let mut of: Vec<Value> = names.iter().map(|name| json!({"$ref": format!("#/$defs/{name}")})).collect();
        if names == ["c", "d"] {
            of.push(json!(true));
        }
        json!({"anyOf": of})
    };
    let definitions = json!({
        "a": any(&["c", "d"]), "b": any(&["e", "a"]), "c": any(&["b"]), "d": any(&["e"]), "e": any(&["b"]),
    });
    let schema = json!({"$ref": format!("#/$defs/{first}"), "$defs": definitions});
    assert_eq!(validate(&schema, &json!({})), Ok(()));
}

#[test]
fn an_issue_survives_serialisation() {
    let issue = Issue::new("a.0", "enum", json!(["x"]));
    let json = json!({"field": "a.0", "constraint": "enum", "allowed": ["x"]});
    assert_eq!(serde_json::to_value(&issue).unwrap(), json);
    assert_eq!(serde_json::from_value::<Issue>(json).unwrap(), issue);
}

/// Checks a value, and counts the steps of the check.
fn steps(schema: &Value, instance: &Value) -> (Result<(), Vec<Issue>>, usize) {
    let mut check = Check::new(schema);
    let checked = check.report(schema, instance);
    (checked, check.steps)
}

/// Returns a schema in which `a1` refers to `a2` twice, `a2` to `a3` twice, and so on.
fn doublings(keyword: &str, times: usize, last: Value) -> Value {
    let mut definitions = Map::new();
    for number in 1..=times {
        let next = json!({"$ref": format!("#/$defs/a{}", number + 1)});
        definitions.insert(format!("a{number}"), json!({keyword: [next, next]}));
    }
    definitions.insert(format!("a{}", times + 1), last);
    json!({"type": "object", "$defs": definitions, "allOf": [{"$ref": "#/$defs/a1"}]})
}

#[rstest]
fn references_that_double_are_followed_once(#[values("allOf", "anyOf", "oneOf")] keyword: &str) {
    let choices: Vec<usize> = (0..500).collect();
    let (checked, steps) = steps(&doublings(keyword, 17, json!({"enum": choices})), &json!({}));
    let issues = checked.unwrap_err();
    assert_eq!(issues.len(), 1, "{issues:?}");
    assert!(issues[0].to_string().len() < 3_000, "{issues:?}");
    assert!(steps < 1_000, "{steps}");
}

#[test]
fn a_double_that_fits_is_followed_once() {
    let (checked, steps) = steps(&doublings("allOf", 100, json!({"type": "object"})), &json!({}));
    assert_eq!(checked, Ok(()));
    assert!(steps < 2_000, "{steps}");
}

#[rstest]
#[case::plain(|next: Value| next)]
#[case::described(|mut next: Value| {
    next["description"] = json!("the next");
    next
})]
fn a_chain_of_50_000_references_is_followed(#[case] link: fn(Value) -> Value) {
    let mut definitions = Map::new();
    for number in 1..=50_000 {
        definitions.insert(format!("a{number}"), link(json!({"$ref": format!("#/$defs/a{}", number + 1)})));
    }
    definitions.insert("a50001".to_owned(), json!({"required": ["a"]}));
    let schema = json!({"$ref": "#/$defs/a1", "$defs": definitions});
    assert_eq!(validate(&schema, &json!({"a": 1})), Ok(()));
    assert_eq!(issues(&schema, &json!({})), [r#"a: missing, allowed: "any value""#]);
}

#[test]
fn a_chain_that_is_nested_is_refused_and_does_not_overflow() {
    let mut definitions = Map::new();
    for number in 1..=50_000 {
        definitions.insert(format!("a{number}"), json!({"allOf": [{"$ref": format!("#/$defs/a{}", number + 1)}]}));
    }
    definitions.insert("a50001".to_owned(), json!({}));
    let schema = json!({"$ref": "#/$defs/a1", "$defs": definitions});
    assert_eq!(on_a_small_stack(schema, json!({})), ["(root): fails depth, allowed: 512"]);
}

/// Returns nested lists, 127 deep, which the parser still accepts.
fn deep() -> Value {
    (0..126).fold(json!([]), |inner, _| json!([inner]))
}

#[test]
fn a_value_127_deep_fits_a_recursive_schema() {
    let schema = json!({
        "$ref": "#/$defs/List",
        "$defs": {"List": {"anyOf": [{"allOf": [{"type": "array", "items": {"$ref": "#/$defs/List"}}]}, {"type": "null"}]}},
    });
    assert_eq!(on_a_small_stack(schema.clone(), deep()), [""; 0]);
    let text = deep().to_string().replace("[]", "[1]");
    let wrong = serde_json::from_str(&text).unwrap_or_else(|_| json!([[1]]));
    assert_eq!(on_a_small_stack(schema, wrong).len(), 1);
}

/// Returns the issues, found on a thread with less than half of the usual stack.
fn on_a_small_stack(schema: Value, instance: Value) -> Vec<String> {
    let thread = std::thread::Builder::new().stack_size(900_000);
    thread.spawn(move || issues(&schema, &instance)).unwrap().join().unwrap()
}

/// Returns the schema of a query's condition: `and`, `or`, `not`, and a comparison.
fn filter(keyword: &str) -> Value {
    let of = json!({"type": "array", "items": {"$ref": "#/$defs/Filter"}});
    let variant = |op: &str, of: &Value| json!({"type": "object", "properties": {"of": of, "op": {"type": "string", "const": op}}, "required": ["op", "of"]});
    let one = json!({"$ref": "#/$defs/Filter"});
    let is = variant("is", &json!({"type": "string"}));
    json!({
        "$ref": "#/$defs/Filter",
        "$defs": {"Filter": {keyword: [variant("and", &of), variant("or", &of), variant("not", &one), is]}},
    })
}

#[rstest]
fn a_chain_of_16_or_is_accepted(#[values("anyOf", "oneOf")] keyword: &str) {
    let leaf = json!({"op": "is", "of": "x"});
    let chain = (0..16).fold(leaf.clone(), |inner, _| json!({"of": [inner, leaf], "op": "or"}));
    let (checked, steps) = steps(&filter(keyword), &chain);
    assert_eq!(checked, Ok(()));
    assert!(steps < 5_000, "{steps}");
    let tree = (0..8).fold(leaf, |inner, _| json!({"of": [inner, inner], "op": "or"}));
    assert_eq!(validate(&filter(keyword), &tree), Ok(()));
    let wrong = (0..16).fold(json!({"op": "is", "of": 1}), |inner, _| json!({"of": [inner], "op": "or"}));
    let path = format!("{}of", "of.0.".repeat(16));
    assert_eq!(issues(&filter(keyword), &wrong), [format!(r#"{path}: fails type, allowed: "string""#)]);
}

#[rstest]
fn sixteen_nested_unions_without_a_tag_are_linear(#[values("anyOf", "oneOf")] keyword: &str) {
    let mut schema = json!({"type": "integer"});
    let mut value = json!("x");
    for _ in 0..16 {
        let member = |name: &str| json!({"properties": {"of": schema, name: {}}, "required": ["of"]});
        schema = json!({keyword: [member("a"), member("b")]});
        value = json!({"of": value});
        if schema.to_string().len() > 100_000 {
            break;
        }
    }
    let size = schema.to_string().len();
    let (_, steps) = steps(&schema, &value);
    assert!(steps < 4 * size, "{steps} {size}");
    let recursive = json!({"$defs": {"U": {keyword: [
        {"properties": {"of": {"$ref": "#/$defs/U"}, "a": {}}, "required": ["of"]},
        {"properties": {"of": {"$ref": "#/$defs/U"}, "b": {}}, "required": ["of"]},
        {"type": "integer"},
    ]}}, "$ref": "#/$defs/U"});
    let (_, steps) = self::steps(&recursive, &value);
    assert!(steps < 2_000, "{steps}");
}

#[test]
fn there_are_at_most_100_issues_and_each_is_short() {
    let choices: Vec<usize> = (0..50_000).collect();
    let schema = json!({"items": {"enum": choices}});
    let wrong = validate(&schema, &Value::from(vec!["x"; 5_000])).unwrap_err();
    assert_eq!(wrong.len(), MAX_ISSUES);
    let bytes: usize = wrong.iter().map(|issue| issue.to_string().len()).sum();
    assert!(bytes < 50_000, "{bytes}");
    let members: Map<String, Value> = (0..200).map(|n| (format!("{n}{}", "n".repeat(5_000)), json!(1))).collect();
    let wrong = validate(&json!({"additionalProperties": false}), &Value::Object(members)).unwrap_err();
    assert!(wrong.iter().all(|issue| issue.field.len() <= 300));
}

#[test]
fn a_check_that_costs_too_much_is_refused() {
    let schema = json!({"items": {"pattern": "^(a{1,20}){1,20}"}});
    let value = Value::from(vec!["a".repeat(2_000); 2_000]);
    assert_eq!(issues(&schema, &value), [format!("(root): fails size, allowed: {MAX_STEPS}")]);
}

#[rstest]
#[case("^[a-z]+$", "abc", true)]
#[case("^[a-z]+$", "abC", false)]
#[case(r"^\d{3}-\d{4}$", "555-1234", true)]
#[case(r"^\d$", "٣", false)]
#[case(r"^\w$", "é", false)]
#[case(r"^\s$", "\u{a0}", true)]
#[case(r"^[\s\S]$", "a", true)]
#[case(r"^.$", "\u{2028}", false)]
#[case(r"^(?<year>\d{4})-(?:\d\d)$", "2024-01", true)]
#[case(r"^[\w.+-]+@[\w-]+\.[a-z]{2,}$", "a.b+c@x-y.org", true)]
#[case(r"^[^\]\[]$", "[", false)]
#[case(r"^[[]$", "[", true)]
#[case(r"^[a&&b]$", "&", true)]
#[case(r"^\/api\/$", "/api/", true)]
#[case(r"^\u00e9\x41$", "éA", true)]
#[case(r"^a{,2}$", "a{,2}", true)]
#[case("b", "abc", true)]
#[case("^$", "", true)]
#[case("^a$", "a\n", false)]
#[case("a|b*", "c", true)]
fn a_pattern_means_what_it_means_in_ecmascript(#[case] pattern: &str, #[case] text: &str, #[case] expected: bool) {
    let schema = json!({"pattern": pattern});
    // Only `[\s\S]` is not matched.
    let is_unchecked = pattern.contains(r"\S");
    assert_eq!(unchecked(&schema).is_empty(), !is_unchecked);
    assert_eq!(validate(&schema, &json!(text)).is_ok(), expected);
}

#[rstest]
#[case::look_ahead("a(?=b)")]
#[case::look_behind("(?<!a)b")]
#[case::back_reference(r"(a)\1")]
#[case::class_of_unicode(r"\p{L}")]
#[case::flags("(?i)a")]
#[case::large("((a{1,100}){1,100}){1,100}")]
#[case::long(&"a".repeat(3_000))]
#[case::open("(a")]
#[case::closed("a)")]
#[case::open_class("[a")]
#[case::nothing_to_repeat("*")]
#[case::backslash("\\")]
#[case::other_order("[b-a]")]
fn a_pattern_that_is_not_matched_is_named_and_refuses_nothing(#[case] pattern: &str) {
    let schema = json!({"properties": {"a": {"pattern": pattern}}});
    assert_eq!(unchecked(&schema).len(), 1);
    assert_eq!(validate(&schema, &json!({"a": "x"})), Ok(()));
}

#[rstest]
#[case("date-time", "2024-02-29T23:59:59.5+02:00", true)]
#[case("date-time", "2024-02-29t23:59:59z", true)]
#[case("date-time", "2023-02-29T23:59:59Z", false)]
#[case("date-time", "2024-02-29T23:59:59", true)]
#[case("date-time", "2024-02-29", false)]
#[case("date", "2024-12-31", true)]
#[case("date", "2024-13-01", false)]
#[case("date", "2024-1-01", false)]
#[case("time", "23:59:60Z", true)]
#[case("time", "22:59:60Z", false)]
#[case("time", "24:00:00Z", false)]
#[case("time", "12:00:00é", false)]
#[case("email", "a.b@x.org", true)]
#[case("email", "a..b@x.org", false)]
#[case("email", "a@[127.0.0.1]", true)]
#[case("email", "a", false)]
#[case("hostname", "a-b.example", true)]
#[case("hostname", "-a.example", false)]
#[case("ipv4", "127.0.0.1", true)]
#[case("ipv4", "127.0.0.01", false)]
#[case("ipv6", "::1", true)]
#[case("ipv6", "1", false)]
#[case("ip", "::1", true)]
#[case("uri", "https://example.org/a?b=c#d", true)]
#[case("uri", "mailto:a@b.c", true)]
#[case("uri", "/a", false)]
#[case("uri", "http://a b", false)]
#[case("uri", "http://a/%zz", false)]
#[case("uuid", "123e4567-e89b-12d3-a456-426614174000", true)]
#[case("uuid", "123e4567e89b12d3a456426614174000", true)]
#[case("uri", "https://de.wikipedia.org/wiki/Köln", true)]
#[case("password", "anything", true)]
#[case("duration", "anything", true)]
fn a_format_is_checked(#[case] name: &str, #[case] text: &str, #[case] expected: bool) {
    assert_eq!(validate(&json!({"format": name}), &json!(text)).is_ok(), expected);
}

#[rstest]
#[case(json!(0.3), json!(0.1), true)]
#[case(json!(0.35), json!(0.1), false)]
#[case(json!(19.99), json!(0.01), true)]
#[case(json!(1e300), json!(0.5), true)]
#[case(json!(1e300), json!(7), false)]
#[case(json!(1e-300), json!(7), false)]
#[case(json!(0), json!(7), true)]
#[case(json!(-14), json!(7), true)]
#[case(json!(u64::MAX), json!(5), true)]
#[case(json!(u64::MAX), json!(10), false)]
#[case(json!(3), json!(0), true)]
fn a_multiple_is_decimal(#[case] number: Value, #[case] step: Value, #[case] expected: bool) {
    assert_eq!(validate(&json!({"multipleOf": step}), &number).is_ok(), expected);
}

#[test]
fn keywords_that_are_not_checked_are_named() {
    let schema = json!({"properties": {
        "a": {"type": "string", "format": "duration"},
        "b": {"type": "integer", "format": "int32"},
        "c": {"unevaluatedItems": false, "format": "date"},
        "d": {"minimum": 1, "exclusiveMinimum": true},
        "e": {"pattern": "(?=a)"},
    }});
    assert_eq!(
        unchecked(&schema),
        [
            "exclusiveMinimum: true",
            r#"format "duration""#,
            r#"pattern "(?=a)": look-around is not supported, because it cannot be matched in linear time"#,
            "unevaluatedItems"
        ]
    );
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!(null)), (-2..3_i64).prop_map(Value::from), "[ab]{0,2}".prop_map(Value::from)];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[ab]", inner, 0..3).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// Generates schemas with any keywords, whose references may lead anywhere.
fn any_schema() -> impl Strategy<Value = Value> {
    schema_of(prop_oneof![
        7 => leaf_schema(),
        1 => Just(json!({"$ref": "#"})),
        1 => Just(json!({"$ref": "#/$defs/x"})),
    ])
}

/// Generates schemas without references. Inside another schema, a reference to the root would refer
/// to that one.
fn schema_without_references() -> impl Strategy<Value = Value> {
    schema_of(leaf_schema())
}

fn leaf_schema() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(true)),
        Just(json!(false)),
        any_value().prop_map(|value| json!({"const": value})),
        Just(json!({"type": ["integer", "object"]})),
        Just(json!({"type": "string", "pattern": "^a"})),
        Just(json!({"minimum": 0, "multipleOf": 2, "maxLength": 1, "maxItems": 1, "maxProperties": 1})),
        Just(json!({"uniqueItems": true, "required": ["a"]})),
    ]
}

/// Generates schemas that combine these.
fn schema_of(leaf: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Value> {
    leaf.prop_recursive(3, 24, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            (prop_oneof![Just("anyOf"), Just("oneOf"), Just("allOf")], list)
                .prop_map(|(keyword, schemas)| json!({keyword: schemas})),
            (prop_oneof![Just("not"), Just("items"), Just("contains"), Just("additionalProperties")], inner.clone())
                .prop_map(|(keyword, schema)| json!({keyword: schema})),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
            (inner.clone(), inner).prop_map(|(a, b)| json!({"properties": {"a": a, "b": b}, "$defs": {"x": a}})),
        ]
    })
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn steps_are_linear_in_schema_times_value(schema in any_schema(), value in any_value()) {
        let (checked, steps) = steps(&schema, &value);
        prop_assert!(steps <= 20 * count(&schema) * count(&value), "{steps}");
        if let Err(issues) = checked {
            prop_assert!(!issues.is_empty() && issues.len() <= MAX_ISSUES);
        }
    }

    #[test]
    fn a_negation_turns_a_verdict_over(schema in schema_without_references(), value in any_value()) {
        let twice = json!({"not": {"not": schema}});
        prop_assert_eq!(validate(&schema, &value).is_ok(), validate(&twice, &value).is_ok());
        prop_assert_ne!(validate(&schema, &value).is_ok(), validate(&json!({"not": schema}), &value).is_ok());
    }

    #[test]
    fn unions_and_conjunctions_agree_with_their_parts(
        a in schema_without_references(),
        b in schema_without_references(),
        value in any_value(),
    ) {
        let fits = |schema: &Value| validate(schema, &value).is_ok();
        prop_assert_eq!(fits(&json!({"anyOf": [a, b]})), fits(&a) || fits(&b));
        prop_assert_eq!(fits(&json!({"allOf": [a, b]})), fits(&a) && fits(&b));
        prop_assert_eq!(fits(&json!({"oneOf": [a, b]})), fits(&a) != fits(&b));
        prop_assert_eq!(fits(&json!({"if": a, "then": b, "else": false})), fits(&a) && fits(&b));
    }
}

#[test]
fn earlier_keywords_are_those_of_histories_before_patterns_were_checked() {
    let schema = json!({
        "type": "object",
        "properties": {
            "code": {"type": "string", "pattern": "^[A-Z]+$", "maxLength": 3},
            "pattern": {"type": "integer", "multipleOf": 2},
            "pair": {"items": [{"type": "string"}, {"type": "string"}]},
            "any": {"anyOf": [{"type": "string", "format": "email"}, {"type": "null"}]}
        },
        "patternProperties": {"^x-": {"type": "string"}},
        "additionalProperties": false,
        "required": ["code"],
        "minProperties": 9,
        "if": {"required": ["code"]},
        "then": false,
        "enum": [{"pattern": "^a$", "code": "abc"}, {"code": "abc", "pattern": 3, "pair": [1, 2], "any": "nobody", "x-a": 1}]
    });
    let taken_before = json!({"code": "abc", "pattern": 3, "pair": [1, 2], "any": "nobody", "x-a": 1});
    assert_eq!(validate_earlier_keywords(&schema, &taken_before), Ok(()));
    assert!(validate(&schema, &taken_before).is_err());

    let refused_before = json!({"code": "abcd", "pattern": 3});
    let issues = validate_earlier_keywords(&schema, &refused_before).unwrap_err();
    let constraints: Vec<_> = issues.iter().map(|issue| issue.constraint.as_str()).collect();
    assert_eq!(constraints, ["enum", "maxLength"]);
}

#[test]
fn a_verdict_inside_of_a_cycle_is_not_taken_for_one_outside_of_it() {
    // The verdict of `b` on a string is needed inside `a`, which counts as not fitting until it is
    // decided, and again after `a`.
    let schema = json!({
        "allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}],
        "$defs": {
            "a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "string"}]},
            "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "number"}]}
        }
    });
    assert_eq!(validate(&schema, &json!("text")), Ok(()));
    assert_eq!(validate(&schema, &json!(1)), Ok(()));
    assert!(validate(&schema, &json!(true)).is_err());
}

#[test]
fn definitions_that_all_lead_to_each_other_are_checked_in_few_steps() {
    let names: Vec<String> = (0..40).map(|number| format!("d{number}")).collect();
    let others = |own: &str| -> Value {
        let others = names.iter().filter(|name| *name != own);
        others.map(|name| json!({"$ref": format!("#/$defs/{name}")})).collect()
    };
    let defs: Map<String, Value> = names.iter().map(|name| (name.clone(), json!({"anyOf": others(name)}))).collect();
    let schema = json!({"$ref": "#/$defs/d0", "$defs": defs});
    let mut check = Check::new(&schema);
    assert!(!check.is_fit(&schema, &json!(1)));
    assert!(check.stopped.is_none() && check.steps < 100_000, "{} steps", check.steps);
}
