//! Schemas, and values that they are applied to.

use proptest::strategy::Strategy;
use serde_json::{Value, json};
use temporal_agents_core::tool::schema::{Conversions, conform, parse_arguments, strict, validate, wrap_output};

use super::{
    cases::check,
    documents::{Document, documents},
};

const CASES: u32 = 500;

/// Pairs of a schema and a value, which are changed together, so that parts of one land in the other.
fn pairs() -> Vec<(String, Value)> {
    let node = json!({"type": "object", "properties": {"name": {"type": "string", "minLength": 1}, "next": {"$ref": "#/$defs/node"}}});
    let shape = json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number", "exclusiveMinimum": 0}}, "required": ["kind", "r"]},
        {"type": "object", "properties": {"kind": {"const": "group"}, "of": {"type": "array", "items": {"$ref": "#"}, "maxItems": 9}}, "required": ["kind", "of"]},
    ]});
    let order = json!({
        "type": "object",
        "properties": {
            "id": {"type": ["string", "null"], "pattern": "^[A-Z]+$", "format": "uuid"},
            "amount": {"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 3},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": true, "minItems": 1},
            "pair": {"prefixItems": [{"type": "boolean"}, {"const": 7}], "items": false},
        },
        "required": ["id", "amount"],
        "additionalProperties": {"anyOf": [{"type": "number"}, {"allOf": [{"type": "string"}, {"maxLength": 3}]}]},
        "not": {"required": ["banned"]},
        "if": {"required": ["pair"]},
        "then": {"required": ["tags"]},
    });
    vec![
        (
            "list".to_owned(),
            json!({"schema": {"$ref": "#/$defs/node", "$defs": {"node": node}}, "value": {"name": "a", "next": {"name": "b"}}}),
        ),
        (
            "shape".to_owned(),
            json!({"schema": shape, "value": {"kind": "group", "of": [{"kind": "circle", "r": 1.5}]}}),
        ),
        (
            "order".to_owned(),
            json!({"schema": order, "value": {"id": "A", "amount": 3, "tags": ["a"], "pair": [true, 7], "more": "x"}}),
        ),
    ]
}

#[test]
fn changed_schemas_and_values_are_checked_without_a_panic() -> anyhow::Result<()> {
    let inputs = documents(pairs()).prop_map(|document: Document| document.json().unwrap_or_default());
    check(CASES, &inputs, |pair| {
        let (schema, value) = (&pair["schema"], &pair["value"]);
        if let Err(issues) = validate(schema, value) {
            anyhow::ensure!(!issues.is_empty(), "refused without a reason");
        }
        for conversions in [Conversions::None, Conversions::Lax] {
            let conformed = conform(schema, value.clone(), conversions);
            if validate(schema, value).is_ok() && conversions == Conversions::None {
                anyhow::ensure!(
                    validate(schema, &conformed).is_ok(),
                    "a value that fits does not when it is conformed"
                );
            }
        }
        // An answer or a refusal; what is made strict once stays as it is.
        if let Ok(once) = strict(schema.clone()) {
            anyhow::ensure!(strict(once.clone()).is_ok_and(|twice| twice == once), "strict is not strict enough");
        }
        let _ = wrap_output(schema.clone());
        let _ = parse_arguments("tool", &value.to_string(), schema);
        Ok(())
    })
}
