//! Constraints of a schema in words, for the description that the model reads.

use serde_json::Value;

use super::Node;

/// Most characters of a value that is quoted in a description.
const MAX_QUOTED_CHARS: usize = 300;

/// Appends words to the description of a schema.
pub(super) fn note(node: &mut Node, words: &str) {
    let description = match node.get("description").and_then(Value::as_str).map(str::trim_end) {
        Some(description) if !description.is_empty() => format!("{description} ({words})"),
        _ => words.to_owned(),
    };
    match node.get_mut("description") {
        Some(known) => *known = description.into(),
        // First, because a model reads the members in their order.
        None => {
            node.shift_insert(0, "description".to_owned(), description.into());
        }
    }
}

/// Returns a constraint in words; `None` for a keyword that constrains nothing.
pub(super) fn words_of(keyword: &str, value: &Value) -> Option<String> {
    let quoted = quoted(value);
    Some(match keyword {
        "minimum" => format!("at least {quoted}"),
        "maximum" => format!("at most {quoted}"),
        "exclusiveMinimum" => format!("more than {quoted}"),
        "exclusiveMaximum" => format!("less than {quoted}"),
        "multipleOf" => format!("a multiple of {quoted}"),
        "minLength" => format!("at least {quoted} characters"),
        "maxLength" => format!("at most {quoted} characters"),
        "minItems" => format!("at least {quoted} items"),
        "maxItems" => format!("at most {quoted} items"),
        "minProperties" => format!("at least {quoted} members"),
        "maxProperties" => format!("at most {quoted} members"),
        "uniqueItems" if *value == true => "no item twice".to_owned(),
        "format" => format!("format {}", value.as_str().unwrap_or_default()),
        "pattern" => format!("matches the pattern {}", value.as_str().unwrap_or_default()),
        "const" => format!("always {quoted}"),
        "default" if !value.is_null() => format!("default {quoted}"),
        "examples" => format!("for example {quoted}"),
        "not" | "if" | "then" | "else" | "allOf" | "contains" | "minContains" | "maxContains" | "dependentRequired"
        | "dependentSchemas" | "patternProperties" | "propertyNames" | "prefixItems" => {
            format!("`{keyword}`: {quoted}")
        }
        _ => return None,
    })
}

/// Returns the JSON of a value, cut if it is long.
fn quoted(value: &Value) -> String {
    let json = value.to_string();
    match json.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}..", &json[..end]),
        None => json,
    }
}
