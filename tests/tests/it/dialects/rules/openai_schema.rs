//! The rules of OpenAI for function tools and structured outputs.
//!
//! Responses and Chat Completions share them; Azure has lower limits. Only `strict: true` counts
//! as strict: what Responses makes of an absent `strict` is not documented well enough.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::dialects::rules::names::is_word;
use crate::dialects::rules::report::{Report, child, is_given};
use crate::dialects::rules::schema_walk::{Node, Position, nodes};

pub(crate) const RULES: &[&str] = &[
    "openai/function-name-pattern",
    "openai/function-name-length",
    "openai/format-name",
    "openai/function-root-type",
    "openai/function-root-combinator",
    "openai/array-items",
    "openai/strict-root",
    "openai/strict-required",
    "openai/strict-additional-properties",
    "openai/strict-keyword",
    "openai/strict-format",
    "openai/strict-ref-siblings",
    "openai/strict-type",
    "openai/strict-property-limit",
    "openai/strict-depth-limit",
    "openai/strict-string-limit",
    "openai/strict-enum-limit",
];

/// The limits of strict schemas, and the rules that name them.
pub(crate) struct Limits {
    /// The most properties of all objects together.
    pub(crate) max_properties: usize,
    /// The most objects inside each other.
    pub(crate) max_depth: usize,
    /// The rule of `max_properties`.
    pub(crate) property_rule: &'static str,
    /// The rule of `max_depth`.
    pub(crate) depth_rule: &'static str,
}

/// The limits of OpenAI itself.
pub(crate) const OPENAI: Limits = Limits {
    max_properties: 5000,
    max_depth: 10,
    property_rule: "openai/strict-property-limit",
    depth_rule: "openai/strict-depth-limit",
};

const MAX_NAME: usize = 64;
const MAX_STRINGS: usize = 120_000;
const MAX_ENUM_VALUES: usize = 1000;
const MAX_SHORT_ENUM: usize = 250;
const MAX_LONG_ENUM_STRINGS: usize = 15_000;

const FORMATS: &[&str] = &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/// Keywords that a strict schema may not have.
const REFUSED: &[&str] = &[
    "allOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "uniqueItems",
    "propertyNames",
    "minProperties",
    "maxProperties",
];
/// Keywords that the root of any function schema may not have.
const REFUSED_AT_ROOT: &[&str] = &["oneOf", "anyOf", "allOf", "enum", "not"];
/// Keywords that stand in for a `type`, or that another rule refuses already.
const TYPED_BY: &[&str] = &["type", "anyOf", "$ref", "enum", "const", "allOf", "oneOf", "not", "if"];

/// Reports the rules that a function breaks: its `name`, `parameters` and `strict`.
pub(crate) fn check_function(report: &mut Report, function: &Value, at: &str, limits: &Limits) {
    check_function_name(report, &function["name"], &child(at, "name"));
    let parameters = &function["parameters"];
    if !is_given(parameters) {
        return;
    }
    let at = child(at, "parameters");
    if parameters["type"] != "object" {
        let detail = format!("the type of the root is {}", parameters["type"]);
        report.refuse("openai/function-root-type", at.clone(), detail);
    }
    for &keyword in REFUSED_AT_ROOT {
        if parameters.get(keyword).is_some() {
            let detail = format!("the root has {keyword}");
            report.refuse("openai/function-root-combinator", at.clone(), detail);
        }
    }
    check_array_items(report, parameters, &at);
    if function["strict"] == true {
        check_strict(report, parameters, &at, limits);
    }
}

/// Reports the rules that a function name breaks.
pub(crate) fn check_function_name(report: &mut Report, name: &Value, at: &str) {
    let Some(name) = name.as_str() else {
        return;
    };
    if !is_word(name) {
        report.refuse("openai/function-name-pattern", at, format!("the name is {name:?}"));
    }
    if name.len() > MAX_NAME {
        let detail = format!("the name has {} characters", name.len());
        report.refuse("openai/function-name-length", at, detail);
    }
}

/// Reports the rules that an output format breaks: its `name`, `schema` and `strict`.
pub(crate) fn check_format(report: &mut Report, format: &Value, at: &str, limits: &Limits) {
    let name = format["name"].as_str().unwrap_or_default();
    if !is_word(name) || name.len() > MAX_NAME {
        let detail = format!("the name is {name:?}");
        report.refuse("openai/format-name", child(at, "name"), detail);
    }
    if format["strict"] == true {
        let at = child(at, "schema");
        check_array_items(report, &format["schema"], &at);
        check_strict(report, &format["schema"], &at, limits);
    }
}

fn check_array_items(report: &mut Report, schema: &Value, at: &str) {
    for node in nodes(schema, at) {
        if node.has_type("array") && !node.has("items") && !node.has("prefixItems") {
            report.refuse("openai/array-items", node.at, "the array has no items");
        }
    }
}

fn check_strict(report: &mut Report, schema: &Value, at: &str, limits: &Limits) {
    if schema["type"] != "object" || schema.get("anyOf").is_some() {
        report.refuse("openai/strict-root", at, "the root is not an object");
    }
    let mut size = Size::default();
    for node in nodes(schema, at) {
        size.add(report, &node);
        if node.has("$ref") {
            // The siblings are refused, so what they say does not matter.
            check_ref(report, &node);
        } else {
            check_node(report, &node);
        }
        if node.object_depth > limits.max_depth {
            let detail = format!("{} objects are inside each other", node.object_depth);
            report.refuse(limits.depth_rule, node.at, detail);
        }
    }
    if size.properties > limits.max_properties {
        let detail = format!("the schema has {} properties", size.properties);
        report.refuse(limits.property_rule, at, detail);
    }
    if size.characters > MAX_STRINGS {
        let detail = format!("names and values have {} characters", size.characters);
        report.refuse("openai/strict-string-limit", at, detail);
    }
    if size.enum_values > MAX_ENUM_VALUES {
        let detail = format!("the schema has {} enum values", size.enum_values);
        report.refuse("openai/strict-enum-limit", at, detail);
    }
}

fn check_ref(report: &mut Report, node: &Node<'_>) {
    let siblings: Vec<&str> = node
        .schema
        .as_object()
        .into_iter()
        .flat_map(|members| members.keys())
        .map(String::as_str)
        .filter(|name| !matches!(*name, "$ref" | "$defs" | "definitions"))
        .collect();
    if !siblings.is_empty() {
        let detail = format!("$ref has the siblings {siblings:?}");
        report.refuse("openai/strict-ref-siblings", node.at.clone(), detail);
    }
}

fn check_node(report: &mut Report, node: &Node<'_>) {
    if node.is_object() {
        for (name, is_required) in node.properties() {
            if !is_required {
                let detail = format!("{name:?} is not in required");
                report.refuse("openai/strict-required", node.at.clone(), detail);
            }
        }
        if *node.keyword("additionalProperties") != false {
            let detail = format!("additionalProperties is {}", node.keyword("additionalProperties"));
            report.refuse("openai/strict-additional-properties", node.at.clone(), detail);
        }
    }
    for &keyword in REFUSED {
        if node.has(keyword) {
            let at = child(&node.at, keyword);
            report.refuse("openai/strict-keyword", at, format!("{keyword} is not permitted"));
        }
    }
    if let Some(format) = node.keyword("format").as_str().filter(|name| !FORMATS.contains(name)) {
        let detail = format!("{format:?} is not a valid format");
        report.refuse("openai/strict-format", child(&node.at, "format"), detail);
    }
    let is_typed = TYPED_BY.iter().any(|keyword| node.has(keyword));
    if node.position != Position::Root && node.schema.is_object() && !is_typed {
        report.refuse("openai/strict-type", node.at.clone(), "the schema has no type");
    }
}

/// What a strict schema adds up to.
#[derive(Default)]
struct Size {
    properties: usize,
    characters: usize,
    enum_values: usize,
}

impl Size {
    fn add(&mut self, report: &mut Report, node: &Node<'_>) {
        let properties = node.properties();
        self.properties += properties.len();
        self.characters += properties.iter().map(|(name, _)| count(name)).sum::<usize>();
        for keyword in ["$defs", "definitions"] {
            let definitions = node.keyword(keyword).as_object();
            let names: BTreeSet<&String> = definitions.into_iter().flat_map(|definitions| definitions.keys()).collect();
            self.characters += names.into_iter().map(|name| count(name)).sum::<usize>();
        }
        self.characters += node.keyword("const").as_str().map_or(0, count);
        let Some(values) = node.keyword("enum").as_array() else {
            return;
        };
        let characters: usize = values.iter().filter_map(Value::as_str).map(count).sum();
        self.characters += characters;
        self.enum_values += values.len();
        if values.len() > MAX_SHORT_ENUM && characters > MAX_LONG_ENUM_STRINGS {
            let detail = format!("{} values have {characters} characters", values.len());
            report.refuse("openai/strict-enum-limit", child(&node.at, "enum"), detail);
        }
    }
}

fn count(text: &str) -> usize {
    text.chars().count()
}
