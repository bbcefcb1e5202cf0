//! The part of a request that a provider refuses, named for people.
//!
//! A provider names the place in its own notation (`input[3].content`, `messages.5.content.0`,
//! `tools[0].function.name`), or by an id. That says little to somebody who has not seen the
//! request, so the error also tells what is at that place.

use serde_json::{Map, Value};

/// Members of a request whose elements a refusal may name.
const LISTS: [&str; 4] = ["input", "messages", "contents", "tools"];
/// Starts of ids of items and calls.
const IDS: [&str; 7] = ["msg_", "rs_", "fc_", "call_", "toolu_", "ws_", "ctc_"];

/// Returns what is at the place in the request that a refusal names; `None` if it names none.
pub(crate) fn describe(body: &Map<String, Value>, refusal: &str) -> Option<String> {
    let (name, element) = by_path(body, refusal).or_else(|| by_id(body, refusal))?;
    Some(format!("{name} is {}", description(element)))
}

/// Finds an element by a path such as `input[3]`, `messages.[6]` or `tools.0`.
fn by_path<'b>(body: &'b Map<String, Value>, refusal: &str) -> Option<(String, &'b Value)> {
    LISTS.into_iter().find_map(|list| {
        refusal.match_indices(list).find_map(|(at, _)| {
            let rest = refusal[at + list.len()..].trim_start_matches(['.', '[']);
            let is_index = rest.len() < refusal.len() - at - list.len();
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            let index: usize = digits.parse().ok().filter(|_| is_index)?;
            let element = body.get(list)?.get(index)?;
            Some((format!("{list}[{index}]"), element))
        })
    })
}

/// Finds an element by an id in the refusal.
fn by_id<'b>(body: &'b Map<String, Value>, refusal: &str) -> Option<(String, &'b Value)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut ids = refusal.split(|c| !is_part(c)).filter(|word| IDS.iter().any(|start| word.starts_with(start)));
    ids.find_map(|id| {
        LISTS.into_iter().find_map(|list| {
            let elements = body.get(list)?.as_array()?;
            let index = elements.iter().position(|element| holds(element, id))?;
            Some((format!("{list}[{index}]"), &elements[index]))
        })
    })
}

/// Returns `true` if the value or a part of it is this text.
fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(other) => other == text,
        Value::Array(values) => values.iter().any(|value| holds(value, text)),
        Value::Object(members) => members.values().any(|value| holds(value, text)),
        _ => false,
    }
}

/// Returns what an element is: its kind or role, its name and its id. Its text is the user's, and
/// failures may be logged.
fn description(element: &Value) -> String {
    let text = |member: &str| element[member].as_str();
    let kind = match (text("role"), text("type")) {
        (Some(role), _) => format!("a message of the {role}"),
        (None, Some("function") | None) => "a function".to_owned(),
        (None, Some(kind)) => format!("an item of kind `{kind}`"),
    };
    let name = text("name").or_else(|| element["function"]["name"].as_str());
    let name = name.map(|name| format!(" named {name:?}")).unwrap_or_default();
    let id = text("call_id").or_else(|| text("tool_call_id"));
    let id = id.map(|id| format!(" with call id {id:?}")).unwrap_or_default();
    format!("{kind}{name}{id}")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::describe;

    #[rstest]
    #[case(
        "Invalid 'input[1].call_id': string too long.",
        "input[1] is an item of kind `function_call` named \"look\" with call id \"call_9\""
    )]
    #[case("messages.0.content: text content blocks must be non-empty", "messages[0] is a message of the user")]
    #[case("messages.[0].role", "messages[0] is a message of the user")]
    #[case("tools.0.custom.input_schema: no", "tools[0] is a function named \"look\"")]
    #[case(
        "No tool output found for function call call_9.",
        "input[1] is an item of kind `function_call` named \"look\" with call id \"call_9\""
    )]
    fn a_place_is_described(#[case] refusal: &str, #[case] expected: &str) {
        assert_eq!(describe(body().as_object().expect("a body"), refusal).as_deref(), Some(expected));
    }

    #[rstest]
    #[case("the input is too long")]
    #[case("input[7]: no")]
    #[case("No tool output found for function call call_1.")]
    #[case("the model has 3 tools")]
    fn what_names_no_place_is_not_described(#[case] refusal: &str) {
        assert_eq!(describe(body().as_object().expect("a body"), refusal), None);
    }

    fn body() -> Value {
        json!({
            "input": [{"role": "user", "content": "hi"},
                {"type": "function_call", "call_id": "call_9", "name": "look", "arguments": "{}"}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
            "tools": [{"type": "function", "function": {"name": "look"}}],
        })
    }
}
