//! One thing that is wrong with a value.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One violation of a schema, in a form that can be shown to a model or to a person.
///
/// It names the place and the rule, never the value: that may be private.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Issue {
    /// Path to the value, steps joined with dots (`filter.tags.0`); empty for the root.
    pub field: String,
    /// The keyword that is violated: `type`, `required`, `enum`, ...
    pub constraint: String,
    /// What is allowed instead: the value of the keyword; for a missing member and for a union what would fit there; for
    /// an unknown member the known ones.
    pub allowed: Value,
}

impl Issue {
    pub(super) fn new(field: &str, constraint: &str, allowed: impl Into<Value>) -> Self {
        Self { field: field.to_owned(), constraint: constraint.to_owned(), allowed: allowed.into() }
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, constraint, allowed } = self;
        let field = if field.is_empty() { "(root)" } else { field };
        match constraint.as_str() {
            "required" => write!(f, "{field}: missing, allowed: {allowed}"),
            "additionalProperties" => write!(f, "{field}: unknown, allowed: {allowed}"),
            _ => write!(f, "{field}: fails {constraint}, allowed: {allowed}"),
        }
    }
}
