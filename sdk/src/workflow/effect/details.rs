//! Strings of models in the current details of a workflow, which the Temporal UI shows as Markdown.
//!
//! People decide by what they read there: a model's string stays inside its code span or block, and
//! is truncated if it is long.

use temporal_agents_core::wire::ApprovalRequest;

/// Maximum number of characters of the arguments of a call, and of a name.
const MAX_SHOWN_CHARS: usize = 10_000;
const MAX_NAME_CHARS: usize = 100;

/// Describes a call that waits for a decision.
pub(in crate::workflow) fn asked(request: &ApprovalRequest) -> String {
    let call = &request.call;
    asked_call((&call.agent, &call.tool), &call.arguments, MAX_SHOWN_CHARS)
}

/// Describes a call of an agent that waits for a decision, with this many characters of its
/// arguments.
pub(in crate::workflow) fn asked_call((agent, tool): (&str, &str), arguments: &str, most: usize) -> String {
    format!("{} wants to call {} with\n\n{}", name(agent), name(tool), block(arguments, most))
}

/// Formats the name of an agent or a tool as an inline code span.
pub(in crate::workflow) fn name(text: &str) -> String {
    // Neither may a name end its line, nor turn the direction of what follows.
    let text = shown(text, MAX_NAME_CHARS).replace(|c: char| c.is_control() || turns_or_hides(c), " ");
    let fence = "`".repeat(longest_run(&text) + 1);
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

/// Formats JSON as a code block that it cannot close. Characters that would show another order than
/// that of the string are written as JSON escapes.
fn block(text: &str, most: usize) -> String {
    let mut text = shown(text, most);
    if text.contains(turns_or_hides) {
        let written = |c: char| if turns_or_hides(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
        text = text.chars().map(written).collect();
    }
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}json\n{text}\n{fence}")
}

/// Returns the beginning of the string, with its full length if it is truncated.
fn shown(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} .. ({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

/// Returns `true` for characters that reorder or hide the text around them, and for separators of
/// lines.
fn turns_or_hides(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
