//! One pass over a schema that rewrites every node.
//!
//! A node is rewritten in a fixed order: schemas that apply to it from elsewhere (`allOf`, `$ref`)
//! are merged into it first; then its definitions, the node itself, and its members, items and
//! variants are rewritten.

use serde_json::{Map, Value, json};

use super::{
    super::{
        keywords::{has_type, is_annotation},
        reference::{escaped, resolve},
    },
    MAX_DEPTH, NotStrict,
    merge::merge,
    refuse::{self, refusal},
};

/// Most schemas in a strict schema; only references that multiply each other exceed this.
const MAX_NODES: usize = 100_000;

type Node = Map<String, Value>;

/// The state of one pass over a schema.
pub(super) struct Pass<'a> {
    /// The schema before the pass, in which references are resolved.
    root: &'a Value,
    nodes: usize,
    depth: usize,
    /// References whose targets are being rewritten in their place.
    inlined: Vec<String>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root, nodes: 0, depth: 0, inlined: Vec::new() }
    }

    pub(super) fn schema(&mut self, schema: Value, at: &str) -> Result<Value, NotStrict> {
        match schema {
            Value::Object(node) => {
                let node = self.node(node, at)?;
                match refuse::open_value(&node) {
                    Some(reason) => Err(NotStrict::new(at, reason)),
                    None => Ok(Value::Object(node)),
                }
            }
            Value::Bool(true) => Err(NotStrict::new(at, refuse::ANY_VALUE)),
            Value::Bool(false) => Err(NotStrict::new(at, refuse::NO_VALUE)),
            _ => Err(NotStrict::new(at, refuse::NOT_A_SCHEMA)),
        }
    }

    fn node(&mut self, node: Node, at: &str) -> Result<Node, NotStrict> {
        self.nodes += 1;
        self.depth += 1;
        if self.nodes > MAX_NODES {
            return Err(NotStrict::new(at, refuse::TOO_LARGE));
        }
        if self.depth > MAX_DEPTH {
            return Err(NotStrict::new(at, refuse::TOO_DEEP));
        }
        if let Some(reason) = refusal(&node, at) {
            return Err(NotStrict::new(at, reason));
        }
        let node = self.rewritten(node, at)?;
        self.depth -= 1;
        Ok(node)
    }

    fn rewritten(&mut self, mut node: Node, at: &str) -> Result<Node, NotStrict> {
        if let Some(only) = take_single_all_of(&mut node) {
            let refers = only.contains_key("$ref");
            let merged = merge(node, &only).map_err(|reason| NotStrict::new(at, reason))?;
            // The entry may itself be a reference, which is then replaced by its target.
            return if refers { self.inline(merged, at) } else { self.node(merged, at) };
        }
        if node.get("default").is_some_and(Value::is_null) {
            node.shift_remove("default");
        }
        if let Some(reference) = node.get("$ref") {
            if node.len() > 1 {
                return self.inline(node, at);
            }
            self.target(reference, at)?;
            return Ok(node);
        }

        self.each_named(&mut node, "$defs", at)?;
        self.each_named(&mut node, "definitions", at)?;
        close_object(&mut node, at)?;
        self.each_named(&mut node, "properties", at)?;
        if let Some(items) = node.get_mut("items") {
            *items = self.schema(items.take(), &format!("{at}/items"))?;
        }
        self.each_variant(&mut node, "anyOf", at)?;
        self.each_variant(&mut node, "oneOf", at)?;
        one_of_to_any_of(&mut node);
        Ok(node)
    }

    /// Replaces a reference with its target; keywords next to the reference take precedence.
    fn inline(&mut self, mut node: Node, at: &str) -> Result<Node, NotStrict> {
        let outer = self.inlined.len();
        while let Some(reference) = node.shift_remove("$ref") {
            let target = self.target(&reference, at)?;
            let reference = reference.as_str().unwrap_or_default();
            // A recursive reference cannot be replaced: the target would contain itself without
            // end.
            if self.is_inside(reference, at) {
                node = kept_reference(node, reference, at)?;
                break;
            }
            node = merge(node, target).map_err(|reason| NotStrict::new(at, reason))?;
            self.inlined.push(reference.to_owned());
        }
        let node = self.node(node, at)?;
        self.inlined.truncate(outer);
        Ok(node)
    }

    /// Returns `true` if the place is part of the reference's target, so that inlining would never
    /// end.
    fn is_inside(&self, reference: &str, at: &str) -> bool {
        let contains = at.strip_prefix(reference).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        contains || self.inlined.iter().any(|inlined| inlined == reference)
    }

    fn target(&self, reference: &Value, at: &str) -> Result<&'a Node, NotStrict> {
        reference
            .as_str()
            .and_then(|reference| resolve(self.root, reference))
            .and_then(Value::as_object)
            .ok_or_else(|| NotStrict::new(at, refuse::unresolved_reference(reference)))
    }

    fn each_named(&mut self, node: &mut Node, keyword: &str, at: &str) -> Result<(), NotStrict> {
        if let Some(Value::Object(schemas)) = node.get_mut(keyword) {
            for (name, schema) in schemas {
                *schema = self.schema(schema.take(), &format!("{at}/{keyword}/{}", escaped(name)))?;
            }
        }
        Ok(())
    }

    fn each_variant(&mut self, node: &mut Node, keyword: &str, at: &str) -> Result<(), NotStrict> {
        if let Some(Value::Array(variants)) = node.get_mut(keyword) {
            for (index, variant) in variants.iter_mut().enumerate() {
                *variant = self.schema(variant.take(), &format!("{at}/{keyword}/{index}"))?;
            }
        }
        Ok(())
    }
}

/// Removes an `allOf` and returns its only entry. Other forms of `allOf` have been refused before.
fn take_single_all_of(node: &mut Node) -> Option<Node> {
    match node.shift_remove("allOf")?.as_array_mut()?.pop()? {
        Value::Object(only) => Some(only),
        _ => None,
    }
}

/// Returns a node for a reference that cannot be replaced. No other keyword may be next to it: a
/// union of one variant carries them.
fn kept_reference(mut node: Node, reference: &str, at: &str) -> Result<Node, NotStrict> {
    if let Some(keyword) = node.keys().find(|keyword| !is_annotation(keyword)) {
        return Err(NotStrict::new(at, refuse::next_to_recursive_reference(keyword)));
    }
    let reference = json!({ "$ref": reference });
    match reference {
        Value::Object(alone) if node.is_empty() => Ok(alone),
        reference => {
            node.insert("anyOf".to_owned(), json!([reference]));
            Ok(node)
        }
    }
}

fn close_object(node: &mut Node, at: &str) -> Result<(), NotStrict> {
    let names: Option<Vec<Value>> = node
        .get("properties")
        .and_then(Value::as_object)
        .map(|properties| properties.keys().cloned().map(Value::String).collect());

    // A node with `properties` but without `type` is treated as an object.
    if !node.contains_key("type") && names.is_some() {
        node.insert("type".to_owned(), json!("object"));
    }
    match node.get("additionalProperties") {
        None if has_type(node, "object") => {
            node.insert("additionalProperties".to_owned(), json!(false));
        }
        None | Some(Value::Bool(false)) => {}
        Some(_) => {
            return Err(NotStrict::new(&format!("{at}/additionalProperties"), refuse::MAP));
        }
    }
    if let Some(names) = names {
        node.insert("required".to_owned(), Value::Array(names));
    }
    Ok(())
}

/// Renames `oneOf` to `anyOf`, since strict mode has no `oneOf`. This is safe because the variants
/// derived from serde types are disjoint.
fn one_of_to_any_of(node: &mut Node) {
    if let Some(Value::Array(one_of)) = node.shift_remove("oneOf") {
        match node.get_mut("anyOf") {
            Some(Value::Array(any_of)) => any_of.extend(one_of),
            _ => {
                node.insert("anyOf".to_owned(), Value::Array(one_of));
            }
        }
    }
}
