//! Removes references by which a schema contains itself, for APIs that do not accept recursion.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Node, children, for_each_child};
use crate::tool::schema::resolve;

/// Returns `true` if a reference leads back to a schema that contains it.
pub(super) fn has_cycle(schema: &Value) -> bool {
    !Search::new(schema).cyclic(schema).is_empty()
}

/// Replaces each reference that closes a cycle by a schema that accepts any value of its type.
pub(super) fn break_cycles(schema: &mut Value) {
    let document = schema.clone();
    let cyclic = Search::new(&document).cyclic(&document);
    if !cyclic.is_empty() {
        replace(schema, &document, &cyclic);
    }
}

/// The references of a document, in a search from the root.
struct Search<'d> {
    document: &'d Value,
    /// Targets so far: `true` while they are being searched.
    seen: BTreeMap<&'d str, bool>,
}

impl<'d> Search<'d> {
    fn new(document: &'d Value) -> Self {
        Self { document, seen: BTreeMap::new() }
    }

    /// Returns the targets that a reference inside of them leads back to.
    fn cyclic(mut self, schema: &'d Value) -> Vec<&'d str> {
        let mut found = Vec::new();
        self.search(schema, &mut found);
        found
    }

    fn search(&mut self, schema: &'d Value, found: &mut Vec<&'d str>) {
        let Value::Object(node) = schema else { return };
        if let Some(name) = node.get("$ref").and_then(Value::as_str) {
            // The root, and what contains the reference by its place, are found by name only.
            match self.seen.get(name) {
                Some(false) => {}
                Some(true) => found.push(name),
                None if name == "#" => found.push(name),
                None => {
                    self.seen.insert(name, true);
                    if let Some(target) = resolve(self.document, name) {
                        self.search(target, found);
                    }
                    self.seen.insert(name, false);
                }
            }
        }
        for child in children(node) {
            self.search(child, found);
        }
    }
}

fn replace(schema: &mut Value, document: &Value, cyclic: &[&str]) {
    let Value::Object(node) = schema else { return };
    if let Some(name) = node.get("$ref").and_then(Value::as_str)
        && cyclic.contains(&name)
    {
        *node = any_like(name, document);
        return;
    }
    for_each_child(node, &mut |child| replace(child, document, cyclic));
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
