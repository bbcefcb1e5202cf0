//! Removes secrets from a string, in whatever encoding they occur there.
//!
//! A tool or a provider seldom quotes the value itself: JSON escapes it, JSON in a JSON string
//! escapes it twice, `{:?}` has escapes of its own, a URL contains percent codes, and a header for
//! basic authentication is Base64. So a secret is compared with the characters that a string
//! *represents*: an escape, of any depth, counts as the character that it represents. The Base64
//! forms, and the lines of a secret of several lines (a PEM key), are secrets of their own.
//!
//! Encryption, hashes, other bases, and Base64 inside Base64 are not detected.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

/// The replacement for a secret.
pub(crate) const REDACTED: &str = "[redacted]";
/// The minimum length, in bytes, of a secret that is removed wherever it occurs, also in its Base64
/// forms.
const MIN_SUBSTRING_BYTES: usize = 8;
/// The minimum length, in characters, of a line of a secret that is itself a secret: shorter ones
/// may be ordinary words.
const MIN_LINE_CHARS: usize = 16;

/// The number of characters of a long escape of one character: `\\u{10ffff}` in a JSON string.
const MAX_ESCAPE_CHARS: usize = 12;

/// Secrets in all their forms, with an index to find them.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    forms: Vec<Form>,
    /// Indices of the forms by their first character, if that is not ASCII.
    by_first: BTreeMap<char, Vec<usize>>,
    /// Indices of the forms by their first character, if that is ASCII, where a table is faster.
    by_ascii: Vec<Vec<usize>>,
    /// Length of the longest form, in characters.
    longest: usize,
}

/// One form of a secret.
#[derive(Clone, PartialEq, Eq)]
struct Form {
    characters: Vec<char>,
    /// Restricts the form to a word of its own. Set for a short secret (a local server accepts any
    /// key, `x` for example): if it were also removed inside of words, the string would become
    /// unreadable.
    whole_word_only: bool,
    /// Allows line breaks between the characters, as Base64 may be broken into lines.
    allows_line_breaks: bool,
}

impl Secrets {
    /// Adds a secret in all its forms.
    pub(crate) fn add(&mut self, secret: &str) {
        self.add_form(secret, secret.len() < MIN_SUBSTRING_BYTES, false);
        if secret.len() < MIN_SUBSTRING_BYTES {
            return;
        }
        // The last line break of a file is seldom quoted.
        let trimmed = secret.trim();
        if trimmed.len() >= MIN_SUBSTRING_BYTES {
            self.add_form(trimmed, false, false);
        }
        // `.env` files and JSON write a line break as a backslash and an `n`.
        for line in secret.split('\n').flat_map(|line| line.split("\\n")).map(str::trim) {
            // The first and the last line of a PEM file are not secret.
            if line.chars().count() >= MIN_LINE_CHARS && !line.starts_with("-----") {
                self.add_form(line, false, false);
            }
        }
        for alphabet in [STANDARD, URL_SAFE] {
            for before in 0..3 {
                self.add_form(&base64_inside(secret.as_bytes(), before, alphabet), false, true);
            }
        }
    }

    fn add_form(&mut self, text: &str, whole_word_only: bool, allows_line_breaks: bool) {
        let form = Form { characters: text.chars().collect(), whole_word_only, allows_line_breaks };
        let Some(first) = form.characters.first().copied() else { return };
        let place = self.forms.len();
        let same_first = if first.is_ascii() {
            self.by_ascii.resize(128, Vec::new());
            &mut self.by_ascii[first as usize]
        } else {
            self.by_first.entry(first).or_default()
        };
        if same_first.iter().any(|other| self.forms[*other] == form) {
            return;
        }
        same_first.push(place);
        self.longest = self.longest.max(form.characters.len());
        self.forms.push(form);
    }

    /// Returns `true` if there are no secrets.
    pub(crate) fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Returns the length of the longest form, in characters.
    #[cfg(any(feature = "openai", feature = "anthropic"))]
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Returns `true` if the string contains a secret.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        !self.is_empty() && self.found(text).next().is_some()
    }

    /// Returns the string with each secret replaced.
    pub(crate) fn without<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_empty() {
            return text.into();
        }
        let mut places: Vec<Range<usize>> = Vec::new();
        for found in self.found(text) {
            match places.last_mut() {
                Some(last) if found.start < last.end => last.end = last.end.max(found.end),
                _ => places.push(found),
            }
        }
        if places.is_empty() {
            return text.into();
        }
        let (mut clean, mut rest) = (String::with_capacity(text.len()), 0);
        for place in places {
            clean.push_str(&text[rest..place.start]);
            clean.push_str(REDACTED);
            rest = place.end;
        }
        clean.push_str(&text[rest..]);
        clean.into()
    }

    /// Returns the length in bytes of the beginning of the string that no later part of its stream
    /// can turn into a part of a secret: it ends before the last characters, as many as a secret
    /// has with each character as a long escape, and never inside of a secret.
    pub(crate) fn settled(&self, text: &str) -> usize {
        let held = self.longest * MAX_ESCAPE_CHARS;
        let Some((end, _)) = text.char_indices().rev().nth(held) else { return 0 };
        let around = self.found(text).find(|found| found.start < end && found.end > end);
        around.map_or(end, |found| found.start)
    }

    /// Returns the ranges of the secrets in the string, in its order: the longest at each start.
    /// Ranges may overlap.
    fn found<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        let every: Vec<usize> = (0..self.forms.len()).collect();
        // A run of backslashes is examined once, not once from each of them.
        let mut end_of_run = 0;
        text.char_indices().filter_map(move |(start, first)| {
            // An escape may represent any first character, so all forms are candidates there.
            let may_escape = matches!(first, '\\' | '%' | '+');
            let places: &[usize] = if may_escape && start >= end_of_run {
                end_of_run = backslashes(text, start).0;
                &every
            } else if first == '\\' {
                &[]
            } else if first.is_ascii() {
                self.by_ascii.get(first as usize).map_or(&[], Vec::as_slice)
            } else {
                self.by_first.get(&first).map_or(&[], Vec::as_slice)
            };
            let ends = places.iter().filter_map(|place| self.forms[*place].end(text, start));
            ends.max().map(|end| start..end)
        })
    }
}

impl Form {
    /// Returns the end of this form, if the string represents the form from `start` on.
    fn end(&self, text: &str, start: usize) -> Option<usize> {
        let (mut at, mut next) = (start, 0);
        while next < self.characters.len() {
            if self.allows_line_breaks && next > 0 {
                at = after_breaks(text, at);
            }
            // The run of backslashes in the string must cover those of the form; further ones are
            // escapes.
            let own = self.characters[next..].iter().take_while(|character| **character == '\\').count();
            let (after, count) = if may_be_backslash(text, at) { backslashes(text, at) } else { (at, 0) };
            if count < own {
                return None;
            }
            next += own;
            let Some(character) = self.characters.get(next) else {
                at = after;
                break;
            };
            let escapes = count > own;
            let end = if escapes { escaped(text, after, *character) } else { None };
            let end = if escapes && own == 0 { end } else { end.or_else(|| plain(text, after, *character)) };
            at = end?;
            next += 1;
        }
        let stands_alone = || !text[..start].ends_with(is_key_char) && !text[at..].starts_with(is_key_char);
        (!self.whole_word_only || stands_alone()).then_some(at)
    }
}

/// Returns `true` for a character of a key. `*` is one, because OpenAI masks the middle of the key
/// that it quotes.
pub(crate) fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*')
}

fn may_be_backslash(text: &str, at: usize) -> bool {
    matches!(text.as_bytes().get(at), Some(b'\\' | b'%'))
}

/// Returns the end of the run of backslashes that starts at `at`, and their number.
fn backslashes(text: &str, mut at: usize) -> (usize, usize) {
    let mut count = 0;
    loop {
        match text.as_bytes().get(at) {
            Some(b'\\') => at += 1,
            Some(b'%') => match percent_code(text, at, b'\\') {
                Some(end) => at = end,
                None => return (at, count),
            },
            _ => return (at, count),
        }
        count += 1;
    }
}

/// Returns the end of the line breaks, escaped ones included, that start at `at`.
fn after_breaks(text: &str, mut at: usize) -> usize {
    loop {
        let (after, count) = if may_be_backslash(text, at) { backslashes(text, at) } else { (at, 0) };
        match text.as_bytes().get(after) {
            Some(b'\r' | b'\n') if count == 0 => at = after + 1,
            Some(b'r' | b'n') if count > 0 => at = after + 1,
            _ => return at,
        }
    }
}

/// Returns the end of the character, if it is at this position unchanged or in its form in a URL.
fn plain(text: &str, at: usize, character: char) -> Option<usize> {
    if text[at..].starts_with(character) {
        return Some(at + character.len_utf8());
    }
    match text.as_bytes().get(at)? {
        b'+' if character == ' ' => Some(at + 1),
        b'%' => {
            let mut bytes = [0; 4];
            character.encode_utf8(&mut bytes).bytes().try_fold(at, |at, byte| percent_code(text, at, byte))
        }
        _ => None,
    }
}

/// Returns the end of the percent code of this byte: `%0A`, also `%250A`, whose percent sign is
/// itself encoded.
fn percent_code(text: &str, at: usize, byte: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    if bytes.get(at) != Some(&b'%') {
        return None;
    }
    let mut at = at + 1;
    loop {
        let end = at + 2;
        if number(bytes.get(at..end)?) == Some(byte.into()) {
            return Some(end);
        }
        if bytes.get(at..end) != Some(b"25") {
            return None;
        }
        at = end;
    }
}

/// Returns the end of the escape of the character, if its part after the backslash starts at this
/// position.
fn escaped(text: &str, at: usize, character: char) -> Option<usize> {
    let bytes = text.as_bytes();
    let letter = match character {
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\0' => b'0',
        '\u{8}' => b'b',
        '\u{c}' => b'f',
        '"' | '\'' | '/' | '`' | '$' => u8::try_from(character).ok()?,
        _ => 0,
    };
    if letter != 0
        && let Some(end) = plain(text, at, char::from(letter))
    {
        return Some(end);
    }
    let code = u32::from(character);
    let digits = |from: usize, count: usize, code: u32| {
        (number(bytes.get(from..from + count)?) == Some(code)).then_some(from + count)
    };
    match bytes.get(at)? {
        b'x' => digits(at + 1, 2, code),
        b'U' => digits(at + 1, 8, code),
        b'u' if bytes.get(at + 1) == Some(&b'{') => {
            // Limited to the next 7 bytes, and not a search through all of the string, which may
            // contain many of these.
            let end = bytes[at + 2..].iter().take(7).position(|byte| *byte == b'}')? + at + 2;
            (number(&bytes[at + 2..end]) == Some(code)).then_some(end + 1)
        }
        b'u' => {
            let mut units = [0; 2];
            let units = character.encode_utf16(&mut units);
            let after = digits(at + 1, 4, units[0].into())?;
            let Some(low) = units.get(1) else { return Some(after) };
            let (after, count) = backslashes(text, after);
            if count == 0 || bytes.get(after) != Some(&b'u') {
                return None;
            }
            digits(after + 1, 4, (*low).into())
        }
        _ => None,
    }
}

/// Returns the hexadecimal number with these digits.
fn number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u32, |number, digit| Some(number.checked_mul(16)? + char::from(*digit).to_digit(16)?))
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Returns the characters that the Base64 of any bytes contains if it encodes `secret` after
/// `before` other bytes (modulo 3), and that depend on `secret` alone. At either end fewer than six
/// bits remain.
fn base64_inside(secret: &[u8], before: usize, alphabet: &[u8; 64]) -> String {
    let bytes = [&vec![0; before][..], secret].concat();
    let six_bits = |place: usize| {
        let (byte, shift) = (place * 6 / 8, place * 6 % 8);
        let two = u16::from(bytes[byte]) << 8 | u16::from(bytes.get(byte + 1).copied().unwrap_or_default());
        usize::from(two >> (10 - shift) & 0x3f)
    };
    let first = (before * 8).div_ceil(6);
    (first..bytes.len() * 8 / 6).map(|place| char::from(alphabet[six_bits(place)])).collect()
}

#[cfg(test)]
mod tests;
