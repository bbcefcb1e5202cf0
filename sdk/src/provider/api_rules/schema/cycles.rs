//! Removes references by which a schema contains itself, for APIs that do not accept recursion.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use temporal_agents_core::tool::schema::{escaped, percent_decoded, resolve};

use super::{Node, SCHEMA, SCHEMA_LIST, SCHEMA_MAP};

/// Longest chain of references that is followed; a longer one counts as a cycle.
const MAX_CHAIN: usize = 256;

/// Returns `true` if a reference leads back to a schema that contains it.
pub(super) fn has_cycle(schema: &Value) -> bool {
    !closing_references(schema).is_empty()
}

/// Replaces each reference that closes a cycle by a schema that accepts any value of its type.
pub(super) fn break_cycles(schema: &mut Value) {
    let document = schema.clone();
    for place in closing_references(&document) {
        if let Some(Value::Object(node)) = schema.pointer_mut(&place)
            && let Some(Value::String(name)) = node.get("$ref")
        {
            *node = any_like(name, &document);
        }
    }
}

/// Returns the places of the references that close a cycle, as JSON pointers.
fn closing_references(document: &Value) -> Vec<String> {
    let mut search = CycleSearch { document, seen: BTreeMap::new(), found: Vec::new(), depth: 0 };
    search.visit(document, String::new());
    // What no reference leads to is searched too.
    for (definitions, name, definition) in definitions_of(document) {
        search.visit_target(&format!("#/{definitions}/{}", escaped(name)), definition);
    }
    search.found
}

/// Returns the definitions of a document, with their keyword and name.
fn definitions_of(document: &Value) -> impl Iterator<Item = (&'static str, &str, &Value)> {
    ["$defs", "definitions"].into_iter().flat_map(move |keyword| {
        let definitions = document.get(keyword).and_then(Value::as_object);
        definitions.into_iter().flatten().map(move |(name, definition)| (keyword, &**name, definition))
    })
}

/// A search from the root of a document along its references.
struct CycleSearch<'d> {
    document: &'d Value,
    /// Targets so far: `true` while they are being searched.
    seen: BTreeMap<String, bool>,
    found: Vec<String>,
    /// Number of references that are being followed.
    depth: usize,
}

impl<'d> CycleSearch<'d> {
    fn visit(&mut self, schema: &'d Value, place: String) {
        let Value::Object(node) = schema else { return };
        if let Some(name) = node.get("$ref").and_then(Value::as_str) {
            // A reference to the root is always a cycle: the search began there.
            if name == "#" || self.seen.get(&place_of(name)) == Some(&true) || self.depth > MAX_CHAIN {
                self.found.push(place.clone());
            } else if let Some(target) = resolve(self.document, name) {
                self.visit_target(name, target);
            }
        }
        for (step, child) in placed_children(node) {
            // A definition is searched where a reference leads to it.
            if !(place.is_empty() && (step.starts_with("/$defs/") || step.starts_with("/definitions/"))) {
                self.visit(child, format!("{place}{step}"));
            }
        }
    }

    fn visit_target(&mut self, name: &str, target: &'d Value) {
        let place = place_of(name);
        if self.seen.contains_key(&place) {
            return;
        }
        self.seen.insert(place.clone(), true);
        self.depth += 1;
        self.visit(target, place.clone());
        self.depth -= 1;
        self.seen.insert(place, false);
    }
}

/// Returns the place that a reference leads to, as a JSON pointer.
fn place_of(reference: &str) -> String {
    percent_decoded(reference.trim_start_matches('#')).unwrap_or_default()
}

/// Returns the schemas directly below this one, with the pointers that lead to them.
fn placed_children(node: &Node) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (keyword, value) in node {
        let keyword = &**keyword;
        match value {
            Value::Array(schemas) if SCHEMA_LIST.contains(&keyword) => {
                found.extend(schemas.iter().enumerate().map(|(place, schema)| (format!("/{keyword}/{place}"), schema)));
            }
            Value::Object(schemas) if SCHEMA_MAP.contains(&keyword) => {
                let pointer = |name: &String| format!("/{keyword}/{}", escaped(name));
                found.extend(schemas.iter().map(|(name, schema)| (pointer(name), schema)));
            }
            schema if SCHEMA.contains(&keyword) => found.push((format!("/{keyword}"), schema)),
            _ => {}
        }
    }
    found
}

/// Returns the schema in place of a reference: the type of its target, and its name in words.
fn any_like(name: &str, document: &Value) -> Node {
    let target = resolve(document, name);
    let mut node = Node::new();
    let short = name.rsplit('/').next().unwrap_or(name);
    node.insert("description".to_owned(), format!("another `{short}`").into());
    if let Some(kind) = target.and_then(|target| target.get("type")) {
        node.insert("type".to_owned(), kind.clone());
        if kind == "object" {
            node.insert("properties".to_owned(), json!({}));
        }
        if kind == "array" {
            node.insert("items".to_owned(), json!({}));
        }
    }
    node
}
