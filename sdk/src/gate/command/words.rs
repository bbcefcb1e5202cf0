//! The words of a shell command: quotes, escapes, expansions, operators and here-documents, as in
//! POSIX and bash.

use std::{iter::Peekable, str::CharIndices};

use super::Unclear;

/// A part of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    /// What separates commands: `;`, `&&`, `||`, `|`, `&`, a line break, or a bracket.
    Separator(&'static str),
    /// An operator that redirects, before its target.
    Redirect(&'static str),
}

/// A word, without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The text; an expansion is as it was written.
    pub(super) text: String,
    /// `true` if the shell replaces a part of the word: its value is not known here.
    pub(super) is_expanded: bool,
    /// `true` if a part of the word is quoted or escaped: it is no reserved word.
    pub(super) is_quoted: bool,
    /// The commands within the word, which the shell runs first: `$(..)`, backticks, `<(..)`.
    pub(super) commands: Vec<String>,
}

impl Word {
    /// Creates a word whose value is known.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Separators, the longer ones first.
const SEPARATORS: [&str; 12] = [";;&", ";;", ";&", "&&", "||", "|&", ";", "|", "&", "\n", "(", ")"];

/// Operators that redirect, the longer ones first.
const REDIRECTS: [&str; 12] = ["&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", ">>", ">&", ">|", "<", ">"];

/// Splits a command.
///
/// # Errors
/// [`Unclear`] if quotes or brackets are not closed.
pub(super) fn split(text: &str) -> Result<Vec<Token>, Unclear> {
    let mut lexer = Lexer { text, chars: text.char_indices().peekable(), tokens: Vec::new(), documents: Vec::new() };
    lexer.run()?;
    Ok(lexer.tokens)
}

struct Lexer<'t> {
    text: &'t str,
    chars: Peekable<CharIndices<'t>>,
    tokens: Vec<Token>,
    /// The ends of the here-documents that begin after this line, and whether their text is
    /// expanded.
    documents: Vec<(String, bool)>,
}

impl Lexer<'_> {
    fn run(&mut self) -> Result<(), Unclear> {
        while let Some(&(at, next)) = self.chars.peek() {
            let rest = &self.text[at..];
            if rest.starts_with("\\\n") {
                self.skip(2);
            } else if next == '#' {
                while self.chars.next_if(|(_, next)| *next != '\n').is_some() {}
            } else if next != '\n' && next.is_whitespace() {
                self.chars.next();
            } else if rest.starts_with("<(") || rest.starts_with(">(") {
                self.word()?;
            } else if let Some(redirect) = REDIRECTS.iter().find(|operator| rest.starts_with(**operator)) {
                self.skip(redirect.len());
                self.tokens.push(Token::Redirect(redirect));
                if matches!(*redirect, "<<" | "<<-") {
                    self.here_document()?;
                }
            } else if let Some(separator) = SEPARATORS.iter().find(|separator| rest.starts_with(**separator)) {
                self.skip(separator.len());
                self.tokens.push(Token::Separator(separator));
                if *separator == "\n" {
                    self.bodies()?;
                }
            } else {
                self.word()?;
            }
        }
        if self.documents.is_empty() { Ok(()) } else { Err(Unclear::Open("a here-document")) }
    }

    fn skip(&mut self, chars: usize) {
        for _ in 0..chars {
            self.chars.next();
        }
    }

    /// Reads one word.
    fn word(&mut self) -> Result<(), Unclear> {
        let mut word = Word::default();
        while let Some(&(at, next)) = self.chars.peek() {
            let rest = &self.text[at..];
            match next {
                '\\' => {
                    self.chars.next();
                    match self.chars.next() {
                        Some((_, '\n')) => {}
                        Some((_, escaped)) => word.text.push(escaped),
                        None => return Err(Unclear::Open("an escape")),
                    }
                    word.is_quoted = true;
                }
                '\'' => {
                    self.chars.next();
                    word.is_quoted = true;
                    self.until_quote(&mut word)?;
                }
                '"' => {
                    self.chars.next();
                    word.is_quoted = true;
                    self.double_quoted(&mut word)?;
                }
                '$' | '`' => self.expansion(&mut word)?,
                '<' | '>' if rest[1..].starts_with('(') => {
                    self.skip(2);
                    word.is_expanded = true;
                    let command = self.until_bracket()?;
                    word.commands.push(command);
                }
                '*' | '?' | '[' | '~' | '{' if word_is_pattern(rest, &word) => {
                    word.is_expanded = true;
                    word.text.push(next);
                    self.chars.next();
                }
                _ if next.is_whitespace() || ";&|()<>".contains(next) => break,
                _ => {
                    word.text.push(next);
                    self.chars.next();
                }
            }
        }
        // The number of a file before an operator: `2>`.
        let is_number = !word.text.is_empty() && !word.is_quoted && word.text.bytes().all(|byte| byte.is_ascii_digit());
        if !(is_number && self.chars.peek().is_some_and(|(_, next)| matches!(next, '<' | '>'))) {
            self.tokens.push(Token::Word(word));
        }
        Ok(())
    }

    fn until_quote(&mut self, word: &mut Word) -> Result<(), Unclear> {
        for (_, next) in self.chars.by_ref() {
            if next == '\'' {
                return Ok(());
            }
            word.text.push(next);
        }
        Err(Unclear::Open("a quote"))
    }

    fn double_quoted(&mut self, word: &mut Word) -> Result<(), Unclear> {
        while let Some(&(_, next)) = self.chars.peek() {
            match next {
                '"' => {
                    self.chars.next();
                    return Ok(());
                }
                '\\' => {
                    self.chars.next();
                    match self.chars.next() {
                        Some((_, '\n')) => {}
                        Some((_, escaped @ ('$' | '`' | '"' | '\\'))) => word.text.push(escaped),
                        Some((_, other)) => word.text.extend(['\\', other]),
                        None => return Err(Unclear::Open("an escape")),
                    }
                }
                '$' | '`' => self.expansion(word)?,
                _ => {
                    word.text.push(next);
                    self.chars.next();
                }
            }
        }
        Err(Unclear::Open("a quote"))
    }

    /// Reads what begins with `$` or a backtick.
    fn expansion(&mut self, word: &mut Word) -> Result<(), Unclear> {
        let Some((at, first)) = self.chars.next() else { return Ok(()) };
        if first == '`' {
            word.is_expanded = true;
            let command = self.until_backtick()?;
            word.commands.push(command);
            return Ok(());
        }
        let rest = &self.text[at + 1..];
        match rest.chars().next() {
            Some('(') if rest.starts_with("((") => {
                word.is_expanded = true;
                self.skip(1);
                // A calculation, or else commands in brackets: some shells try both.
                let inner = self.until_bracket()?;
                word.commands.push(inner);
            }
            Some('(') => {
                word.is_expanded = true;
                self.skip(1);
                let command = self.until_bracket()?;
                word.commands.push(command);
            }
            Some('{') => {
                word.is_expanded = true;
                self.skip(1);
                let inner = self.until_brace()?;
                word.commands.extend(commands_in(&inner)?);
            }
            // Escapes of C, whose meaning is not looked at.
            Some('\'') => {
                word.is_expanded = true;
                self.skip(1);
                self.c_quoted()?;
            }
            Some(next) if next.is_alphanumeric() || "_@*#?-$!".contains(next) => {
                word.is_expanded = true;
                word.text.push('$');
            }
            _ => word.text.push('$'),
        }
        Ok(())
    }

    fn c_quoted(&mut self) -> Result<(), Unclear> {
        while let Some((_, next)) = self.chars.next() {
            match next {
                '\'' => return Ok(()),
                '\\' => {
                    self.chars.next();
                }
                _ => {}
            }
        }
        Err(Unclear::Open("a quote"))
    }

    fn until_backtick(&mut self) -> Result<String, Unclear> {
        let mut command = String::new();
        while let Some((_, next)) = self.chars.next() {
            match next {
                '`' => return Ok(command),
                '\\' => match self.chars.next() {
                    Some((_, escaped @ ('`' | '\\' | '$'))) => command.push(escaped),
                    Some((_, other)) => command.extend(['\\', other]),
                    None => return Err(Unclear::Open("an escape")),
                },
                other => command.push(other),
            }
        }
        Err(Unclear::Open("a backtick"))
    }

    /// Reads up to the bracket that closes the one that was read.
    fn until_bracket(&mut self) -> Result<String, Unclear> {
        self.until_closed('(', ')', "a bracket")
    }

    fn until_brace(&mut self) -> Result<String, Unclear> {
        self.until_closed('{', '}', "a brace")
    }

    fn until_closed(&mut self, open: char, close: char, what: &'static str) -> Result<String, Unclear> {
        let mut inner = String::new();
        let mut depth = 0_usize;
        let mut quote = None;
        while let Some((_, next)) = self.chars.next() {
            if next == '\\' && quote != Some('\'') {
                inner.push(next);
                inner.extend(self.chars.next().map(|(_, escaped)| escaped));
                continue;
            }
            match (quote, next) {
                (Some(end), next) if end == next => quote = None,
                (None, '\'' | '"' | '`') => quote = Some(next),
                (None, next) if next == open => depth += 1,
                (None, next) if next == close && depth == 0 => return Ok(inner),
                (None, next) if next == close => depth -= 1,
                _ => {}
            }
            inner.push(next);
        }
        Err(Unclear::Open(what))
    }

    /// Reads the word that ends a here-document.
    fn here_document(&mut self) -> Result<(), Unclear> {
        while self.chars.next_if(|(_, next)| matches!(next, ' ' | '\t')).is_some() {}
        let before = self.tokens.len();
        self.word()?;
        match self.tokens.get(before) {
            Some(Token::Word(end)) if !end.text.is_empty() => {
                self.documents.push((end.text.clone(), !end.is_quoted));
                Ok(())
            }
            _ => Err(Unclear::Open("a here-document")),
        }
    }

    /// Reads the here-documents of the line that has ended.
    fn bodies(&mut self) -> Result<(), Unclear> {
        for (end, is_expanded) in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            loop {
                if self.chars.peek().is_none() {
                    return Err(Unclear::Open("a here-document"));
                }
                let mut line = String::new();
                for (_, next) in self.chars.by_ref() {
                    if next == '\n' {
                        break;
                    }
                    line.push(next);
                }
                if line.trim_start_matches('\t') == end {
                    break;
                }
                body.push_str(&line);
                body.push('\n');
            }
            if is_expanded {
                let commands = commands_in(&body)?;
                let word = Word { is_expanded: true, commands, ..Word::default() };
                // A word of a command that does nothing.
                self.tokens.extend([Token::Word(Word::plain(":")), Token::Word(word), Token::Separator("\n")]);
            }
        }
        Ok(())
    }
}

/// Returns `true` if this character makes a pattern of the word, or a path of `~`.
fn word_is_pattern(rest: &str, word: &Word) -> bool {
    match rest.as_bytes().first() {
        Some(b'~') => word.text.is_empty() && !word.is_quoted,
        Some(b'[') => rest.contains(']') && rest.len() > 2 && !rest.starts_with("[ ") && !rest.starts_with("[["),
        Some(b'{') => {
            let inner = rest.split_once('}').map_or("", |(inner, _)| inner);
            inner.contains(',') || inner.contains("..")
        }
        _ => true,
    }
}

/// Returns the commands in a text in which the shell expands, such as one in double quotes.
fn commands_in(text: &str) -> Result<Vec<String>, Unclear> {
    let mut lexer = Lexer { text, chars: text.char_indices().peekable(), tokens: Vec::new(), documents: Vec::new() };
    let mut word = Word::default();
    while let Some(&(_, next)) = lexer.chars.peek() {
        match next {
            '\\' => lexer.skip(2),
            '$' | '`' => lexer.expansion(&mut word)?,
            _ => lexer.skip(1),
        }
    }
    Ok(word.commands)
}
