//! The keywords that look at one value alone.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::{super::keywords::has_type, issue::Issue};

pub(super) fn wrong_type(node: &Map<String, Value>, instance: &Value, field: &str) -> Option<Issue> {
    let allowed = node.get("type")?;
    let fits = match instance {
        Value::Null => has_type(node, "null"),
        Value::Bool(_) => has_type(node, "boolean"),
        Value::Number(number) => has_type(node, "number") || (!number.is_f64() && has_type(node, "integer")),
        Value::String(_) => has_type(node, "string"),
        Value::Array(_) => has_type(node, "array"),
        Value::Object(_) => has_type(node, "object"),
    };
    (!fits).then(|| Issue::new(field, "type", allowed.clone()))
}

pub(super) fn literals(node: &Map<String, Value>, instance: &Value, field: &str) -> Vec<Issue> {
    let mut issues = Vec::new();
    if let Some(Value::Array(allowed)) = node.get("enum")
        && !allowed.contains(instance)
    {
        issues.push(Issue::new(field, "enum", allowed.clone()));
    }
    if let Some(allowed) = node.get("const")
        && allowed != instance
    {
        issues.push(Issue::new(field, "const", allowed.clone()));
    }
    issues
}

pub(super) fn string(node: &Map<String, Value>, text: &str, field: &str) -> Vec<Issue> {
    let characters = Number::from(text.chars().count());
    limits(node, &characters, field, &[("minLength", Bound::Least), ("maxLength", Bound::Most)])
}

pub(super) fn array_length(node: &Map<String, Value>, items: &[Value], field: &str) -> Vec<Issue> {
    let length = Number::from(items.len());
    limits(node, &length, field, &[("minItems", Bound::Least), ("maxItems", Bound::Most)])
}

pub(super) fn number(node: &Map<String, Value>, number: &Number, field: &str) -> Vec<Issue> {
    let bounds = [
        ("minimum", Bound::Least),
        ("maximum", Bound::Most),
        ("exclusiveMinimum", Bound::Above),
        ("exclusiveMaximum", Bound::Below),
    ];
    limits(node, number, field, &bounds)
}

#[derive(Clone, Copy)]
enum Bound {
    Least,
    Most,
    Above,
    Below,
}

impl Bound {
    fn admits(self, ordering: Ordering) -> bool {
        match self {
            Self::Least => ordering.is_ge(),
            Self::Most => ordering.is_le(),
            Self::Above => ordering.is_gt(),
            Self::Below => ordering.is_lt(),
        }
    }
}

fn limits(node: &Map<String, Value>, measure: &Number, field: &str, bounds: &[(&str, Bound)]) -> Vec<Issue> {
    let mut issues = Vec::new();
    for (keyword, bound) in bounds {
        if let Some(Value::Number(limit)) = node.get(*keyword)
            && !compare(measure, limit).is_some_and(|ordering| bound.admits(ordering))
        {
            issues.push(Issue::new(field, keyword, limit.clone()));
        }
    }
    issues
}

/// Integers are compared as integers: as floats, large ones that differ would be equal.
fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}
