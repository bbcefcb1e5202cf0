//! The rules that Azure OpenAI adds to the rules of OpenAI.
//!
//! Azure documents a smaller set of keywords for strict schemas. Whether it refuses or ignores
//! each of them is not documented; see `tests/apis/README.md`.

use serde_json::Value;

use crate::dialects::rules::openai_schema::Limits;
use crate::dialects::rules::report::{Report, child, is_given};
use crate::dialects::rules::schema_walk::nodes;
use crate::dialects::rules::{chat, responses};

pub(crate) const RULES: &[&str] = &[
    "azure/strict-keyword",
    "azure/strict-default",
    "azure/strict-property-limit",
    "azure/strict-depth-limit",
    "azure/description-length",
];

/// The limits of strict schemas on Azure.
pub(crate) const LIMITS: Limits = Limits {
    max_properties: 100,
    max_depth: 5,
    property_rule: "azure/strict-property-limit",
    depth_rule: "azure/strict-depth-limit",
};

const MAX_DESCRIPTION: usize = 1024;

/// The keywords that Azure documents as not supported.
const UNSUPPORTED: &[&str] = &[
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "multipleOf",
    "patternProperties",
    "unevaluatedProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "unevaluatedItems",
    "contains",
    "minContains",
    "maxContains",
    "minItems",
    "maxItems",
    "uniqueItems",
];

/// Reports the rules that a body of the Responses form breaks.
pub(crate) fn check_responses(report: &mut Report, body: &Value) {
    check_schemas(report, responses::strict_schemas(body));
}

/// Reports the rules that a body of the Chat Completions form breaks.
pub(crate) fn check_chat(report: &mut Report, body: &Value) {
    check_schemas(report, chat::strict_schemas(body));
    for (at, function) in chat::functions(body) {
        let length = function["description"].as_str().map_or(0, |text| text.chars().count());
        if length > MAX_DESCRIPTION {
            let detail = format!("the description has {length} characters");
            report.refuse("azure/description-length", child(&at, "description"), detail);
        }
    }
}

fn check_schemas(report: &mut Report, schemas: Vec<(String, &Value)>) {
    for node in schemas.into_iter().flat_map(|(at, schema)| nodes(schema, &at)) {
        for &keyword in UNSUPPORTED {
            if node.has(keyword) {
                let at = child(&node.at, keyword);
                report.refuse("azure/strict-keyword", at, format!("{keyword} is not supported"));
            }
        }
        if is_given(node.keyword("default")) {
            let detail = format!("the default is {}", node.keyword("default"));
            report.refuse("azure/strict-default", child(&node.at, "default"), detail);
        }
    }
}
