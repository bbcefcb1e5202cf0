//! What a text that is not understood may run, for rules that deny or ask.

use super::{MAX_DEPTH, MAX_PARTS, Part, Reading, Redirections, Word};

/// Most words of a part that is guessed.
const MAX_WORDS: usize = 64;

/// Words after which a program may follow.
const BEFORE_A_PROGRAM: [&str; 12] =
    ["if", "then", "elif", "else", "while", "until", "do", "!", "coproc", "time", "function", "exec"];

/// Returns the programs that texts may run. Quotes are read in two ways: as ends of words, and as
/// nothing.
pub(super) fn guess(texts: &[String]) -> Vec<Part> {
    let mut parts = Vec::new();
    for text in texts {
        let joined: String = text.replace("\\\n", "").chars().filter(|next| !r#"'"\$[]"#.contains(*next)).collect();
        for (text, gaps) in [(&**text, ""), (&*joined, ",")] {
            let is_break = |next: char| ";&|()`{}<>$\"'\n".contains(next);
            let is_gap = |next: char| next.is_whitespace() || next.is_control() || gaps.contains(next);
            for piece in text.split(is_break) {
                if parts.len() >= MAX_PARTS {
                    return parts;
                }
                let is_before =
                    |word: &&str| BEFORE_A_PROGRAM.contains(word) || word.starts_with('-') || word.contains('=');
                let words = piece.split(is_gap).filter(|word| !word.is_empty()).skip_while(is_before);
                let mut reading = Reading::default();
                reading.program(
                    words.take(MAX_WORDS).map(Word::plain).collect(),
                    Redirections::default(),
                    MAX_DEPTH - 2,
                );
                parts.extend(reading.parts.into_iter().filter(|part| !parts.contains(part)).collect::<Vec<_>>());
            }
        }
    }
    parts
}
