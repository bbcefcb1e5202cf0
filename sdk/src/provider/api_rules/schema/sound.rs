//! Makes any JSON value a valid schema of an object, in JSON Schema 2020-12.
//!
//! OpenAI and Anthropic check each schema against the metaschema and refuse the whole request for
//! one keyword of a wrong type. Servers of tools list schemas of older drafts, of OpenAPI, and
//! plain mistakes. Keywords that are not valid are removed or brought into the present form.
//!
//! Both APIs also refuse a union, `not` or `enum` at the root of a function. Such a root becomes
//! one object with the members of all variants, and the rule in words.
//!
//! # Source
//! <https://json-schema.org/draft/2020-12/schema>; the refusals are in
//! `tests/apis`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use temporal_agents_core::tool::schema::resolve;

use super::{MAX_DEPTH, Node, SCHEMA, SCHEMA_LIST, SCHEMA_MAP, for_each_child, words::note};

/// The types of JSON Schema.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
/// Keywords whose value is a whole number from 0.
const COUNTS: [&str; 8] =
    ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"];
/// Keywords whose value is a number.
const NUMBERS: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
/// Keywords whose value is a string.
const STRINGS: [&str; 7] = ["$ref", "title", "description", "pattern", "format", "contentEncoding", "contentMediaType"];
/// Keywords whose value is true or false.
const FLAGS: [&str; 4] = ["uniqueItems", "deprecated", "readOnly", "writeOnly"];
/// Keywords of the root that name a dialect or a document: they change how references are read.
const IDENTITY: [&str; 5] = ["$schema", "$id", "id", "$vocabulary", "$dynamicAnchor"];
/// Combinators that no API accepts at the root of a function.
const ROOT_COMBINATORS: [&str; 3] = ["anyOf", "oneOf", "allOf"];
/// Most references that are followed from the root of a schema or of a variant.
const MAX_REFERENCES: usize = 20;
/// Most variants that are merged into one root.
const MAX_VARIANTS: usize = 100;

/// Returns a valid schema with an object at its root that accepts what this one accepts.
pub(in super::super) fn sound(schema: &Value) -> Value {
    let mut schema = schema.clone();
    repair(&mut schema, 0);
    let document = schema.clone();
    drop_unresolved(&mut schema, &document);
    let root = match schema {
        Value::Object(root) => root,
        _ => Map::new(),
    };
    let mut root = Value::Object(Roots { document: &document, left: MAX_VARIANTS }.object_root(root));
    // References into the variants of the root lead nowhere now.
    let document = root.clone();
    drop_unresolved(&mut root, &document);
    root
}

/// Makes a value a valid schema.
fn repair(schema: &mut Value, depth: usize) {
    let Value::Object(node) = schema else {
        // A model cannot be told that no value is valid, so `false` is not kept.
        *schema = json!({});
        return;
    };
    if depth > MAX_DEPTH {
        *schema = json!({});
        return;
    }
    modernize(node);
    node.retain(|keyword, value| !IDENTITY.contains(&&**keyword) && is_valid(keyword, value));
    // Whether an object is open stays as it is: true and false are common there.
    for_each_child(node, &mut |child| repair(child, depth + 1));
}

/// Brings keywords of older drafts and of OpenAPI into the form of draft 2020-12.
fn modernize(node: &mut Node) {
    // Draft 4: a flag that makes the bound next to it exclusive.
    for (flag, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if node.get(flag) == Some(&Value::Bool(true))
            && let Some(value) = node.shift_remove(bound)
        {
            node.insert(flag.to_owned(), value);
        }
    }
    // Up to draft 2019-09: a tuple as a list of items.
    if node.get("items").is_some_and(Value::is_array)
        && let Some(tuple) = node.shift_remove("items")
    {
        node.entry("prefixItems").or_insert(tuple);
        if let Some(rest) = node.shift_remove("additionalItems") {
            node.insert("items".to_owned(), rest);
        }
    }
    // Google's and other writers' types are upper case.
    if let Some(Value::String(name)) = node.get_mut("type") {
        *name = name.to_ascii_lowercase();
    }
    // OpenAPI 3.0.
    if node.shift_remove("nullable") == Some(Value::Bool(true))
        && let Some(Value::String(name)) = node.get("type")
        && name != "null"
    {
        let types = json!([name, "null"]);
        node.insert("type".to_owned(), types);
        if let Some(Value::Array(values)) = node.get_mut("enum")
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
    }
    if let Some(Value::Array(types)) = node.get_mut("type") {
        types.retain(|name| name.as_str().is_some_and(|name| TYPES.contains(&name)));
        dedupe(types);
    }
    if let Some(Value::Array(names)) = node.get_mut("required") {
        names.retain(Value::is_string);
        dedupe(names);
    }
    if let Some(Value::Array(values)) = node.get_mut("enum") {
        dedupe(values);
    }
    for count in COUNTS {
        if let Some(value) = node.get_mut(count)
            && let Some(whole) = whole_number(value)
        {
            *value = whole.into();
        }
    }
}

/// Returns `true` if the metaschema accepts this value of a keyword.
fn is_valid(keyword: &str, value: &Value) -> bool {
    match keyword {
        "type" => match value {
            Value::String(name) => TYPES.contains(&&**name),
            Value::Array(names) => !names.is_empty(),
            _ => false,
        },
        "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
        "required" | "examples" => value.is_array(),
        "dependentRequired" => value.as_object().is_some_and(|names| {
            names.values().all(|names| names.as_array().is_some_and(|names| names.iter().all(Value::is_string)))
        }),
        // Replaced by two other keywords in draft 2019-09.
        "dependencies" => false,
        "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
        // Values of any type.
        "const" | "default" => true,
        _ if COUNTS.contains(&keyword) => value.is_u64(),
        _ if NUMBERS.contains(&keyword) => value.is_number(),
        _ if STRINGS.contains(&keyword) => value.is_string(),
        _ if FLAGS.contains(&keyword) => value.is_boolean(),
        _ if SCHEMA_LIST.contains(&keyword) => value.as_array().is_some_and(|schemas| !schemas.is_empty()),
        _ if SCHEMA_MAP.contains(&keyword) => value.is_object(),
        _ if SCHEMA.contains(&keyword) => value.is_object() || value.is_boolean(),
        _ => !value.is_null(),
    }
}

/// Removes references to schemas that this document does not have.
pub(super) fn drop_unresolved(schema: &mut Value, document: &Value) {
    let Value::Object(node) = schema else { return };
    let is_lost = node.get("$ref").and_then(Value::as_str).is_some_and(|name| resolve(document, name).is_none());
    if is_lost && let Some(Value::String(name)) = node.shift_remove("$ref") {
        note(node, &format!("as described in {name}"));
    }
    for_each_child(node, &mut |child| drop_unresolved(child, document));
}

/// The roots of one document that become objects.
struct Roots<'d> {
    document: &'d Value,
    /// Number of variants that may still be merged: variants that refer to the root multiply.
    left: usize,
}

impl Roots<'_> {
    /// Returns a root that is an object without combinators.
    fn object_root(&mut self, root: Node) -> Node {
        let mut root = dereference(root, self.document);
        let mut rules = Vec::new();
        for combinator in ROOT_COMBINATORS {
            let Some(Value::Array(variants)) = root.shift_remove(combinator) else { continue };
            let mut merged = Vec::new();
            let mut merge = if combinator == "allOf" { Merge::All } else { Merge::OneOf };
            for variant in variants {
                let Value::Object(variant) = variant else { continue };
                let Some(left) = self.left.checked_sub(1) else {
                    merge = if merge == Merge::OneOf { Merge::SomeOf } else { merge };
                    root.shift_remove("additionalProperties");
                    break;
                };
                self.left = left;
                merged.push(self.object_root(variant));
            }
            if combinator != "allOf" {
                rules.extend(rule_of(combinator, &merged));
            }
            merge_variants(&mut root, &merged, merge);
        }
        for keyword in ["not", "if", "then", "else", "enum", "const"] {
            if let Some(value) = root.shift_remove(keyword) {
                rules.push(format!("`{keyword}`: {value}"));
            }
        }
        for rule in rules {
            note(&mut root, &rule);
        }
        root.insert("type".to_owned(), "object".into());
        root.entry("properties").or_insert_with(|| json!({}));
        root
    }
}

/// Returns the schema that a node refers to. The node's own keywords replace the target's.
fn dereference(mut node: Node, document: &Value) -> Node {
    for _ in 0..MAX_REFERENCES {
        let Some(reference) = node.shift_remove("$ref") else { return node };
        let Some(Value::Object(target)) = reference.as_str().and_then(|name| resolve(document, name)) else {
            return node;
        };
        for (keyword, value) in target {
            node.entry(keyword).or_insert_with(|| value.clone());
        }
    }
    node.shift_remove("$ref");
    node
}

/// What the variants of a combinator say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Merge {
    /// All of them hold.
    All,
    /// One of them holds.
    OneOf,
    /// One of them, or of others that are not merged, holds.
    SomeOf,
}

/// Adds the members of variants to an object. What each variant requires is required, and of
/// `allOf` what any of them requires.
fn merge_variants(root: &mut Node, variants: &[Node], merge: Merge) {
    let mut properties = match root.shift_remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    for variant in variants {
        for (name, schema) in variant.get("properties").and_then(Value::as_object).into_iter().flatten() {
            match properties.get_mut(name) {
                None => {
                    properties.insert(name.clone(), schema.clone());
                }
                Some(known) if known == schema || merge == Merge::All => {}
                Some(known) => *known = either(known.take(), schema),
            }
        }
    }
    root.insert("properties".to_owned(), Value::Object(properties));
    let names_of = |node: &Node| -> Vec<String> {
        let names = node.get("required").and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut required = names_of(root);
    let mut known: BTreeSet<String> = required.iter().cloned().collect();
    let sets: Vec<BTreeSet<String>> = variants.iter().map(|variant| names_of(variant).into_iter().collect()).collect();
    // What the first variant requires is the most that all can require.
    let candidates = variants.iter().take(if merge == Merge::All { variants.len() } else { 1 });
    for name in candidates.flat_map(names_of) {
        let is_required = match merge {
            Merge::All => true,
            Merge::OneOf => sets.iter().all(|set| set.contains(&name)),
            Merge::SomeOf => false,
        };
        if is_required && known.insert(name.clone()) {
            required.push(name);
        }
    }
    if !required.is_empty() {
        root.insert("required".to_owned(), required.into());
    }
    // A variant that is closed knows nothing of the members of others.
    if variants.iter().any(|variant| variant.contains_key("properties")) {
        root.shift_remove("additionalProperties");
        root.shift_remove("unevaluatedProperties");
    }
    for definitions in ["$defs", "definitions"] {
        for (name, schema) in variants.iter().filter_map(|variant| variant.get(definitions)?.as_object()).flatten() {
            let known = root.entry(definitions).or_insert_with(|| json!({}));
            if let Value::Object(known) = known {
                known.entry(name).or_insert_with(|| schema.clone());
            }
        }
    }
}

/// Returns the schema of a member that has another schema in another variant.
fn either(known: Value, other: &Value) -> Value {
    let (Value::Object(mut known), Value::Object(other)) = (known, other) else { return json!({}) };
    // Constants that tell the variants apart become one list of values.
    if let (Some(mut values), Some(others)) = (values_of(&known), values_of(other)) {
        values.extend(others);
        dedupe(&mut values);
        let mut merged = Map::new();
        if known.get("type") == other.get("type")
            && let Some(kind) = known.shift_remove("type")
        {
            merged.insert("type".to_owned(), kind);
        }
        if let Some(description) = known.shift_remove("description") {
            merged.insert("description".to_owned(), description);
        }
        merged.insert("enum".to_owned(), values.into());
        return Value::Object(merged);
    }
    let is_union = known.len() == 1;
    if let Some(Value::Array(variants)) = known.get_mut("anyOf").filter(|_| is_union) {
        let other = Value::Object(other.clone());
        if !variants.contains(&other) {
            variants.push(other);
        }
        return Value::Object(known);
    }
    json!({"anyOf": [known, other]})
}

fn values_of(node: &Node) -> Option<Vec<Value>> {
    match (node.get("enum"), node.get("const")) {
        (Some(Value::Array(values)), _) => Some(values.clone()),
        (_, Some(value)) => Some(vec![value.clone()]),
        _ => None,
    }
}

/// Returns the rule of a union in words; `None` if the variants say nothing about members.
fn rule_of(combinator: &str, variants: &[Node]) -> Option<String> {
    let described: Vec<String> = variants.iter().filter_map(describe_variant).collect();
    if described.len() < 2 {
        return None;
    }
    let quantity = if combinator == "oneOf" { "exactly one" } else { "at least one" };
    Some(format!("give {quantity} of these: {}", described.join("; or ")))
}

/// Returns a variant in words: the members that it requires, with their constants.
fn describe_variant(variant: &Node) -> Option<String> {
    let properties = variant.get("properties").and_then(Value::as_object);
    let constant = |name: &str| properties?.get(name)?.get("const").map(Value::to_string);
    let required = variant.get("required").and_then(Value::as_array);
    let names: Vec<String> = required
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|name| match constant(name) {
            Some(value) => format!("`{name}` = {value}"),
            None => format!("`{name}`"),
        })
        .collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

/// Returns the value of a number without a fraction, from 0.
fn whole_number(value: &Value) -> Option<u64> {
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=9e15).contains(number))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole and in range")]
    Some(number as u64)
}

/// Removes repeated values, and keeps the first of each.
fn dedupe(values: &mut Vec<Value>) {
    let mut kept = BTreeSet::new();
    values.retain(|value| kept.insert(value.to_string()));
}
