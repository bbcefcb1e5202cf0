//! Walks the positions of a JSON Schema that hold schemas, and no others.
//!
//! A property that is named `minimum` is a name below `properties`, never the keyword.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::dialects::rules::report::{child, elements};

/// Keywords that hold one schema.
const SINGLE: &[&str] = &[
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
];
/// Keywords that hold a list of schemas. `items` is a list in older drafts.
const LISTS: &[&str] = &["anyOf", "oneOf", "allOf", "prefixItems", "items"];
/// Keywords that hold schemas by name, apart from `properties` and the definitions.
const MAPS: &[&str] = &["patternProperties", "dependentSchemas"];
/// Keywords that hold definitions.
const DEFINITIONS: &[&str] = &["$defs", "definitions"];

/// Where a schema stands in its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// The schema that the walk began with.
    Root,
    /// The schema of a property.
    Property,
    /// A branch of `allOf`.
    AllOf,
    /// Any other position.
    Other,
}

/// A schema and its place. The schema may be a boolean.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    /// The schema.
    pub(crate) schema: &'a Value,
    /// The JSON pointer of the schema.
    pub(crate) at: String,
    /// Where the schema stands in its parent.
    pub(crate) position: Position,
    /// How many object schemas lead here, this one included.
    pub(crate) object_depth: usize,
    /// Whether an optional property or an array lies between the root and here.
    pub(crate) is_optional: bool,
}

impl<'a> Node<'a> {
    /// Returns the value of a keyword, null when it is absent.
    pub(crate) fn keyword(&self, name: &str) -> &'a Value {
        &self.schema[name]
    }

    /// Returns whether the schema has the keyword.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.schema.get(name).is_some()
    }

    /// Returns whether the schema names the type, alone or in a list.
    pub(crate) fn has_type(&self, name: &str) -> bool {
        has_type(self.schema, name)
    }

    /// Returns whether the schema describes an object.
    pub(crate) fn is_object(&self) -> bool {
        is_object(self.schema)
    }

    /// Returns the names of the properties with whether each is required.
    pub(crate) fn properties(&self) -> Vec<(&'a str, bool)> {
        let required = required(self.schema);
        self.keyword("properties")
            .as_object()
            .map(|properties| properties.keys().map(|name| (name.as_str(), required.contains(name.as_str()))))
            .map(Iterator::collect)
            .unwrap_or_default()
    }
}

/// Lists every schema below `schema`, itself first and definitions included.
pub(crate) fn nodes<'a>(schema: &'a Value, at: &str) -> Vec<Node<'a>> {
    let mut walk = Walk { with_definitions: true, nodes: Vec::new() };
    walk.visit(schema, at, Position::Root, 0, false);
    walk.nodes
}

/// Lists every schema below `schema` that is not in its definitions.
fn nodes_in_place<'a>(schema: &'a Value, at: &str) -> Vec<Node<'a>> {
    let mut walk = Walk { with_definitions: false, nodes: Vec::new() };
    walk.visit(schema, at, Position::Root, 0, false);
    walk.nodes
}

struct Walk<'a> {
    with_definitions: bool,
    nodes: Vec<Node<'a>>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, schema: &'a Value, at: &str, position: Position, object_depth: usize, is_optional: bool) {
        let object_depth = object_depth + usize::from(is_object(schema));
        self.nodes.push(Node { schema, at: at.to_owned(), position, object_depth, is_optional });
        let required = required(schema);
        if let Some(properties) = schema["properties"].as_object() {
            let at = child(at, "properties");
            for (name, property) in properties {
                let is_optional = is_optional || !required.contains(name.as_str());
                let at = child(&at, name);
                self.visit(property, &at, Position::Property, object_depth, is_optional);
            }
        }
        for &keyword in SINGLE {
            let below = &schema[keyword];
            if below.is_object() || below.is_boolean() {
                let at = child(at, keyword);
                self.visit(below, &at, Position::Other, object_depth, true);
            }
        }
        for &keyword in LISTS {
            let position = if keyword == "allOf" { Position::AllOf } else { Position::Other };
            for (at, below) in elements(&schema[keyword], &child(at, keyword)) {
                self.visit(below, &at, position, object_depth, is_optional);
            }
        }
        for &keyword in MAPS {
            self.visit_map(&schema[keyword], &child(at, keyword), object_depth);
        }
        if self.with_definitions {
            for &keyword in DEFINITIONS {
                self.visit_map(&schema[keyword], &child(at, keyword), 0);
            }
        }
    }

    fn visit_map(&mut self, map: &'a Value, at: &str, object_depth: usize) {
        let Some(map) = map.as_object() else {
            return;
        };
        for (name, below) in map {
            self.visit(below, &child(at, name), Position::Other, object_depth, true);
        }
    }
}

fn has_type(schema: &Value, name: &str) -> bool {
    match &schema["type"] {
        Value::String(only) => only.eq_ignore_ascii_case(name),
        Value::Array(types) => types.iter().any(|one| one == name),
        _ => false,
    }
}

fn is_object(schema: &Value) -> bool {
    has_type(schema, "object") || schema["properties"].is_object()
}

fn required(schema: &Value) -> BTreeSet<&str> {
    let names = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    names.iter().filter_map(Value::as_str).collect()
}

/// Which references count when the walk looks for a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cycle {
    /// Every cycle.
    Any,
    /// Only a cycle that no optional property and no array can end.
    Endless,
}

/// Lists the pointers of the references that are part of a cycle, with their targets.
pub(crate) fn cyclic_refs(root: &Value, at: &str, cycle: Cycle) -> Vec<(String, String)> {
    let refs = nodes(root, at).into_iter().filter_map(|node| {
        let target = node.keyword("$ref").as_str()?.to_owned();
        Some((node.at, target))
    });
    refs.filter(|(_, target)| reaches_itself(root, target, cycle)).collect()
}

fn reaches_itself(root: &Value, target: &str, cycle: Cycle) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![target.to_owned()];
    while let Some(next) = open.pop() {
        let Some(schema) = resolve(root, &next) else {
            continue;
        };
        for node in nodes_in_place(schema, "") {
            if cycle == Cycle::Endless && node.is_optional {
                continue;
            }
            let Some(reference) = node.keyword("$ref").as_str() else {
                continue;
            };
            if reference == target {
                return true;
            }
            if seen.insert(reference.to_owned()) {
                open.push(reference.to_owned());
            }
        }
    }
    false
}

/// Returns the schema that a local reference names.
pub(crate) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}
