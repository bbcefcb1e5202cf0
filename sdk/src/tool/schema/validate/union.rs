//! `anyOf` and `oneOf`: which variant was meant, if none fits.

use serde_json::{Value, json};

use super::{Check, Issue, resolve};

impl<'a> Check<'a> {
    pub(super) fn union(
        &mut self,
        keyword: &str,
        variants: &'a [Value],
        instance: &Value,
        field: &str,
        followed: &[&str],
    ) -> Vec<Issue> {
        let mut failures = Vec::new();
        for variant in variants {
            let issues = self.schema(variant, instance, field, followed);
            if !issues.is_empty() {
                failures.push(issues);
            }
        }
        let fitting = variants.len() - failures.len();
        if fitting == 1 || (fitting > 1 && keyword == "anyOf") {
            return Vec::new();
        }
        if fitting == 0
            && let Some(issues) = closest(&failures, field)
        {
            return issues.to_vec();
        }
        let allowed: Vec<Value> = variants.iter().map(|variant| self.summary(variant)).collect();
        vec![Issue::new(field, keyword, allowed)]
    }

    /// A schema in one word, or the list of its words.
    pub(super) fn summary(&self, schema: &Value) -> Value {
        let named = schema.get("$ref").and_then(Value::as_str);
        let schema = named.and_then(|reference| resolve(self.root, reference)).unwrap_or(schema);
        let word = |keyword: &str| schema.get(keyword).cloned();
        word("const")
            .or_else(|| word("enum"))
            .or_else(|| word("type"))
            .or_else(|| Some(json!(named?.rsplit('/').next()?)))
            .unwrap_or_else(|| json!("another schema"))
    }
}

/// The failure that explains most: of the only variant whose type and tag fit or, among several of those, of the only one
/// that has the same members.
fn closest<'i>(failures: &'i [Vec<Issue>], field: &str) -> Option<&'i [Issue]> {
    let mut near: Vec<&Vec<Issue>> = failures.iter().collect();
    for rules_out in [is_other_kind, is_other_shape] {
        near.retain(|issues| !issues.iter().any(|issue| rules_out(issue, field)));
        if let [only] = near.as_slice() {
            return Some(only);
        }
    }
    None
}

fn is_other_kind(issue: &Issue, field: &str) -> bool {
    let at_value = issue.field == field && matches!(issue.constraint.as_str(), "type" | "enum" | "const");
    at_value || (issue.constraint == "const" && is_member(&issue.field, field))
}

fn is_other_shape(issue: &Issue, field: &str) -> bool {
    matches!(issue.constraint.as_str(), "required" | "additionalProperties") && is_member(&issue.field, field)
}

fn is_member(place: &str, field: &str) -> bool {
    let name =
        if field.is_empty() { Some(place) } else { place.strip_prefix(field).and_then(|rest| rest.strip_prefix('.')) };
    name.is_some_and(|name| !name.is_empty() && !name.contains('.'))
}
