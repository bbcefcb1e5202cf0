//! Properties that hold for every schema of the supported subset.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{strict, validate};

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "integer", "minimum": 0})),
        Just(json!({"type": ["boolean", "null"], "default": null})),
        Just(json!({"enum": ["a", 2]})),
        Just(json!({"$ref": "#/$defs/Leaf"})),
        Just(json!({"description": "d", "$ref": "#/$defs/Node"})),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        prop_oneof![
            any_object(inner.clone()),
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            inner.clone().prop_map(|only| json!({"description": "d", "allOf": [only]})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|variants| json!({"anyOf": variants})),
            inner.prop_map(|items| json!({"oneOf": [{"type": "array", "items": items}, {"type": "null"}]})),
        ]
    })
}

fn any_object(member: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((member, any::<bool>()), 0..3).prop_map(|members| {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for (index, (schema, is_required)) in members.into_iter().enumerate() {
            let name = format!("m{index}");
            if is_required {
                required.push(name.clone());
            }
            properties.insert(name, schema);
        }
        json!({"type": "object", "properties": properties, "required": required})
    })
}

fn any_root() -> impl Strategy<Value = Value> {
    any_object(any_schema()).prop_map(|mut root| {
        root["$defs"] = json!({
            "Leaf": {"type": "number"},
            "Node": {"type": "object", "properties": {"next": {
                "description": "d",
                "anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}],
            }}},
        });
        root
    })
}

/// Returns a value with all members; for a union, of the last variant, which ends every recursion
/// here.
fn sample(root: &Value, schema: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        return sample(root, &root.pointer(&reference[1..]).unwrap().clone());
    }
    if let Some(variants) = schema["anyOf"].as_array() {
        return sample(root, variants.last().unwrap());
    }
    if let Some(values) = schema["enum"].as_array() {
        return values[0].clone();
    }
    match schema["type"].as_str() {
        Some("string") => json!("text"),
        Some("integer") => json!(7),
        Some("number") => json!(0.5),
        Some("array") => json!([sample(root, &schema["items"])]),
        Some("object") => {
            let members = schema["properties"].as_object().unwrap();
            members.iter().map(|(name, schema)| (name.clone(), sample(root, schema))).collect()
        }
        _ => Value::Null,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn strict_changes_a_strict_schema_no_more(schema in any_root()) {
        let once = strict(schema).unwrap();
        prop_assert_eq!(strict(once.clone()).unwrap().to_string(), once.to_string());
    }

    #[test]
    fn a_value_with_all_members_fits_both_schemas(schema in any_root()) {
        let strict_schema = strict(schema.clone()).unwrap();
        let value = sample(&strict_schema, &strict_schema);
        prop_assert_eq!(validate(&strict_schema, &value), Ok(()));
        prop_assert_eq!(validate(&schema, &value), Ok(()));
    }
}
