//! Keeps credentials out of everything that is recorded or shown.
//!
//! A provider may echo what it was sent ("Incorrect API key provided: sk-..."), and every message of a failure ends
//! up in history. It removes the configured secrets wherever they stand, and what looks like an OpenAI key.

use secrecy::{ExposeSecret, SecretString};

use crate::worker::without_secret::{REDACTED, is_of_key, without};

/// How OpenAI keys start.
const KEY_PREFIX: &str = "sk-";
/// Shorter ones are words of a sentence, not keys.
const SHORTEST_KEY: usize = 6;

/// The secrets of a provider, and how to take them out of a text.
pub(in crate::worker) struct Redactor {
    /// Longest first, so that one that is part of another leaves nothing of it behind.
    secrets: Vec<SecretString>,
}

impl Redactor {
    pub(in crate::worker) fn new(mut secrets: Vec<SecretString>) -> Self {
        secrets.retain(|secret| !secret.expose_secret().is_empty());
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.expose_secret().len()));
        Self { secrets }
    }

    /// The text without secrets.
    pub(in crate::worker) fn clean(&self, text: &str) -> String {
        let known = self.secrets.iter().fold(text.to_owned(), |text, secret| without(&text, secret.expose_secret()));
        without_keys(&known)
    }

    /// The start of the text on one line, without secrets: at most `longest` characters.
    pub(in crate::worker) fn excerpt(&self, text: &str, longest: usize) -> String {
        let line = self.clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(longest) {
            None => line,
            Some(_) => line.chars().take(longest.saturating_sub(3)).chain("...".chars()).collect(),
        }
    }
}

fn without_keys(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(KEY_PREFIX) {
        let (before, from) = rest.split_at(start);
        clean.push_str(before);
        let end = from.find(|c| !is_of_key(c)).unwrap_or(from.len());
        let inside_a_word = clean.ends_with(|c: char| c.is_alphanumeric());
        if end >= SHORTEST_KEY && !inside_a_word {
            clean.push_str(REDACTED);
            rest = &from[end..];
        } else {
            clean.push_str(KEY_PREFIX);
            rest = &from[KEY_PREFIX.len()..];
        }
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests;
