//! Names and schemas of tools that are described outside of the program.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::name::{to_distinct_function_name, to_function_name};

/// Returns the names of a list of tools for the model, in their order.
///
/// Where several become one, such as `files.read` and `files_read`, each that had to be changed
/// ends in digits of its digest.
pub(super) fn shown_names<'n>(prefix: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let wholes: Vec<String> = names.map(|name| format!("{prefix}{name}")).collect();
    let shown: Vec<String> = wholes.iter().map(|whole| to_function_name(whole)).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &shown {
        *counts.entry(name).or_default() += 1;
    }
    let distinct = wholes.iter().zip(&shown).map(|(whole, name)| {
        if counts[&**name] > 1 && whole != name { to_distinct_function_name(whole) } else { name.clone() }
    });
    distinct.collect()
}

/// Adds members that providers require and servers may leave out.
pub(super) fn with_required_members(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(members) = &mut schema {
        members.entry("type").or_insert_with(|| json!("object"));
        members.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}
