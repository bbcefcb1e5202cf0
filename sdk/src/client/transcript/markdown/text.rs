//! Texts of anybody in Markdown, so that they stay what they are: quoted, fenced, as code in a line, or as plain words.
//!
//! A text may not end what it stands in, and loads nothing: of links, images and HTML the source is shown. Other Markdown in a quotation
//! stays, as models write it.

use serde_json::Value;

/// A text as a quotation, line by line.
pub(super) fn quoted(text: &str) -> String {
    if text.is_empty() {
        return "> *(empty)*\n\n".to_owned();
    }
    let line = |line: &str| format!("{}\n", format!("> {line}").trim_end());
    // A lone carriage return ends a line in Markdown.
    text.replace("\r\n", "\n").replace('\r', "\n").lines().map(|text| line(&inert(text))).collect::<String>() + "\n"
}

/// A line in which nothing is a link, an image or HTML.
fn inert(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut letters = line.chars().peekable();
    // One that the text escapes itself stays so: a second escape would be the text's own backslash.
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

/// A name, a reason or a message in a line, of which no part is Markdown.
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
