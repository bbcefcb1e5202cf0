//! The text of a command: words, quotes, expansions, operators, loops and the plainest
//! here-documents.
//!
//! This is what `bash` and `dash` read in the same way. Anything else is an error, which says what
//! to write instead.

use super::{Expansion, MAX_BYTES, MAX_DEPTH, Reading, Redirections, Unclear, Word, check_variable, is_variable};

/// Reads a text for a shell.
///
/// # Errors
/// [`Unclear`] if the text is not in the grammar. What was read before is in the reading.
pub(super) fn read(text: &str, depth: usize, reading: &mut Reading) -> Result<(), Unclear> {
    if depth > MAX_DEPTH {
        return Err(Unclear::is_deep());
    }
    if text.len() > MAX_BYTES {
        return Err(Unclear::new(format!("the command is longer than {MAX_BYTES} bytes; make several calls")));
    }
    // Only space, tab and newline separate words. What a person or another program takes for white
    // space is no such thing.
    let is_odd = |next: char| (next.is_control() || next.is_whitespace()) && !matches!(next, ' ' | '\t' | '\n');
    if let Some(odd) = text.chars().find(|next| is_odd(*next)) {
        let code = u32::from(odd);
        return Err(Unclear::new(format!(
            "the command has the character U+{code:04X}; write spaces and newlines only"
        )));
    }
    Reader { text, at: 0, depth, is_nested: false, document: None, reading }.list(false)
}

/// A here-document whose body begins with the next line.
struct Document {
    /// Where its operator is.
    at: usize,
    end: String,
    is_quoted: bool,
}

/// A command that is read.
#[derive(Default)]
struct Simple {
    words: Vec<Word>,
    redirections: Redirections,
    /// `true` if it began with an assignment.
    has_assignment: bool,
    /// `true` if it began with a redirection.
    has_redirection: bool,
    /// `true` after a loop, a condition or brackets, which no word may follow.
    is_compound: bool,
}

impl Simple {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && !self.has_assignment && !self.has_redirection && !self.is_compound
    }
}

struct Reader<'t, 'r> {
    text: &'t str,
    at: usize,
    depth: usize,
    /// `true` within `$(..)`, where shells look for the end in different ways.
    is_nested: bool,
    document: Option<Document>,
    reading: &'r mut Reading,
}

/// Operators that are not read, and what to write instead; longer ones first.
const NOT_READ: [(&str, &str); 10] = [
    (";;", "write `if` instead of `case`"),
    (";&", "write `if` instead of `case`"),
    ("&>", "write `> file 2>&1`"),
    ("|&", "write `2>&1 |`"),
    ("((", "leave the calculation out"),
    ("<<-", "write `<<'END'`"),
    ("<<(", "write `<<'END'`"),
    ("<&(", "write the number of an output"),
    (">>(", "write the name of a file"),
    (">&(", "write the name of a file"),
];

impl Reader<'_, '_> {
    fn peek(&self) -> Option<u8> {
        self.byte(0)
    }

    fn byte(&self, after: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + after).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        self.text.as_bytes()[self.at..].starts_with(text.as_bytes())
    }

    /// Reads a text that follows, if it does.
    fn skip(&mut self, text: &str) -> bool {
        let follows = self.starts_with(text);
        if follows {
            self.at += text.len();
        }
        follows
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    fn is_after_blank(&self) -> bool {
        self.at == 0 || matches!(self.text.as_bytes()[self.at - 1], b' ' | b'\t')
    }

    /// Reads commands up to the end, or to the bracket that closes them.
    fn list(&mut self, is_closed: bool) -> Result<(), Unclear> {
        let mut simple = Simple::default();
        loop {
            if let Some((operator, instead)) = NOT_READ.iter().find(|(operator, _)| self.starts_with(operator)) {
                return Err(Unclear::new(format!("the command has `{operator}`; {instead}")));
            }
            match self.peek() {
                None if is_closed => return Err(Unclear::is_open("a bracket")),
                None if self.document.is_some() => return Err(Unclear::is_open("a here-document")),
                None => return self.end(simple),
                Some(b' ' | b'\t') => self.at += 1,
                // The blank before it separates words already.
                Some(b'\\') if self.byte(1) == Some(b'\n') => {
                    if !self.is_after_blank() {
                        return Err(Unclear::new("a line goes on after an operator; put a space before the backslash"));
                    }
                    self.at += 2;
                }
                Some(b'#') => self.comment()?,
                Some(b'\n') => {
                    self.end(std::mem::take(&mut simple))?;
                    self.newline()?;
                }
                Some(b';') => {
                    self.at += 1;
                    self.end(std::mem::take(&mut simple))?;
                }
                Some(next @ (b'&' | b'|')) => {
                    self.at += if self.byte(1) == Some(next) { 2 } else { 1 };
                    self.end(std::mem::take(&mut simple))?;
                }
                Some(b'(') => {
                    if !simple.is_empty() {
                        return Err(Unclear::new("a bracket follows a word; leave functions and arrays out"));
                    }
                    self.at += 1;
                    self.reading.not_plain();
                    self.deeper(false)?;
                    simple.is_compound = true;
                }
                Some(b')') => {
                    if !is_closed || self.document.is_some() {
                        return Err(Unclear::new("a closing bracket is not expected"));
                    }
                    self.at += 1;
                    return self.end(simple);
                }
                Some(b'<' | b'>') if self.byte(1) != Some(b'(') => self.redirection(&mut simple)?,
                Some(b'0'..=b'9') if self.has_file_number()? => self.redirection(&mut simple)?,
                Some(_) => self.add_word(&mut simple)?,
            }
        }
    }

    /// Reads commands in brackets.
    fn deeper(&mut self, is_nested: bool) -> Result<(), Unclear> {
        if self.depth >= MAX_DEPTH {
            return Err(Unclear::is_deep());
        }
        let was_nested = self.is_nested;
        self.is_nested |= is_nested;
        self.depth += 1;
        self.list(true)?;
        self.depth -= 1;
        self.is_nested = was_nested;
        Ok(())
    }

    fn end(&mut self, simple: Simple) -> Result<(), Unclear> {
        if self.reading.parts.len() >= super::MAX_PARTS {
            return Err(Unclear::too_many());
        }
        self.reading.program(simple.words, simple.redirections, self.depth);
        Ok(())
    }

    fn comment(&mut self) -> Result<(), Unclear> {
        if self.is_nested {
            return Err(Unclear::new("a comment is within `$(..)`; leave it out"));
        }
        while self.peek().is_some_and(|next| next != b'\n') {
            self.at += 1;
        }
        Ok(())
    }

    /// Reads the end of a line, and the here-document that follows.
    fn newline(&mut self) -> Result<(), Unclear> {
        let line = self.at;
        self.at += 1;
        let Some(document) = self.document.take() else { return Ok(()) };
        if self.text[document.at..line].contains('\n') {
            return Err(Unclear::new("a line goes on after `<<`; begin the here-document at the end of a line"));
        }
        let body = &self.text[self.at..];
        let mut length = 0;
        for line in body.split_inclusive('\n') {
            if line.strip_suffix('\n').unwrap_or(line) == document.end {
                self.at += length + line.len();
                if !document.is_quoted && body[..length].contains(['$', '`', '\\']) {
                    return Err(Unclear::new("a here-document has expansions; quote its end, `<<'END'`"));
                }
                return Ok(());
            }
            length += line.len();
        }
        Err(Unclear::is_open("a here-document"))
    }

    /// Returns `true` if digits are the number of a file: `2>`.
    fn has_file_number(&self) -> Result<bool, Unclear> {
        let digits = self.text.as_bytes()[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !matches!(self.byte(digits), Some(b'<' | b'>')) {
            return Ok(false);
        }
        if digits > 1 || self.byte(digits + 1) == Some(b'(') {
            return Err(Unclear::new("a number is before a redirection; write a space between them"));
        }
        Ok(true)
    }

    fn redirection(&mut self, simple: &mut Simple) -> Result<(), Unclear> {
        let number = self.peek().filter(u8::is_ascii_digit);
        let start = self.at;
        self.at += usize::from(number.is_some());
        if let Some((operator, instead)) = NOT_READ.iter().find(|(operator, _)| self.starts_with(operator)) {
            return Err(Unclear::new(format!("the command has `{operator}`; {instead}")));
        }
        let operators = ["<<<", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">"];
        let operator = operators.into_iter().find(|operator| self.skip(operator)).unwrap_or_default();
        self.skip_blanks();
        if matches!(self.peek(), None | Some(b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'#'))
            || self.starts_with("\\\n")
        {
            return Err(Unclear::is_open("a redirection"));
        }
        if matches!(self.peek(), Some(b'<' | b'>')) && self.byte(1) != Some(b'(') {
            return Err(Unclear::is_open("a redirection"));
        }
        if simple.words.is_empty() && !simple.is_compound {
            simple.has_redirection = true;
        }
        let target_at = self.at;
        let target = self.word()?;
        let written = &self.text[target_at..self.at];
        match operator {
            "<<" => return self.document(start, written),
            "<&" | ">&" => {
                if !(written == "-" || (written.len() == 1 && written.as_bytes()[0].is_ascii_digit())) {
                    let what = format!("the command has `{operator}{written}`; write `> file 2>&1`");
                    return Err(Unclear::new(what));
                }
                return Ok(());
            }
            "<<<" => self.reading.not_plain(),
            "<" => {
                if target.expansion.is_some() {
                    self.reading.not_plain();
                }
                if target.text.starts_with("/dev/tcp/") || target.text.starts_with("/dev/udp/") {
                    return Err(Unclear::new("a redirection opens a connection; use a program for it"));
                }
            }
            _ if target.text == "/dev/null" => {}
            _ => simple.redirections.writes.push(target.text.clone()),
        }
        simple.redirections.targets.push(target);
        Ok(())
    }

    fn document(&mut self, at: usize, written: &str) -> Result<(), Unclear> {
        let within = |quote| written.strip_prefix(quote)?.strip_suffix(quote);
        let quoted = within('\'').or_else(|| within('"'));
        let end = quoted.unwrap_or(written);
        let is_name = !end.is_empty() && end.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
        if !is_name || self.is_nested || self.document.is_some() {
            return Err(Unclear::new("a here-document is not of the plainest form: one in a line, `<<'END'`"));
        }
        self.document = Some(Document { at, end: end.to_owned(), is_quoted: quoted.is_some() });
        Ok(())
    }

    fn add_word(&mut self, simple: &mut Simple) -> Result<(), Unclear> {
        let word = self.word()?;
        if !simple.words.is_empty() {
            simple.words.push(word);
            return Ok(());
        }
        let is_reserved =
            !word.is_quoted && word.expansion.is_none() && !simple.has_assignment && !simple.has_redirection;
        match &*word.text {
            "if" | "then" | "elif" | "else" | "while" | "until" | "do" | "{" | "!" if is_reserved => {
                self.reading.not_plain();
                simple.is_compound = false;
                return Ok(());
            }
            "fi" | "done" | "}" if is_reserved => {
                self.reading.not_plain();
                simple.is_compound = true;
                return Ok(());
            }
            "for" if is_reserved && !simple.is_compound => return self.for_words(),
            _ if is_not_read(&word) => {
                return Err(Unclear::new(format!("the command has `{}`; write simple commands", word.text)));
            }
            _ => {}
        }
        if simple.is_compound || simple.has_redirection {
            return Err(Unclear::new("a program follows a redirection or a bracket; write the program first"));
        }
        if word.is_assignment {
            self.reading.not_plain();
            simple.has_assignment = true;
            let name = word.text.split('=').next().unwrap_or_default();
            return check_variable(name).or_else(|why| {
                self.reading.unclear(why);
                Ok(())
            });
        }
        if !word.is_quoted && word.text.contains("+=") {
            return Err(Unclear::new("an assignment has `+=`; write `=`"));
        }
        simple.words.push(word);
        Ok(())
    }

    /// Reads the words of `for x in a b`.
    fn for_words(&mut self) -> Result<(), Unclear> {
        let wrong = || Unclear::new("a loop is not of the form `for x in a b; do`");
        self.reading.not_plain();
        self.skip_blanks();
        let variable = self.next_word()?.ok_or_else(wrong)?;
        if variable.is_quoted || !is_variable(&variable.text) {
            return Err(wrong());
        }
        check_variable(&variable.text)?;
        self.skip_blanks();
        let word = self.next_word()?.ok_or_else(wrong)?;
        if word != Word::plain("in") {
            return Err(wrong());
        }
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b';' | b'\n') => return Ok(()),
                _ => self.next_word()?.ok_or_else(wrong)?,
            };
        }
    }

    /// Reads a word, if one follows.
    fn next_word(&mut self) -> Result<Option<Word>, Unclear> {
        let ends = matches!(self.peek(), None | Some(b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'#' | b'<' | b'>'));
        if ends || self.starts_with("\\\n") { Ok(None) } else { self.word().map(Some) }
    }

    /// Reads one word; there is at least one character of it.
    fn word(&mut self) -> Result<Word, Unclear> {
        let mut word = Word::default();
        let start = self.at;
        let mut before = b' ';
        while let Some(next) = self.peek() {
            match next {
                b'<' | b'>' if self.byte(1) == Some(b'(') => {
                    if self.at != start {
                        return Err(Unclear::new("`<(` is within a word; write a space before it"));
                    }
                    word.expand(Expansion::One);
                    self.at += 2;
                    self.deeper(true)?;
                    word.text.push_str(&self.text[start..self.at]);
                }
                b'<' | b'>' if before == b'}' => {
                    return Err(Unclear::new("a redirection follows `}`; write a space before it"));
                }
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                b'\\' => self.escape(&mut word)?,
                b'\'' => {
                    self.at += 1;
                    word.is_quoted = true;
                    let length = self.text[self.at..].find('\'').ok_or_else(|| Unclear::is_open("a quote"))?;
                    word.text.push_str(&self.text[self.at..self.at + length]);
                    self.at += length + 1;
                }
                b'"' => {
                    self.at += 1;
                    word.is_quoted = true;
                    self.double_quoted(&mut word)?;
                }
                b'$' | b'`' => self.expansion(&mut word, false)?,
                _ if !next.is_ascii() => {
                    return Err(Unclear::new("a word has letters that are not ASCII; put it in quotes"));
                }
                _ => {
                    self.note(&mut word, next, before);
                    word.text.push(char::from(next));
                    self.at += 1;
                }
            }
            before = self.text.as_bytes()[self.at - 1];
        }
        // Only bash expands braces.
        let has_list = word.text.contains(',') || word.text.contains("..");
        if word.expansion.is_none() && self.text[start..self.at].contains('{') && has_list {
            word.expansion = Some(Expansion::Many);
        }
        if word.expansion.is_some() {
            self.reading.not_plain();
        }
        Ok(word)
    }

    /// Notes what a character that is not quoted makes of its word.
    fn note(&self, word: &mut Word, next: u8, before: u8) {
        match next {
            b'[' if word.text.is_empty() && matches!(self.byte(1), None | Some(b' ' | b'\t')) => {}
            b'*' | b'?' | b'[' => word.expand(Expansion::Files),
            b'~' if matches!(before, b' ' | b'=' | b':') => word.expand(Expansion::One),
            b'=' if !word.is_quoted && word.expansion.is_none() && is_variable(&word.text) => word.is_assignment = true,
            _ => {}
        }
    }

    fn escape(&mut self, word: &mut Word) -> Result<(), Unclear> {
        word.is_quoted = true;
        match self.byte(1) {
            None => return Err(Unclear::is_open("an escape")),
            // `2\` and `>` on the next line are `2>`.
            Some(b'\n') if matches!(self.byte(2), Some(b'<' | b'>')) => {
                return Err(Unclear::new("a line goes on before a redirection; put a space before the backslash"));
            }
            Some(b'\n') => {}
            Some(next) if next.is_ascii() => word.text.push(char::from(next)),
            Some(_) => return Err(Unclear::new("a word has letters that are not ASCII; put it in quotes")),
        }
        self.at += 2;
        Ok(())
    }

    fn double_quoted(&mut self, word: &mut Word) -> Result<(), Unclear> {
        while let Some(next) = self.text[self.at..].chars().next() {
            match next {
                '"' => {
                    self.at += 1;
                    return Ok(());
                }
                '\\' => match self.byte(1) {
                    None => break,
                    Some(b'\n') => self.at += 2,
                    Some(next @ (b'$' | b'`' | b'"' | b'\\')) => {
                        word.text.push(char::from(next));
                        self.at += 2;
                    }
                    Some(_) => {
                        word.text.push('\\');
                        self.at += 1;
                    }
                },
                '$' | '`' => self.expansion(word, true)?,
                _ => {
                    word.text.push(next);
                    self.at += next.len_utf8();
                }
            }
        }
        Err(Unclear::is_open("a quote"))
    }

    /// Reads what begins with `$` or a backtick.
    fn expansion(&mut self, word: &mut Word, is_quoted: bool) -> Result<(), Unclear> {
        let start = self.at;
        let expansion = if is_quoted { Expansion::One } else { Expansion::Many };
        let is_name = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
        match (self.peek(), self.byte(1)) {
            (Some(b'`'), _) => {
                let rest = &self.text[start + 1..];
                let length = rest.find('`').ok_or_else(|| Unclear::is_open("a backtick"))?;
                let command = &rest[..length];
                if command.contains(['\\', '#']) || command.contains("<<") || (is_quoted && command.contains('"')) {
                    return Err(Unclear::new("the command in backticks is not simple; write `$(..)`"));
                }
                read(command, self.depth + 1, self.reading)?;
                self.at += length + 2;
            }
            (_, Some(b'(')) if self.byte(2) == Some(b'(') => {
                return Err(Unclear::new("the command calculates, `$((..))`; write the number"));
            }
            (_, Some(b'(')) => {
                self.at += 2;
                self.deeper(true)?;
            }
            (_, Some(b'{')) => {
                let length = braces(&self.text[start + 2..]).ok_or_else(|| {
                    Unclear::new("the command has `${..}` with an operator; write `$NAME` or `${NAME}`")
                })?;
                self.at += length + 3;
            }
            (_, Some(byte)) if byte == b'_' || byte.is_ascii_alphabetic() => {
                self.at += 2;
                while self.peek().is_some_and(is_name) {
                    self.at += 1;
                }
            }
            (_, Some(b'@' | b'*')) => {
                self.at += 2;
                word.expand(Expansion::Many);
            }
            (_, Some(b'#' | b'?' | b'$' | b'!' | b'-' | b'0'..=b'9')) => self.at += 2,
            (_, Some(b'[' | b'\\')) => return Err(Unclear::new("`$` is before `[` or a backslash; quote it, `'$'`")),
            (_, Some(b'\'' | b'"')) if !is_quoted => {
                return Err(Unclear::new("the command has `$'..'` or `$\"..\"`; write plain quotes"));
            }
            _ => {
                word.text.push('$');
                self.at += 1;
                return Ok(());
            }
        }
        word.expand(expansion);
        word.text.push_str(&self.text[start..self.at]);
        Ok(())
    }
}

/// Returns `true` for a reserved word of a construct that is not read.
fn is_not_read(word: &Word) -> bool {
    let words = ["for", "case", "esac", "function", "select", "coproc", "[[", "]]", "in"];
    !word.is_quoted && words.contains(&&*word.text)
}

/// Returns the length of what is in `${..}`: a name, with a plain default or end or without.
fn braces(text: &str) -> Option<usize> {
    let length = text.find('}')?;
    let inner = text[..length].strip_prefix('#').unwrap_or(&text[..length]);
    let name = inner.bytes().take_while(|byte| *byte == b'_' || byte.is_ascii_alphanumeric()).count();
    let rest = &inner[name..];
    let operators = [":-", ":+", "-", "+", "%%", "%", "##", "#"];
    let value = operators.iter().find_map(|operator| rest.strip_prefix(operator)).unwrap_or(rest);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./*-".contains(&byte);
    let is_read = name > 0 && value.bytes().all(is_plain) && (value.len() < rest.len() || rest.is_empty());
    is_read.then_some(length)
}
