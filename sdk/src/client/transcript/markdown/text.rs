//! Converts untrusted text to Markdown in which it keeps its content: quoted, fenced, as inline
//! code, or as plain words.
//!
//! A text can neither close the block that contains it nor load anything: links, images and HTML
//! are shown as source. Other Markdown in a quotation is kept, as models write it.

use serde_json::Value;

/// Returns a text as a block quotation, line by line.
pub(super) fn quoted(text: &str) -> String {
    if text.is_empty() {
        return "> *(empty)*\n\n".to_owned();
    }
    let line = |line: &str| format!("{}\n", format!("> {line}").trim_end());
    // A lone carriage return also ends a line in Markdown.
    text.replace("\r\n", "\n").replace('\r', "\n").lines().map(|text| line(&inert(text))).collect::<String>() + "\n"
}

/// Escapes links, images and HTML in a line.
fn inert(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut letters = line.chars().peekable();
    // A character that the text already escapes is left alone: with a second backslash, the text's
    // own one would become the escaped character.
    let mut is_escaped = false;
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        let begins = match letter {
            '!' => next == Some('['),
            ']' => matches!(next, Some('(' | '[' | ':')),
            '<' => next.is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?')),
            _ => false,
        };
        if begins && !is_escaped {
            shown.push('\\');
        }
        shown.push(letter);
        is_escaped = letter == '\\' && !is_escaped;
    }
    shown
}

/// Escapes all Markdown in a name, a reason or a message, and puts it in one line.
pub(super) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            shown.push(' ');
            continue;
        }
        if matches!(letter, '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '#' | '|' | '~') {
            shown.push('\\');
        }
        shown.push(letter);
    }
    shown
}

/// Returns a value in a JSON block, with a fence that the text cannot close.
pub(super) fn fenced(value: &Value) -> String {
    let text = format!("{value:#}");
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}json\n{text}\n{fence}\n\n")
}

/// Returns a text as inline code.
pub(super) fn code(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{blank}{}{blank}{fence}", text.replace(['\n', '\r'], " "))
}

/// Returns the output of a tool or of a guardrail as Markdown: a string as a quotation, any other
/// value as JSON.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        other => fenced(other),
    }
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
