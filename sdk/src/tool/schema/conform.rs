//! Makes a value fit a schema where that loses nothing the schema speaks of.

use serde_json::{Map, Number, Value};

use super::{reference, validate::validate};

/// Whether values of other types are converted, as lenient readers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversions {
    /// None: a type is a type.
    None,
    /// Numbers and booleans from their texts, whole numbers from floats without a fraction, numbers and booleans into each other
    /// where 0 and 1 are meant.
    Lax,
}

/// The value without members that the schema's objects do not declare, and with its scalars converted. What does not fit stays as
/// it is, for [`validate`] to report.
pub fn conform(schema: &Value, value: Value, conversions: Conversions) -> Value {
    at(schema, schema, value, conversions, 0)
}

/// References may lead back to themselves.
const DEEPEST: usize = 64;

fn at(root: &Value, schema: &Value, value: Value, conversions: Conversions, depth: usize) -> Value {
    if depth > DEEPEST {
        return value;
    }
    let deeper = |schema: &Value, value: Value| at(root, schema, value, conversions, depth + 1);
    if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|name| reference::resolve(root, name)) {
        return deeper(target, value);
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get(choice).and_then(Value::as_array) {
            if choices.iter().any(|choice| validate(choice, &value).is_ok()) {
                return value;
            }
            let fitting = |choice: &Value| {
                let value = deeper(choice, value.clone());
                validate(choice, &value).is_ok().then_some(value)
            };
            return choices.iter().find_map(fitting).unwrap_or(value);
        }
    }
    match value {
        Value::Object(members) => Value::Object(object(schema, members, &deeper)),
        Value::Array(items) => match schema.get("items") {
            Some(schema) => items.into_iter().map(|item| deeper(schema, item)).collect(),
            None => Value::Array(items),
        },
        scalar if conversions == Conversions::Lax => converted(schema, scalar),
        scalar => scalar,
    }
}

fn object(schema: &Value, members: Map<String, Value>, deeper: &dyn Fn(&Value, Value) -> Value) -> Map<String, Value> {
    let declared = schema.get("properties").and_then(Value::as_object);
    let Some(declared) = declared else { return members };
    let others = schema.get("additionalProperties").filter(|others| **others != Value::Bool(false));
    let conformed = members.into_iter().filter_map(|(name, value)| match (declared.get(&name), others) {
        (None, Some(Value::Bool(_))) => Some((name, value)),
        (Some(schema), _) | (None, Some(schema)) => Some((name, deeper(schema, value))),
        (None, None) => None,
    });
    conformed.collect()
}

fn converted(schema: &Value, scalar: Value) -> Value {
    match (schema.get("type").and_then(Value::as_str), &scalar) {
        (Some("integer"), Value::String(text)) => text.trim().parse::<i64>().map_or(scalar, Value::from),
        (Some("integer"), Value::Number(number)) => whole(number).map_or(scalar, Value::from),
        (Some("number"), Value::String(text)) => {
            text.trim().parse::<f64>().ok().and_then(Number::from_f64).map_or(scalar, Value::Number)
        }
        (Some("integer" | "number"), Value::Bool(truth)) => i64::from(*truth).into(),
        (Some("boolean"), Value::String(text)) => truth(text).map_or(scalar, Value::Bool),
        (Some("boolean"), Value::Number(number)) => match number.as_f64() {
            Some(0.0) => false.into(),
            Some(1.0) => true.into(),
            _ => scalar,
        },
        _ => scalar,
    }
}

/// A float without a fraction as an integer.
fn whole(number: &Number) -> Option<i64> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    let text = format!("{float:.0}");
    (float.fract() == 0.0).then(|| text.parse().ok()).flatten()
}

fn truth(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
