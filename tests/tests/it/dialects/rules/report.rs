//! Collects refusals and builds JSON pointers.

use serde_json::Value;

use crate::dialects::rules::Refusal;

/// The refusals found so far.
#[derive(Default)]
pub(crate) struct Report {
    refusals: Vec<Refusal>,
}

impl Report {
    /// Records that the rule is broken at the pointer.
    pub(crate) fn refuse(&mut self, rule: &'static str, at: impl Into<String>, detail: impl Into<String>) {
        let refusal = Refusal { rule, at: at.into(), detail: detail.into() };
        if !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
    }

    /// Returns the refusals in the order they were found.
    pub(crate) fn into_refusals(self) -> Vec<Refusal> {
        self.refusals
    }
}

/// Appends a token to a JSON pointer (RFC 6901).
pub(crate) fn child(at: &str, token: impl std::fmt::Display) -> String {
    let token = token.to_string().replace('~', "~0").replace('/', "~1");
    format!("{at}/{token}")
}

/// Iterates an array with the pointer of each element; anything else has none.
pub(crate) fn elements<'a>(value: &'a Value, at: &str) -> impl Iterator<Item = (String, &'a Value)> + use<'a> {
    let at = at.to_owned();
    value
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
        .iter()
        .enumerate()
        .map(move |(index, element)| (child(&at, index), element))
}

/// Returns whether the member is there and not null.
pub(crate) fn is_given(value: &Value) -> bool {
    !value.is_null()
}

/// Returns whether the value is an array with elements.
pub(crate) fn is_filled(value: &Value) -> bool {
    value.as_array().is_some_and(|elements| !elements.is_empty())
}

/// Returns whether the word occurs in any string of the value, in any case.
pub(crate) fn mentions(value: &Value, word: &str) -> bool {
    match value {
        Value::String(text) => text.to_lowercase().contains(word),
        Value::Array(elements) => elements.iter().any(|element| mentions(element, word)),
        Value::Object(members) => members.values().any(|member| mentions(member, word)),
        _ => false,
    }
}
