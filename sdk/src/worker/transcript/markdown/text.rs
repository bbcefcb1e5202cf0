//! Texts of anybody in Markdown, so that they stay what they are: quoted, fenced, or as code in a line.

use serde_json::Value;

/// A text as a quotation, line by line.
pub(super) fn quoted(text: &str) -> String {
    if text.is_empty() {
        return "> *(empty)*\n\n".to_owned();
    }
    let line = |line: &str| format!("{}\n", format!("> {line}").trim_end());
    text.lines().map(line).collect::<String>() + "\n"
}

/// JSON in a block; a fence that the text cannot close.
pub(super) fn fenced(value: &Value) -> String {
    let text = format!("{value:#}");
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}json\n{text}\n{fence}\n\n")
}

/// A text as code in a line.
pub(super) fn code(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{blank}{}{blank}{fence}", text.replace(['\n', '\r'], " "))
}

/// A value that the model was told, or that a function gave: text as it is, the rest as JSON.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        other => fenced(other),
    }
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
