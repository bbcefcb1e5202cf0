//! The commands in a call's arguments: which programs a shell would run, with which arguments.
//!
//! | file | what is in it |
//! |---|---|
//! | here | the parts of a command, and what is not clear about it |
//! | `words.rs` | quotes, expansions, operators |
//! | `wrappers.rs` | programs that run another: `sudo`, `env`, `sh -c`, .. |
//!
//! # Design
//! **What is not understood is never allowed by a rule.** A shell can hide any program from a
//! reader of its text. So each part has a *clarity*: a plain part may be allowed by a rule; one
//! with an assignment, an expansion, a redirection to a file or a change of user may not, but is
//! no more suspicious than a part without a rule; an unclear one needs a person at least.
//!
//! This is a policy for models that mean well and err, and a hint for people. It is no sandbox.

mod words;
mod wrappers;

use serde_json::{Map, Value};

use self::words::{Token, Word, split};

/// Most bytes of a command that is understood.
const MAX_BYTES: usize = 50_000;

/// Most parts of a command that are looked at.
const MAX_PARTS: usize = 500;

/// How deep commands may be nested in others.
const MAX_DEPTH: usize = 8;

/// Members of arguments that are commands.
const MEMBERS: [&str; 4] = ["command", "cmd", "script", "commands"];

/// What is not clear about a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unclear {
    /// It ends before this is closed.
    Open(&'static str),
    TooLong,
    TooDeep,
    /// The program is known only when the command runs.
    Program,
    /// A shell runs what it reads from a file or a pipe.
    Input,
    /// A function or a `case`.
    Construct,
}

impl Unclear {
    /// Returns why the command is not clear.
    pub(super) fn reason(self) -> String {
        match self {
            Self::Open(what) => format!("the command ends within {what}"),
            Self::TooLong => format!("the command is longer than {MAX_BYTES} bytes or {MAX_PARTS} parts"),
            Self::TooDeep => format!("commands are nested deeper than {MAX_DEPTH}"),
            Self::Program => "the program is known only when the command runs".to_owned(),
            Self::Input => "a shell runs what it reads from its input".to_owned(),
            Self::Construct => "the command defines a function or has a `case`".to_owned(),
        }
    }
}

/// How well a part is understood; later ones are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clarity {
    /// Program and arguments are what they seem to be.
    Plain,
    /// No rule may allow it.
    NotPlain,
    Unclear(Unclear),
}

/// A program that a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The program without its directory; empty if it is not known.
    pub(super) program: String,
    /// Its arguments.
    pub(super) arguments: Vec<String>,
    pub(super) clarity: Clarity,
    /// `true` if the program runs the part that follows: `sudo`.
    pub(super) is_wrapper: bool,
    /// The files to which it writes by a redirection.
    pub(super) writes: Vec<String>,
}

impl Part {
    /// Returns program and arguments, joined by spaces.
    pub(super) fn text(&self) -> String {
        let mut text = self.program.clone();
        for argument in &self.arguments {
            text.push(' ');
            text.push_str(argument);
        }
        text
    }

    fn unclear(why: Unclear) -> Self {
        Self {
            program: String::new(),
            arguments: Vec::new(),
            clarity: Clarity::Unclear(why),
            is_wrapper: false,
            writes: Vec::new(),
        }
    }
}

/// A command as it was written, and its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) text: String,
    pub(super) parts: Vec<Part>,
}

/// Returns the commands in the arguments of a call: the members `command`, `cmd`, `script` and
/// `commands`, each a text for a shell, a list of texts (`commands`), or a program with its
/// arguments (any other list).
pub(super) fn commands(arguments: &Map<String, Value>) -> Vec<Command> {
    let mut found = Vec::new();
    for member in MEMBERS {
        match arguments.get(member) {
            Some(Value::String(text)) => found.push(of_text(text)),
            Some(Value::Array(texts)) if member == "commands" => {
                found.extend(texts.iter().filter_map(Value::as_str).map(of_text));
            }
            Some(Value::Array(words)) => {
                let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                found.push(of_words(&words));
            }
            _ => {}
        }
    }
    found
}

fn of_text(text: &str) -> Command {
    let mut reading = Reading::default();
    reading.text(text, 0);
    Command { text: text.to_owned(), parts: reading.parts }
}

fn of_words(words: &[&str]) -> Command {
    let mut reading = Reading::default();
    let text = words.join(" ");
    if text.len() > MAX_BYTES {
        reading.add(Part::unclear(Unclear::TooLong));
    } else {
        reading.simple(words.iter().map(|word| Word::plain(*word)).collect(), Vec::new(), 0);
    }
    Command { text, parts: reading.parts }
}

/// The parts that were found so far.
#[derive(Default)]
struct Reading {
    parts: Vec<Part>,
}

/// Reserved words after which a command begins.
const BEFORE_A_COMMAND: [&str; 10] = ["if", "then", "elif", "else", "while", "until", "do", "{", "!", "coproc"];

/// Reserved words that end a construct.
const ENDS: [&str; 4] = ["fi", "done", "esac", "}"];

/// What may separate commands in a text whose structure is not understood.
const BREAKS: [char; 13] = [';', '&', '|', '\n', '(', ')', '`', '$', '{', '}', '"', '\'', '<'];

impl Reading {
    fn add(&mut self, part: Part) {
        match self.parts.len() {
            MAX_PARTS.. => {}
            at if at + 1 == MAX_PARTS => self.parts.push(Part::unclear(Unclear::TooLong)),
            _ => self.parts.push(part),
        }
    }

    /// Reads a text for a shell.
    fn text(&mut self, text: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return self.add(Part::unclear(Unclear::TooDeep));
        }
        if text.len() > MAX_BYTES {
            return self.add(Part::unclear(Unclear::TooLong));
        }
        let tokens = match split(text) {
            Ok(tokens) => tokens,
            Err(why) => {
                // What can be told of it by its words, for rules that deny.
                for piece in text.split(BREAKS) {
                    self.simple(piece.split_whitespace().map(Word::plain).collect(), Vec::new(), MAX_DEPTH);
                }
                return self.add(Part::unclear(why));
            }
        };
        let (mut words, mut writes) = (Vec::new(), Vec::new());
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                Token::Word(word) => {
                    let next_opens = matches!(tokens.peek(), Some(Token::Separator("(")));
                    if words.is_empty() && !word.is_quoted && !word.is_expanded {
                        match &*word.text {
                            text if BEFORE_A_COMMAND.contains(&text) || ENDS.contains(&text) => continue,
                            "for" | "select" => {
                                // Up to `do`, there are words and no command.
                                while let Some(Token::Word(_)) = tokens.peek() {
                                    if let Some(Token::Word(word)) = tokens.next() {
                                        self.within(&word, depth);
                                    }
                                }
                                continue;
                            }
                            "case" | "function" => {
                                self.add(Part::unclear(Unclear::Construct));
                                continue;
                            }
                            _ => {}
                        }
                    }
                    if next_opens && words.is_empty() {
                        self.add(Part::unclear(Unclear::Construct));
                    }
                    words.push(word);
                }
                Token::Separator(_) => self.simple(std::mem::take(&mut words), std::mem::take(&mut writes), depth),
                Token::Redirect(operator) => {
                    let target = tokens.next_if(|next| matches!(next, Token::Word(_)));
                    let Some(Token::Word(target)) = target else {
                        self.add(Part::unclear(Unclear::Open("a redirection")));
                        continue;
                    };
                    self.within(&target, depth);
                    let is_file = match operator {
                        ">&" | "<&" => target.text.parse::<u32>().is_err() && target.text != "-",
                        "<" | "<<" | "<<-" | "<<<" => false,
                        _ => true,
                    };
                    if is_file && target.text != "/dev/null" {
                        writes.push(target.text);
                    }
                }
            }
        }
        self.simple(words, writes, depth);
    }

    /// Reads the commands within a word.
    fn within(&mut self, word: &Word, depth: usize) {
        for command in &word.commands {
            self.text(command, depth + 1);
        }
    }

    /// Reads a program with its arguments, and the programs that it runs in turn.
    fn simple(&mut self, words: Vec<Word>, writes: Vec<String>, depth: usize) {
        for word in &words {
            self.within(word, depth);
        }
        let assignments = words.iter().take_while(|word| is_assignment(word)).count();
        let words = &words[assignments..];
        if words.is_empty() {
            if !writes.is_empty() {
                let part = Part { clarity: Clarity::NotPlain, writes, ..Part::unclear(Unclear::Program) };
                self.add(part);
            }
            return;
        }
        let is_plain = assignments == 0 && writes.is_empty();
        self.peeled(words, if is_plain { Clarity::Plain } else { Clarity::NotPlain }, writes, depth);
    }

    /// Adds a program, and the one that it runs, if it runs another.
    fn peeled(&mut self, words: &[Word], outer: Clarity, writes: Vec<String>, depth: usize) {
        let Some((first, rest)) = words.split_first() else { return };
        if depth > MAX_DEPTH {
            return self.add(Part::unclear(Unclear::TooDeep));
        }
        let clarity = match outer {
            _ if first.is_expanded => Clarity::Unclear(Unclear::Program),
            Clarity::Plain if words.iter().any(|word| word.is_expanded) => Clarity::NotPlain,
            outer => outer,
        };
        let program = if first.is_expanded { String::new() } else { basename(&first.text).to_owned() };
        let inner = if first.is_expanded { wrappers::Inner::None } else { wrappers::inner(&program, rest) };
        let arguments = rest.iter().map(|word| word.text.clone()).collect();
        let is_wrapper = !matches!(inner, wrappers::Inner::None | wrappers::Inner::Unclear(_));
        let clarity = match inner {
            wrappers::Inner::Unclear(why) => Clarity::Unclear(why),
            _ => clarity,
        };
        self.add(Part { program, arguments, clarity, is_wrapper, writes });
        match inner {
            wrappers::Inner::None | wrappers::Inner::Unclear(_) => {}
            wrappers::Inner::Words { words, is_plain } => {
                let outer = if is_plain { outer } else { Clarity::NotPlain };
                self.peeled(words, outer, Vec::new(), depth + 1);
            }
            wrappers::Inner::Text { text, is_plain } => {
                let before = self.parts.len();
                self.text(&text, depth + 1);
                if !is_plain || outer != Clarity::Plain {
                    for part in &mut self.parts[before..] {
                        if part.clarity == Clarity::Plain {
                            part.clarity = Clarity::NotPlain;
                        }
                    }
                }
            }
            wrappers::Inner::Several(commands) => {
                for words in commands {
                    self.peeled(&words, Clarity::NotPlain, Vec::new(), depth + 1);
                }
            }
        }
    }
}

/// Returns the program without its directory.
fn basename(program: &str) -> &str {
    program.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(program)
}

/// Returns `true` for a word such as `A=1`.
fn is_assignment(word: &Word) -> bool {
    let Some((name, _)) = word.text.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    name.bytes()
        .enumerate()
        .all(|(at, byte)| byte == b'_' || byte.is_ascii_alphabetic() || (at > 0 && byte.is_ascii_digit()))
        && !name.is_empty()
}
