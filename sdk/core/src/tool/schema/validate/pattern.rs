//! The keywords `pattern` and `patternProperties`: regular expressions of ECMAScript, matched in
//! linear time.
//!
//! A pattern is rewritten for `regex-lite`, class by class, so that it has the meaning of
//! ECMAScript without flags: `\d` and `\w` are ASCII, `\s` is not, `.` does not match a line
//! terminator. The size of a pattern is counted here and not by the matcher, so that the set of
//! checked patterns does not depend on the matcher's version. Not matched: look-around, back
//! references, Unicode classes, flags.

use regex_lite::{Regex, RegexBuilder};

/// Most bytes of a pattern.
const MAX_BYTES: usize = 2_000;

/// Most states of a pattern with its repetitions expanded; each may be visited for each character.
const MAX_STATES: usize = 5_000;

/// The limit of the matcher itself. Patterns within the limits above need less, so it does not
/// decide which patterns are checked.
const MATCHER_BYTES: usize = 1 << 22;

const SPACES: &str = r"\s\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}";

const LOOK_AROUND: &str = "look-around is not supported, because it cannot be matched in linear time";
const BACK_REFERENCE: &str = "back references are not supported, because they cannot be matched in linear time";
const UNICODE: &str = "Unicode classes are not supported";
const FLAGS: &str = "flags are not supported";
const TOO_LARGE: &str = "the pattern is too large";
const MALFORMED: &str = "the pattern is malformed";

/// A pattern: compiled, or not checked.
pub(super) enum Pattern {
    Checked {
        regex: Box<Regex>,
        states: usize,
    },
    /// The reason for which the pattern is not checked.
    Unchecked(&'static str),
}

impl Pattern {
    pub(super) fn new(pattern: &str) -> Self {
        let rewritten = if pattern.len() > MAX_BYTES { Err(TOO_LARGE) } else { Rewriting::new(pattern).all() };
        let (text, states) = match rewritten {
            Ok(rewritten) => rewritten,
            Err(reason) => return Self::Unchecked(reason),
        };
        match RegexBuilder::new(&text).size_limit(MATCHER_BYTES).build() {
            Ok(regex) => Self::Checked { regex: Box::new(regex), states },
            Err(_) => Self::Unchecked(MALFORMED),
        }
    }

    /// Returns the most states that a match of this string visits.
    pub(super) fn cost(&self, text: &str) -> usize {
        match self {
            Self::Checked { states, .. } => states.saturating_mul(text.len() + 1),
            Self::Unchecked(_) => 1,
        }
    }
}

/// The state of one pass over a pattern.
struct Rewriting<'p> {
    left: std::str::Chars<'p>,
    text: String,
    /// The states of the open groups, from the outermost.
    groups: Vec<usize>,
    /// The states of the part that a repetition would repeat; `None` where nothing can be repeated.
    last: Option<usize>,
}

impl<'p> Rewriting<'p> {
    fn new(pattern: &'p str) -> Self {
        Self { left: pattern.chars(), text: String::new(), groups: vec![1], last: None }
    }

    fn all(mut self) -> Result<(String, usize), &'static str> {
        while let Some(next) = self.left.next() {
            self.one(next)?;
            if self.groups.iter().sum::<usize>() > MAX_STATES {
                return Err(TOO_LARGE);
            }
        }
        match self.groups.as_slice() {
            [states] => Ok((self.text, *states)),
            _ => Err(MALFORMED),
        }
    }

    fn one(&mut self, next: char) -> Result<(), &'static str> {
        match next {
            '(' => {
                self.group()?;
                self.groups.push(1);
                self.last = None;
            }
            ')' => {
                let states = self.groups.pop().filter(|_| !self.groups.is_empty()).ok_or(MALFORMED)?;
                self.text.push(')');
                self.atom(states);
            }
            '[' => {
                let items = self.class()?;
                self.atom(items);
            }
            '.' => {
                self.text.push_str(r"[^\n\r\x{2028}\x{2029}]");
                self.atom(1);
            }
            '\\' => {
                self.escape()?;
                self.atom(1);
            }
            '|' | '^' | '$' => {
                self.text.push(next);
                self.groups[0] += 1;
                self.last = None;
            }
            '*' | '+' | '?' => self.repetition(next.to_string(), 2)?,
            '{' => match self.counted() {
                Some((text, times)) => self.repetition(text, times)?,
                None => self.literal(next),
            },
            literal => self.literal(literal),
        }
        Ok(())
    }

    fn literal(&mut self, literal: char) {
        push_literal(&mut self.text, literal);
        self.atom(1);
    }

    fn atom(&mut self, states: usize) {
        if let Some(group) = self.groups.last_mut() {
            *group += states;
        }
        self.last = Some(states);
    }

    /// Appends a repetition of the part before it, which may be lazy.
    fn repetition(&mut self, text: String, times: usize) -> Result<(), &'static str> {
        let states = self.last.take().ok_or(MALFORMED)?;
        self.text.push_str(&text);
        if self.left.clone().next() == Some('?') {
            self.left.next();
            self.text.push('?');
        }
        if let Some(group) = self.groups.last_mut() {
            *group = group.saturating_add(states.saturating_mul(times));
        }
        Ok(())
    }

    /// Parses `{2}`, `{2,}` or `{2,4}`, and returns the factor by which it multiplies states. Any
    /// other `{` is a literal.
    fn counted(&mut self) -> Option<(String, usize)> {
        let (inside, after) = self.left.as_str().split_once('}')?;
        let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
        let is_number = |text: &str| !text.is_empty() && text.len() < 10 && text.bytes().all(|b| b.is_ascii_digit());
        if !is_number(least) || !(most.is_empty() || is_number(most)) {
            return None;
        }
        let times = if most.is_empty() { least.parse::<usize>().ok()? + 1 } else { most.parse().ok()? };
        self.left = after.chars();
        Some((format!("{{{inside}}}"), times.saturating_mul(2)))
    }

    /// Parses the part after an opening parenthesis. No group captures, since captures are not
    /// used.
    fn group(&mut self) -> Result<(), &'static str> {
        self.text.push_str("(?:");
        let rest = self.left.as_str();
        if !rest.starts_with('?') {
            return Ok(());
        }
        let after = if let Some(after) = rest.strip_prefix("?:") {
            after
        } else if ["?=", "?!", "?<=", "?<!"].iter().any(|look| rest.starts_with(look)) {
            return Err(LOOK_AROUND);
        } else if let Some(named) = rest.strip_prefix("?<").or_else(|| rest.strip_prefix("?P<")) {
            named.split_once('>').ok_or(MALFORMED)?.1
        } else {
            return Err(FLAGS);
        };
        self.left = after.chars();
        Ok(())
    }

    /// Parses the part after a backslash outside of a class.
    fn escape(&mut self) -> Result<(), &'static str> {
        match self.left.clone().next() {
            Some(same @ ('d' | 'D' | 'w' | 'W' | 'b' | 'B')) => {
                self.left.next();
                self.text.push('\\');
                self.text.push(same);
            }
            Some('s') => {
                self.left.next();
                self.text.extend(["[", SPACES, "]"]);
            }
            Some('S') => {
                self.left.next();
                self.text.extend(["[^", SPACES, "]"]);
            }
            _ => {
                let character = self.escaped()?;
                push_literal(&mut self.text, character);
            }
        }
        Ok(())
    }

    /// Parses the character after a backslash, in a class and outside.
    fn escaped(&mut self) -> Result<char, &'static str> {
        Ok(match self.left.next().ok_or(MALFORMED)? {
            't' => '\t',
            'n' => '\n',
            'v' => '\x0B',
            'f' => '\x0C',
            'r' => '\r',
            '0' => '\0',
            '1'..='9' | 'k' => return Err(BACK_REFERENCE),
            'p' | 'P' => return Err(UNICODE),
            'c' => {
                let letter = self.left.next().filter(char::is_ascii_alphabetic).ok_or(MALFORMED)?;
                char::from(u8::try_from(letter).unwrap_or_default() % 32)
            }
            'x' => self.hexadecimal(2)?,
            'u' => match self.left.as_str().strip_prefix('{') {
                None => self.hexadecimal(4)?,
                Some(braced) => {
                    let (digits, after) = braced.split_once('}').ok_or(MALFORMED)?;
                    self.left = after.chars();
                    from_hex_code(digits)?
                }
            },
            same => same,
        })
    }

    fn hexadecimal(&mut self, digits: usize) -> Result<char, &'static str> {
        let rest = self.left.as_str();
        let code = rest.get(..digits).ok_or(MALFORMED)?;
        self.left = rest[digits..].chars();
        from_hex_code(code)
    }

    /// Parses a class after its opening bracket, and returns the number of its items.
    fn class(&mut self) -> Result<usize, &'static str> {
        self.text.push('[');
        if self.left.as_str().starts_with('^') {
            self.left.next();
            self.text.push('^');
        }
        // The start of a range, if the next character is a dash.
        let (mut items, mut from) = (0, None);
        loop {
            items += 1;
            let rest = self.left.as_str();
            match self.left.next().ok_or(MALFORMED)? {
                // `[]` matches nothing and `[^]` anything; they are not supported, since patterns
                // do not use them.
                ']' if items == 1 => return Err(MALFORMED),
                ']' => break,
                '-' if from.is_some() && !rest.starts_with("-]") => {
                    let to = match self.left.next().ok_or(MALFORMED)? {
                        '\\' if self.left.as_str().starts_with(['d', 'D', 's', 'S', 'w', 'W']) => {
                            return Err(MALFORMED);
                        }
                        '\\' => self.escaped_in_class()?,
                        literal => literal,
                    };
                    self.text.push('-');
                    push_literal(&mut self.text, to);
                    from = None;
                }
                '\\' => match self.left.clone().next() {
                    Some(class @ ('d' | 'D' | 'w' | 'W')) => {
                        self.left.next();
                        self.text.push('\\');
                        self.text.push(class);
                        from = None;
                    }
                    Some('s') => {
                        self.left.next();
                        self.text.push_str(SPACES);
                        from = None;
                    }
                    Some('S') => return Err(UNICODE),
                    _ => {
                        let character = self.escaped_in_class()?;
                        push_literal(&mut self.text, character);
                        from = Some(character);
                    }
                },
                literal => {
                    push_literal(&mut self.text, literal);
                    from = Some(literal);
                }
            }
        }
        self.text.push(']');
        Ok(items)
    }

    /// Parses an escape in a class, where `\b` is a backspace.
    fn escaped_in_class(&mut self) -> Result<char, &'static str> {
        if self.left.as_str().starts_with('b') {
            self.left.next();
            return Ok('\x08');
        }
        self.escaped()
    }
}

/// Appends a literal character, escaped if it may have a meaning for the matcher.
fn push_literal(text: &mut String, character: char) {
    if character.is_ascii_alphanumeric() {
        text.push(character);
    } else {
        text.extend([r"\x{", &format!("{:X}", u32::from(character)), "}"]);
    }
}

fn from_hex_code(digits: &str) -> Result<char, &'static str> {
    u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).ok_or(MALFORMED)
}
