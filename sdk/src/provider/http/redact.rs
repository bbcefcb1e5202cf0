//! Removes credentials from everything that is recorded or shown.
//!
//! A provider may quote the request ("Incorrect API key provided: sk-..."), and every message of a
//! failure is recorded in history. The configured secrets are removed in whatever form they occur,
//! and also everything that looks like an OpenAI key.

use secrecy::{ExposeSecret, SecretString};

use crate::secret::without_secret::{REDACTED, Secrets, is_key_char};

/// The prefix of OpenAI keys.
const KEY_PREFIX: &str = "sk-";
/// The minimum length of a key, in bytes: shorter ones are words of a sentence.
const SHORTEST_KEY: usize = 6;
/// The maximum size of a string from which an excerpt is made, in bytes.
const MOST_BYTES: usize = 64 * 1024;

/// The secrets of a provider, and the removal of secrets from strings.
pub(crate) struct Redactor(Secrets);

impl Redactor {
    pub(crate) fn new(secrets: Vec<SecretString>) -> Self {
        let mut known = Secrets::default();
        for secret in secrets {
            known.add(secret.expose_secret());
        }
        Self(known)
    }

    /// Returns the string without secrets.
    pub(crate) fn clean(&self, text: &str) -> String {
        without_keys(&self.0.without(text))
    }

    /// Returns the start of the string on one line, without secrets: at most `longest` characters.
    pub(crate) fn excerpt(&self, text: &str, longest: usize) -> String {
        let start = &text[..text.floor_char_boundary(MOST_BYTES)];
        let mut start_clean = self.clean(start);
        if start.len() < text.len() {
            // The cut may have split a secret; a character has up to 12 bytes in the longest of its
            // forms.
            let halved = (self.0.longest() * 12).min(start_clean.len());
            start_clean.truncate(start_clean.floor_char_boundary(start_clean.len() - halved));
        }
        let line = start_clean.split_whitespace().collect::<Vec<_>>().join(" ");
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
        let end = from.find(|c| !is_key_char(c)).unwrap_or(from.len());
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
