//! Changes a value to fit a schema, where this loses nothing that the schema declares.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::{reference, validate::fits};

/// The conversions of scalars into values of another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversions {
    /// No conversions: the type of a value is not changed.
    None,
    /// Strings to numbers and booleans, floats without a fraction to integers, and between numbers
    /// and booleans if the number is 0 or 1.
    Lax,
}

/// Returns the value without members that the schema's objects do not declare, and with its scalars
/// converted. Parts that do not fit are not changed, so that [`validate`](super::validate())
/// reports them.
///
/// For a union, the first variant that the value fits is used; if it fits none, the first variant
/// that it fits once it is converted.
pub fn conform(schema: &Value, value: Value, conversions: Conversions) -> Value {
    let mut conforming = Conforming { root: schema, conversions, known: BTreeMap::new(), depth: 0, steps: 0 };
    conforming.at(schema, &value)
}

/// Deepest nesting of schemas that are applied; references may form cycles.
const DEEPEST: usize = 64;

/// Most schemas that are applied to one value; the rest of the value is not changed.
const MAX_STEPS: usize = 1_000_000;

/// The state of one pass over a value.
struct Conforming<'a> {
    /// The root of the document, in which references are resolved.
    root: &'a Value,
    conversions: Conversions,
    /// The result for each pair of a union and a value that fits none of its variants, by the
    /// addresses of both.
    known: BTreeMap<(usize, usize), Value>,
    depth: usize,
    steps: usize,
}

impl<'a> Conforming<'a> {
    fn at(&mut self, schema: &'a Value, value: &Value) -> Value {
        self.steps += 1;
        if self.depth > DEEPEST || self.steps > MAX_STEPS {
            return value.clone();
        }
        self.depth += 1;
        let conformed = self.inside(schema, value);
        self.depth -= 1;
        conformed
    }

    fn inside(&mut self, schema: &'a Value, value: &Value) -> Value {
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|name| reference::resolve(self.root, name));
        if let Some(target) = target {
            return self.at(target, value);
        }
        let mut unions = ["anyOf", "oneOf"].iter().filter_map(|keyword| schema.get(*keyword)?.as_array());
        if let Some(variants) = unions.next() {
            return self.union(variants, value);
        }
        match value {
            Value::Object(members) => Value::Object(self.object(schema, members)),
            Value::Array(items) => match schema.get("items") {
                Some(schema) => items.iter().map(|item| self.at(schema, item)).collect(),
                None => value.clone(),
            },
            scalar if self.conversions == Conversions::Lax => converted(schema, scalar.clone()),
            scalar => scalar.clone(),
        }
    }

    fn union(&mut self, variants: &'a [Value], value: &Value) -> Value {
        let root = self.root;
        if let Some(fitting) = variants.iter().find(|variant| fits(root, variant, value)) {
            return self.at(fitting, value);
        }
        let pair = (variants.as_ptr().addr(), std::ptr::from_ref(value).addr());
        if let Some(known) = self.known.get(&pair) {
            return known.clone();
        }
        // If a reference leads back to this pair, the value is not changed.
        self.known.insert(pair, value.clone());
        let mut conformed = None;
        for variant in variants {
            let candidate = self.at(variant, value);
            if candidate != *value && fits(root, variant, &candidate) {
                conformed = Some(candidate);
                break;
            }
        }
        match conformed {
            None => value.clone(),
            Some(conformed) => {
                self.known.insert(pair, conformed.clone());
                conformed
            }
        }
    }

    fn object(&mut self, schema: &'a Value, members: &Map<String, Value>) -> Map<String, Value> {
        let Some(declared) = schema.get("properties").and_then(Value::as_object) else { return members.clone() };
        let others = schema.get("additionalProperties").filter(|others| **others != Value::Bool(false));
        // These keywords may allow members that are not declared here.
        let is_open = ["allOf", "patternProperties"].iter().any(|keyword| schema.get(*keyword).is_some());
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
        let conformed = members.iter().filter_map(|(name, value)| {
            let conformed = match (declared.get(name), others) {
                (Some(schema), _) | (None, Some(schema @ Value::Object(_))) => self.at(schema, value),
                (None, Some(_)) => value.clone(),
                (None, None) if is_open || is_required(name) => value.clone(),
                (None, None) => return None,
            };
            Some((name.clone(), conformed))
        });
        conformed.collect()
    }
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

/// Converts a float without a fraction to an integer.
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
