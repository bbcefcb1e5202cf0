//! The rules of Gemini `generateContent`, apart from the order of calls and responses.
//!
//! Gemini takes members in camelCase and in `snake_case`, and one object in place of a list of one.

use serde_json::Value;

use crate::dialects::rules::gemini_turns::{self, Content};
use crate::dialects::rules::names::{bare_model, is_gemini_name};
use crate::dialects::rules::report::{Report, child, elements, is_given};
use crate::dialects::rules::schema_walk::{Cycle, cyclic_refs, nodes};

pub(crate) const RULES: &[&str] = &[
    "gemini/contents-empty",
    "gemini/parts-empty",
    "gemini/part-empty",
    "gemini/role",
    "gemini/function-name",
    "gemini/parameters-exclusive",
    "gemini/response-mime-type",
    "gemini/ref-siblings",
    "gemini/recursive-required",
    "gemini/schema-unknown-field",
    "gemini/schema-type-list",
    "gemini/schema-enum-string",
    "gemini/json-with-tools",
];

const MAX_NAME: usize = 128;

/// The members of a part that hold data.
const DATA: &[&str] = &[
    "text",
    "inlineData",
    "inline_data",
    "functionCall",
    "function_call",
    "functionResponse",
    "function_response",
    "fileData",
    "file_data",
    "executableCode",
    "executable_code",
    "codeExecutionResult",
    "code_execution_result",
    "toolCall",
    "tool_call",
    "toolResponse",
    "tool_response",
];

/// The fields of Gemini's own schema. Whether `additionalProperties` is one differs by platform.
const SCHEMA_FIELDS: &[&str] = &[
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "max_items",
    "minItems",
    "min_items",
    "properties",
    "required",
    "minProperties",
    "min_properties",
    "maxProperties",
    "max_properties",
    "minLength",
    "min_length",
    "maxLength",
    "max_length",
    "pattern",
    "example",
    "anyOf",
    "any_of",
    "propertyOrdering",
    "property_ordering",
    "default",
    "items",
    "minimum",
    "maximum",
    "additionalProperties",
    "additional_properties",
];

/// Reports the rules that the body breaks.
pub(crate) fn check(report: &mut Report, model: &str, body: &Value) {
    let major = major_version(model);
    let contents: Vec<Content<'_>> = repeated(&body["contents"], "/contents").map(Content::from).collect();
    if contents.is_empty() {
        report.refuse("gemini/contents-empty", "/contents", "there is no content");
    }
    for content in &contents {
        check_content(report, content);
    }
    gemini_turns::check(report, major, &contents);
    let has_functions = check_tools(report, body);
    check_config(report, major, body, has_functions);
}

/// Reads the number after `gemini-`.
fn major_version(model: &str) -> Option<u32> {
    let name = bare_model(model);
    let rest = name.strip_prefix("gemini-")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Returns a member by its camelCase or its `snake_case` name.
pub(crate) fn member<'a>(value: &'a Value, camel: &'static str, snake: &'static str) -> &'a Value {
    &value[name_in(value, camel, snake)]
}

/// Returns the name that the value uses, camelCase if it has neither.
fn name_in(value: &Value, camel: &'static str, snake: &'static str) -> &'static str {
    if is_given(&value[snake]) && !is_given(&value[camel]) { snake } else { camel }
}

/// Iterates a repeated field with the pointer of each message.
///
/// A field may hold one message without a list around it.
pub(crate) fn repeated<'a>(field: &'a Value, at: &str) -> impl Iterator<Item = (String, &'a Value)> + use<'a> {
    let only = field.is_object().then(|| (at.to_owned(), field));
    only.into_iter().chain(elements(field, at))
}

fn check_content(report: &mut Report, content: &Content<'_>) {
    if is_given(&content.value["role"]) {
        let role = content.value["role"].as_str().unwrap_or_default();
        // The reference names two roles. Google's own examples give two more to function responses.
        if !matches!(role, "user" | "model" | "function" | "tool") {
            let detail = format!("the role is {}", content.value["role"]);
            report.refuse("gemini/role", child(&content.at, "role"), detail);
        }
    }
    if content.parts().next().is_none() {
        report.refuse("gemini/parts-empty", child(&content.at, "parts"), "there is no part");
    }
    for (at, part) in content.parts() {
        // A signature may come in a part of its own with an empty text.
        let is_signed = is_given(member(part, "thoughtSignature", "thought_signature"));
        let has_data = DATA.iter().any(|name| is_given(&part[name]) && part[name] != "");
        if !has_data && !is_signed {
            report.refuse("gemini/part-empty", at, format!("the part is {part}"));
        }
    }
}

/// Checks the function declarations and returns whether there are any.
fn check_tools(report: &mut Report, body: &Value) -> bool {
    let mut has_functions = false;
    for (at, tool) in elements(&body["tools"], "/tools") {
        let name = name_in(tool, "functionDeclarations", "function_declarations");
        for (at, declaration) in elements(&tool[name], &child(&at, name)) {
            has_functions = true;
            check_declaration(report, &at, declaration);
        }
    }
    has_functions
}

fn check_declaration(report: &mut Report, at: &str, declaration: &Value) {
    let name = declaration["name"].as_str().unwrap_or_default();
    if !is_gemini_name(name) || name.len() > MAX_NAME {
        let detail = format!("the name is {name:?}");
        report.refuse("gemini/function-name", child(at, "name"), detail);
    }
    let json_name = name_in(declaration, "parametersJsonSchema", "parameters_json_schema");
    let json_schema = &declaration[json_name];
    if is_given(json_schema) && is_given(&declaration["parameters"]) {
        let detail = "parameters and parametersJsonSchema are both given";
        report.refuse("gemini/parameters-exclusive", at, detail);
    }
    check_json_schema(report, json_schema, &child(at, json_name));
    check_own_schema(report, &declaration["parameters"], &child(at, "parameters"));
}

fn check_config(report: &mut Report, major: Option<u32>, body: &Value, has_functions: bool) {
    let config_name = name_in(body, "generationConfig", "generation_config");
    let config = &body[config_name];
    let at = &child("", config_name);
    let json_name = name_in(config, "responseJsonSchema", "response_json_schema");
    let json_schema = &config[json_name];
    let own_name = name_in(config, "responseSchema", "response_schema");
    let own_schema = &config[own_name];
    let mime_type = member(config, "responseMimeType", "response_mime_type");
    if is_given(json_schema) && is_given(own_schema) {
        let detail = "responseSchema and responseJsonSchema are both given";
        report.refuse("gemini/parameters-exclusive", at, detail);
    }
    if (is_given(json_schema) || is_given(own_schema)) && !is_given(mime_type) {
        let detail = "a response schema is given without responseMimeType";
        report.refuse("gemini/response-mime-type", at, detail);
    }
    let combines = major.is_some_and(|major| major >= 3);
    if major.is_some() && !combines && has_functions && *mime_type == "application/json" {
        let detail = "functions are given with the response type application/json";
        report.refuse("gemini/json-with-tools", at, detail);
    }
    check_json_schema(report, json_schema, &child(at, json_name));
    check_own_schema(report, own_schema, &child(at, own_name));
}

/// Checks a member that holds JSON Schema. Keywords that Gemini does not know are ignored.
fn check_json_schema(report: &mut Report, schema: &Value, at: &str) {
    for node in nodes(schema, at) {
        let members = node.schema.as_object().filter(|_| node.has("$ref"));
        let sibling = members.and_then(|members| members.keys().find(|key| !key.starts_with('$')));
        if let Some(sibling) = sibling {
            let detail = format!("$ref has the sibling {sibling}");
            report.refuse("gemini/ref-siblings", node.at, detail);
        }
    }
    for (at, target) in cyclic_refs(schema, at, Cycle::Endless) {
        let detail = format!("{target} requires itself");
        report.refuse("gemini/recursive-required", at, detail);
    }
}

/// Checks a member that holds Gemini's own schema.
fn check_own_schema(report: &mut Report, schema: &Value, at: &str) {
    for node in nodes(schema, at) {
        for name in node.schema.as_object().into_iter().flat_map(|members| members.keys()) {
            if !SCHEMA_FIELDS.contains(&name.as_str()) {
                let detail = format!("{name} is not a field of the schema");
                report.refuse("gemini/schema-unknown-field", child(&node.at, name), detail);
            }
        }
        if node.keyword("type").is_array() {
            let at = child(&node.at, "type");
            report.refuse("gemini/schema-type-list", at, "type is a list");
        }
        for (at, value) in elements(node.keyword("enum"), &child(&node.at, "enum")) {
            if !value.is_string() {
                let detail = format!("the enum value is {value}");
                report.refuse("gemini/schema-enum-string", at, detail);
            }
        }
    }
}
