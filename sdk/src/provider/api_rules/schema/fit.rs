//! Removes what an API does not accept from a sound schema, and states it in the description.

use serde_json::{Map, Value, json};
use temporal_agents_core::tool::schema::{has_type, json_type};

use super::{
    Node,
    cycles::break_cycles,
    for_each_child,
    sound::drop_unresolved,
    words::{note, words_of},
};

/// What a schema may contain.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a row of a table: each column is a yes or a no")]
pub(in super::super) struct SchemaRules {
    pub(in super::super) keywords: Keywords,
    pub(in super::super) formats: Formats,
    /// `true` if patterns with lookaround, word boundaries or back references are refused.
    pub(in super::super) plain_patterns: bool,
    /// Largest `minItems`.
    pub(in super::super) max_min_items: Option<u64>,
    /// `true` if no keyword may be next to a `$ref`.
    pub(in super::super) lone_references: bool,
    /// `true` if references that lead back to themselves are replaced.
    pub(in super::super) breaks_cycles: bool,
    /// `true` if each array needs `items`.
    pub(in super::super) arrays_need_items: bool,
    /// Returns `true` for the names that members may have.
    pub(in super::super) is_member_name: fn(&str) -> bool,
}

/// The keywords that an API accepts.
#[derive(Debug)]
pub(in super::super) enum Keywords {
    All,
    AllBut(&'static [&'static str]),
    Only(&'static [&'static str]),
}

/// The values of `format` that an API accepts.
#[derive(Debug)]
pub(in super::super) enum Formats {
    Any,
    Only(&'static [&'static str]),
}

/// Returns the schema with only what the rules allow.
pub(in super::super) fn fit(schema: &Value, rules: &SchemaRules) -> Value {
    let mut schema = schema.clone();
    if rules.breaks_cycles {
        break_cycles(&mut schema);
    }
    fit_node(&mut schema, rules);
    let document = schema.clone();
    drop_unresolved(&mut schema, &document);
    schema
}

fn fit_node(schema: &mut Value, rules: &SchemaRules) {
    let Value::Object(node) = schema else { return };
    if rules.lone_references && node.contains_key("$ref") {
        node.retain(|keyword, _| keyword == "$ref");
        return;
    }
    if !rules.accepts("oneOf")
        && let Some(Value::Array(variants)) = node.shift_remove("oneOf")
        && let Value::Array(known) = node.entry("anyOf").or_insert_with(|| json!([]))
    {
        known.extend(variants);
    }
    if matches!(rules.keywords, Keywords::Only(_)) {
        infer_type(node);
    }
    remove_members(node, rules);
    remove_keywords(node, rules);
    if rules.arrays_need_items && has_type(node, "array") && !node.contains_key("items") {
        node.insert("items".to_owned(), json!({}));
    }
    for_each_child(node, &mut |child| fit_node(child, rules));
}

impl SchemaRules {
    fn accepts(&self, keyword: &str) -> bool {
        match self.keywords {
            Keywords::All => true,
            Keywords::AllBut(refused) => !refused.contains(&keyword),
            Keywords::Only(accepted) => accepted.contains(&keyword),
        }
    }

    fn accepts_value(&self, keyword: &str, value: &Value) -> bool {
        match (keyword, value) {
            ("format", Value::String(format)) => match self.formats {
                Formats::Any => true,
                Formats::Only(formats) => formats.contains(&&**format),
            },
            ("pattern", Value::String(pattern)) => !self.plain_patterns || is_plain(pattern),
            ("minItems", count) => {
                self.max_min_items.is_none_or(|most| count.as_u64().is_some_and(|count| count <= most))
            }
            _ => true,
        }
    }
}

/// Removes the keywords that the API does not accept, and states them.
fn remove_keywords(node: &mut Node, rules: &SchemaRules) {
    let mut words = Vec::new();
    node.retain(|keyword, value| {
        let is_accepted = rules.accepts(keyword) && rules.accepts_value(keyword, value);
        if !is_accepted {
            words.extend(words_of(keyword, value));
        }
        is_accepted
    });
    if !words.is_empty() {
        note(node, &words.join(", "));
    }
}

/// Removes members with names that the API does not accept; the object is open then, and the model
/// is told of them.
fn remove_members(node: &mut Node, rules: &SchemaRules) {
    let Some(Value::Object(properties)) = node.get_mut("properties") else { return };
    let mut removed = Map::new();
    properties.retain(|name, schema| {
        let is_accepted = (rules.is_member_name)(name);
        if !is_accepted {
            removed.insert(name.clone(), schema.take());
        }
        is_accepted
    });
    if removed.is_empty() {
        return;
    }
    if let Some(Value::Array(required)) = node.get_mut("required") {
        required.retain(|name| name.as_str().is_some_and(|name| !removed.contains_key(name)));
    }
    node.shift_remove("additionalProperties");
    note(node, &format!("more members, by JSON schema: {}", Value::Object(removed)));
}

/// Adds the type of a list of values that has none, if all have the same.
fn infer_type(node: &mut Node) {
    if node.contains_key("type") {
        return;
    }
    let values = match (node.get("enum"), node.get("const")) {
        (Some(Value::Array(values)), _) => &**values,
        (_, Some(value)) => std::slice::from_ref(value),
        _ => return,
    };
    let mut types: Vec<&str> = values.iter().map(json_type).collect();
    types.sort_unstable();
    types.dedup();
    let kind = match *types.as_slice() {
        [one] => json!(one),
        // A nullable enum.
        ["null", other] | [other, "null"] => json!([other, "null"]),
        ["integer", "number"] => json!("number"),
        _ => return,
    };
    node.insert("type".to_owned(), kind);
}

/// Returns `true` for a pattern without lookaround, word boundaries, back references, classes of
/// Unicode, named groups and flags, which the grammars of providers cannot express.
fn is_plain(pattern: &str) -> bool {
    let mut is_escaped = false;
    let mut before = [' '; 2];
    for c in pattern.chars() {
        if is_escaped {
            if matches!(c, 'b' | 'B' | 'k' | 'p' | 'P' | '1'..='9') {
                return false;
            }
            is_escaped = false;
            before = [' '; 2];
            continue;
        }
        // Of the groups that begin with `(?`, only `(?:` is one that is not captured and no more.
        if before == ['(', '?'] && c != ':' {
            return false;
        }
        is_escaped = c == '\\';
        before = [before[1], c];
    }
    !is_escaped
}
