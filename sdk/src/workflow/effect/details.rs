//! Strings of models in the current details of a workflow, which the Temporal UI shows as Markdown.
//!
//! People decide by what they read there: a model's string stays inside its code span or block, and
//! is truncated if it is long.

use crate::wire::ApprovalRequest;

/// Maximum number of characters of a model's string that are shown.
const MAX_SHOWN_CHARS: usize = 10_000;

/// Describes a call that waits for a decision.
pub(in crate::workflow) fn asked(request: &ApprovalRequest) -> String {
    let call = &request.call;
    format!("{} wants to call {} with\n\n{}", code(&call.agent), code(&call.tool), block(&call.arguments))
}

/// Formats a string as an inline code span.
pub(in crate::workflow) fn code(text: &str) -> String {
    let text = shown(text).replace(char::is_control, " ");
    let fence = "`".repeat(longest_run(&text) + 1);
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

/// Formats a string as a code block that the string cannot close.
fn block(text: &str) -> String {
    let text = shown(text);
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}json\n{text}\n{fence}")
}

/// Returns the beginning of the string, with its full length if it is truncated.
fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{} .. ({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
