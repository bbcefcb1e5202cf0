//! The JSON Schema limits of Anthropic's structured outputs.
//!
//! They apply to tools with `strict: true` and to the output format. Source: the documentation
//! page "Structured outputs", and the refusals quoted in `tests/apis/README.md`.

use serde_json::Value;

use crate::dialects::rules::report::{Report, child, elements};
use crate::dialects::rules::schema_walk::{Cycle, Node, Position, cyclic_refs, nodes};

pub(crate) const RULES: &[&str] = &[
    "anthropic/strict-tool-limit",
    "anthropic/strict-optional-limit",
    "anthropic/strict-union-limit",
    "anthropic/strict-additional-properties",
    "anthropic/strict-keyword",
    "anthropic/strict-min-items",
    "anthropic/strict-one-of",
    "anthropic/strict-recursive",
    "anthropic/strict-external-ref",
    "anthropic/strict-complex-enum",
    "anthropic/strict-allof-ref",
    "anthropic/strict-pattern",
];

const MAX_TOOLS: usize = 20;
const MAX_OPTIONAL: usize = 24;
const MAX_UNIONS: usize = 16;

/// Keywords that are refused wherever they stand.
const REFUSED: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "if",
    "then",
    "else",
    "not",
    "prefixItems",
];

/// What follows the parenthesis of a lookaround.
const LOOKAROUND: &[&str] = &["?=", "?!", "?<=", "?<!"];

/// Reports the rules of strict schemas that the body breaks.
pub(crate) fn check(report: &mut Report, body: &Value) {
    let tools: Vec<(String, &Value)> = elements(&body["tools"], "/tools")
        .filter(|(_, tool)| tool["strict"] == true)
        .map(|(at, tool)| (child(&at, "input_schema"), &tool["input_schema"]))
        .collect();
    if tools.len() > MAX_TOOLS {
        let detail = format!("{} tools are strict", tools.len());
        report.refuse("anthropic/strict-tool-limit", "/tools", detail);
    }
    let formats = [
        ("/output_config/format/schema", &body["output_config"]["format"]),
        ("/output_format/schema", &body["output_format"]),
    ];
    let formats = formats
        .into_iter()
        .filter(|(_, format)| format["type"] == "json_schema")
        .map(|(at, format)| (at.to_owned(), &format["schema"]));
    let mut optional = 0;
    let mut unions = 0;
    for (at, schema) in tools.into_iter().chain(formats) {
        for node in nodes(schema, &at) {
            check_node(report, &node);
            optional += node.properties().iter().filter(|(_, is_required)| !is_required).count();
            let is_union = node.has("anyOf") || node.keyword("type").is_array();
            unions += usize::from(node.position == Position::Property && is_union);
        }
        for (at, target) in cyclic_refs(schema, &at, Cycle::Any) {
            let detail = format!("{target} leads back to itself");
            report.refuse("anthropic/strict-recursive", at, detail);
        }
    }
    if optional > MAX_OPTIONAL {
        let detail = format!("the strict schemas have {optional} optional properties");
        report.refuse("anthropic/strict-optional-limit", "", detail);
    }
    if unions > MAX_UNIONS {
        let detail = format!("the strict schemas have {unions} properties with union types");
        report.refuse("anthropic/strict-union-limit", "", detail);
    }
}

fn check_node(report: &mut Report, node: &Node<'_>) {
    if node.has_type("object") && *node.keyword("additionalProperties") != false {
        let detail = format!("additionalProperties is {}", node.keyword("additionalProperties"));
        report.refuse("anthropic/strict-additional-properties", node.at.clone(), detail);
    }
    for &keyword in REFUSED {
        if node.has(keyword) {
            let at = child(&node.at, keyword);
            report.refuse("anthropic/strict-keyword", at, format!("{keyword} is not supported"));
        }
    }
    if node.has("minItems") && !matches!(node.keyword("minItems").as_u64(), Some(0 | 1)) {
        let detail = format!("minItems is {}", node.keyword("minItems"));
        report.refuse("anthropic/strict-min-items", child(&node.at, "minItems"), detail);
    }
    if node.has("oneOf") {
        let at = child(&node.at, "oneOf");
        report.refuse("anthropic/strict-one-of", at, "oneOf is not supported");
    }
    if let Some(target) = node.keyword("$ref").as_str() {
        let at = child(&node.at, "$ref");
        if !target.starts_with('#') {
            let detail = format!("{target} is outside the schema");
            report.refuse("anthropic/strict-external-ref", at.clone(), detail);
        }
        if node.position == Position::AllOf {
            report.refuse("anthropic/strict-allof-ref", at, "a branch of allOf is a $ref");
        }
    }
    for (at, value) in elements(node.keyword("enum"), &child(&node.at, "enum")) {
        if value.is_object() || value.is_array() {
            report.refuse("anthropic/strict-complex-enum", at, format!("the value is {value}"));
        }
    }
    if let Some(pattern) = node.keyword("pattern").as_str()
        && let Some(construct) = unsupported_construct(pattern)
    {
        let detail = format!("the pattern {pattern:?} has {construct}");
        report.refuse("anthropic/strict-pattern", child(&node.at, "pattern"), detail);
    }
}

/// Returns the first construct of a regular expression that the grammar compiler lacks.
fn unsupported_construct(pattern: &str) -> Option<&'static str> {
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        rest = after;
        match first {
            '\\' => {
                let escaped = after.chars().next()?;
                match escaped {
                    '1'..='9' | 'k' if !in_class => return Some("a backreference"),
                    'b' | 'B' if !in_class => return Some("a word boundary"),
                    _ => rest = &after[escaped.len_utf8()..],
                }
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class && LOOKAROUND.iter().any(|look| after.starts_with(look)) => {
                return Some("lookaround");
            }
            _ => {}
        }
    }
    None
}
