//! Keywords that compare one value, without the schemas inside.

use std::{cmp::Ordering, collections::BTreeSet};

use serde_json::{Map, Number, Value};

use super::{Check, Verdict, format, multiple, number, pattern::Pattern};
use crate::{tool::schema::keywords::has_type, wire::canonical};

/// Values or bytes that one step compares.
const AT_ONCE: usize = 16;

/// Returns `true` if the schema accepts the type of a value.
pub(super) fn fits_type(node: &Map<String, Value>, instance: &Value) -> bool {
    if !node.contains_key("type") {
        return true;
    }
    match instance {
        Value::Null => has_type(node, "null"),
        Value::Bool(_) => has_type(node, "boolean"),
        Value::Number(value) => has_type(node, "number") || (number::is_integer(value) && has_type(node, "integer")),
        Value::String(_) => has_type(node, "string"),
        Value::Array(_) => has_type(node, "array"),
        Value::Object(_) => has_type(node, "object"),
    }
}

/// Returns the keywords that apply to a value, in the order in which they are reported.
pub(super) fn applicable(instance: &Value) -> &'static [&'static str] {
    match instance {
        Value::Null | Value::Bool(_) => &["enum", "const"],
        Value::Number(_) => {
            &["enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]
        }
        Value::String(_) => &["enum", "const", "minLength", "maxLength", "pattern", "format"],
        Value::Array(_) => &["enum", "const", "minItems", "maxItems", "uniqueItems"],
        Value::Object(_) => &["enum", "const", "minProperties", "maxProperties"],
    }
}

impl<'a> Check<'a> {
    /// Returns the verdict of one of the [`applicable`] keywords.
    pub(super) fn keyword(&mut self, keyword: &str, rule: &'a Value, instance: &Value) -> Verdict {
        match (keyword, rule, instance) {
            ("enum", Value::Array(allowed), _) => {
                self.spend(allowed.len() / AT_ONCE);
                allowed.iter().any(|allowed| number::are_equal(allowed, instance)).into()
            }
            ("const", allowed, _) => number::are_equal(allowed, instance).into(),
            ("pattern", Value::String(pattern), Value::String(text)) => self.matches(pattern, text),
            ("format", Value::String(name), Value::String(text)) => match format::check(name, text) {
                Some(fits) => fits.into(),
                None if format::is_annotation(name) => Verdict::Yes,
                None => Verdict::Maybe,
            },
            ("multipleOf", Value::Number(step), Value::Number(number)) => multiple::is_multiple(number, step).into(),
            ("uniqueItems", Value::Bool(true), Value::Array(items)) => self.are_unique(items).into(),
            // The form of draft 4, in which the keyword changes the meaning of `minimum`.
            ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(true), _) => Verdict::Maybe,
            (_, Value::Number(limit), _) => {
                let Some(measure) = self.measure(instance) else { return Verdict::Yes };
                number::compare(&measure, limit).is_some_and(|ordering| admits(keyword, ordering)).into()
            }
            _ => Verdict::Yes,
        }
    }

    /// Returns the verdict of a pattern that must match anywhere in a string.
    pub(super) fn matches(&mut self, pattern: &'a str, text: &str) -> Verdict {
        let at = pattern.as_ptr().addr();
        if !self.patterns.contains_key(&at) {
            self.spend(pattern.len());
        }
        let pattern = self.patterns.entry(at).or_insert_with(|| Pattern::new(pattern));
        let cost = pattern.cost(text);
        if cost / AT_ONCE > super::MAX_STEPS / 4 {
            // For example a large attachment: one pattern must not use up the steps of the whole
            // check.
            return Verdict::Maybe;
        }
        let verdict = match pattern {
            Pattern::Checked { regex, .. } => regex.is_match(text).into(),
            Pattern::Unchecked(_) => Verdict::Maybe,
        };
        self.spend(cost / AT_ONCE);
        verdict
    }

    fn are_unique(&mut self, items: &[Value]) -> bool {
        let mut seen = BTreeSet::new();
        for item in items {
            // Two items are equal if their canonical forms are.
            let mut form = Vec::new();
            canonical::write(item, &mut form);
            if !self.spend(form.len() / AT_ONCE + 1) || !seen.insert(form) {
                return false;
            }
        }
        true
    }

    /// Returns the number that limits are compared with: the number itself, or the length.
    fn measure(&mut self, instance: &Value) -> Option<Number> {
        match instance {
            Value::Number(number) => Some(number.clone()),
            Value::String(text) => {
                self.spend(text.len() / (AT_ONCE * AT_ONCE));
                Some(Number::from(text.chars().count()))
            }
            Value::Array(items) => Some(Number::from(items.len())),
            Value::Object(members) => Some(Number::from(members.len())),
            Value::Null | Value::Bool(_) => None,
        }
    }
}

fn admits(keyword: &str, ordering: Ordering) -> bool {
    match keyword {
        "minimum" | "minLength" | "minItems" | "minProperties" => ordering.is_ge(),
        "maximum" | "maxLength" | "maxItems" | "maxProperties" => ordering.is_le(),
        "exclusiveMinimum" => ordering.is_gt(),
        "exclusiveMaximum" => ordering.is_lt(),
        _ => true,
    }
}
