//! Strings of models and tools, made safe for a terminal.

/// Maximum number of characters of a string of a model or a tool.
const MAX_SHOWN_CHARS: usize = 200;
/// Maximum number of characters of a message.
pub(super) const MAX_MESSAGE_CHARS: usize = 4_000;

/// Escapes characters that control a terminal or change the direction of text, since models and
/// tools write the text. The escapes are those of JSON, so that JSON remains valid and unchanged in
/// meaning.
pub fn visible(text: &str) -> String {
    let steers = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    let turns =
        |letter: char| matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if steers(letter) || turns(letter) {
            shown.extend(["\\u", &format!("{:04x}", u32::from(letter))]);
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Returns a string of a model or a tool on one line, escaped, and truncated if it is long.
pub fn one_line(text: &str) -> String {
    unbroken(text, MAX_SHOWN_CHARS)
}

/// Returns a string on one line, escaped. Of one with more than `max_chars` characters, the rest is
/// replaced by an ellipsis. None are left of a string for which there is no room.
pub(super) fn unbroken(text: &str, max_chars: usize) -> String {
    if max_chars == 0 {
        return String::new();
    }
    let line = text.replace(['\n', '\t'], " ");
    let mut letters = line.chars();
    let start: String = letters.by_ref().take(max_chars).collect();
    visible(&if letters.next().is_some() { format!("{start}…") } else { start })
}
