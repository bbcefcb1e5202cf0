//! Strings of models in the current details of a workflow, which the Temporal UI shows as Markdown.
//!
//! People decide by what they read there: what a model writes stays inside its code span or block, and is cut where it is long.

use crate::wire::ApprovalRequest;

/// Most characters of a model's string that are shown.
const SHOWN: usize = 10_000;

/// A call that waits for a decision.
pub(in crate::workflow) fn asked(request: &ApprovalRequest) -> String {
    let call = &request.call;
    format!("{} wants to call {} with\n\n{}", code(&call.agent), code(&call.tool), block(&call.arguments))
}

/// A string as code in a line.
pub(in crate::workflow) fn code(text: &str) -> String {
    let text = shown(text).replace(char::is_control, " ");
    let fence = "`".repeat(longest_run(&text) + 1);
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

/// A string as a block of code, which it cannot close.
fn block(text: &str) -> String {
    let text = shown(text);
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}json\n{text}\n{fence}")
}

/// The beginning of the string.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} .. ({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
