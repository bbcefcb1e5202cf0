//! The commands in a call's arguments: which programs a shell would start, with which arguments.
//!
//! | file | what is in it |
//! |---|---|
//! | here | a command, its parts and its words |
//! | `members.rs` | the members of arguments that are commands |
//! | `grammar.rs` | the text of a command: words, quotes, operators |
//! | `programs.rs` | programs that run another: `sudo`, `env`, `sh -c`, .. |
//! | `guesses.rs` | what a text that is not understood may run |
//!
//! # Design
//! **The grammar lists what is read, and everything else is unclear.** Shells have more corners
//! than a reader has rules, and `bash` and `dash` read some of them differently. So a command is
//! *plain* if it has only words, quotes, `&&`, `||`, `;`, `|`, `&`, and redirections from a file,
//! to `/dev/null` and between outputs. It is *not plain* if all programs are known, but not what
//! they do: it has an expansion, an assignment, a loop or a redirection to a file. Anything else is
//! *unclear*. Rules allow plain commands only.
//!
//! **Both shells start no program that is not a part.** `tests/shells.rs` checks this with
//! generated commands, for commands that are not unclear.
//!
//! **A guess only denies.** Words of an unclear command that may be programs are compared with the
//! rules that deny or ask, so that the reason is the rule itself.
//!
//! This is a policy for models that mean well and err, and a hint for people. It is no sandbox.

mod grammar;
mod guesses;
mod members;
mod programs;

pub(super) use self::members::commands;

/// Most bytes of a command that is understood.
const MAX_BYTES: usize = 50_000;

/// Most parts of a command that are looked at.
const MAX_PARTS: usize = 500;

/// How deep commands may be nested in others.
const MAX_DEPTH: usize = 8;

/// Directories whose programs are the same as those without a directory.
const SYSTEM_DIRECTORIES: [&str; 4] = ["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/"];

/// What is not clear about a command, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unclear(String);

impl Unclear {
    fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    fn is_open(what: &str) -> Self {
        Self(format!("the command ends within {what}"))
    }

    fn too_many() -> Self {
        Self(format!("the command has more than {MAX_PARTS} parts; make several calls"))
    }

    fn is_deep() -> Self {
        Self(format!("commands are nested deeper than {MAX_DEPTH}; make several calls"))
    }

    /// The program is known only when the command runs.
    fn is_run_time() -> Self {
        Self::new("a program is known only when the command runs; write its name")
    }

    /// Returns why the command is not clear.
    pub(super) fn reason(&self) -> &str {
        &self.0
    }
}

/// How well a command is understood; later ones are worse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Clarity {
    /// Programs and arguments are what they seem to be.
    #[default]
    Plain,
    /// The programs are known, but no rule may allow them.
    NotPlain,
    Unclear(Unclear),
}

/// What a word has besides its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expansion {
    /// The shell makes one word of it.
    One,
    /// The shell makes any number of words of it: `$X`.
    Many,
    /// The shell makes file names of it that begin like the word: `src/*.rs`.
    Files,
}

/// A word, without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The text; an expansion is as it was written.
    pub(super) text: String,
    /// What makes of the word a value that is not known here.
    pub(super) expansion: Option<Expansion>,
    /// The bytes of the text before the first expansion.
    known: usize,
    /// `true` if a part of the word is quoted or escaped: it is no reserved word.
    is_quoted: bool,
    /// `true` for a word such as `A=1`, whose name is not quoted.
    is_assignment: bool,
}

impl Word {
    /// Creates a word whose value is known.
    fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Creates a word that stands for one or more others, such as `{}` of `find`.
    fn unknown(text: impl Into<String>, expansion: Expansion) -> Self {
        Self { text: text.into(), expansion: Some(expansion), ..Self::default() }
    }

    /// Notes an expansion at the end of what was read.
    fn expand(&mut self, expansion: Expansion) {
        match self.expansion {
            None => {
                self.known = self.text.len();
                self.expansion = Some(expansion);
            }
            Some(Expansion::Many) => {}
            Some(Expansion::Files) if expansion == Expansion::One => {}
            Some(_) => self.expansion = Some(expansion),
        }
    }

    /// Returns how the word begins, whatever its expansions are.
    pub(super) fn known_start(&self) -> &str {
        if self.expansion.is_some() { &self.text[..self.known] } else { &self.text }
    }
}

/// A program that a command starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// The program as it is written; empty for a redirection without a program.
    pub(super) program: String,
    pub(super) arguments: Vec<Word>,
    /// `true` if the program starts the part that follows as it is: `timeout`.
    pub(super) is_wrapper: bool,
    /// The files to which it writes by a redirection.
    pub(super) writes: Vec<String>,
    /// All files and texts of its redirections.
    pub(super) targets: Vec<Word>,
}

impl Part {
    /// Returns the program without its directory.
    pub(super) fn name(&self) -> &str {
        basename(&self.program)
    }

    /// Returns the name of a program that `PATH` or the system has; a file such as `./ls` has none.
    pub(super) fn system_name(&self) -> Option<&str> {
        let mut directories = SYSTEM_DIRECTORIES.iter();
        let name = directories.find_map(|directory| self.program.strip_prefix(directory)).unwrap_or(&self.program);
        (!name.contains('/')).then_some(name)
    }

    /// Returns a form of the program and its arguments, joined by spaces.
    pub(super) fn text(&self, program: &str) -> String {
        let mut text = program.to_owned();
        for argument in &self.arguments {
            text.push(' ');
            text.push_str(&argument.text);
        }
        text
    }

    /// Returns `true` if some arguments are known only when the command runs.
    pub(super) fn has_expansions(&self) -> bool {
        self.arguments.iter().chain(&self.targets).any(|word| word.expansion.is_some())
    }
}

/// A command as it was written, and what is known about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) text: String,
    /// All programs that are started, if the command is not unclear.
    pub(super) parts: Vec<Part>,
    pub(super) clarity: Clarity,
    /// Programs that may be started besides.
    pub(super) guesses: Vec<Part>,
}

impl Command {
    /// Reads a text for a shell.
    fn from_text(text: &str) -> Self {
        let mut reading = Reading::default();
        reading.text(text, 0);
        reading.finish(text.to_owned())
    }

    /// Reads a program with its arguments, which no shell expands.
    fn from_words(words: &[&str]) -> Self {
        let mut reading = Reading::default();
        let text = words.join(" ");
        if text.len() > MAX_BYTES {
            reading.unclear(Unclear::new(format!("the command is longer than {MAX_BYTES} bytes")));
            reading.guess(&text);
        } else {
            reading.program(words.iter().map(|word| Word::plain(*word)).collect(), Redirections::default(), 0);
        }
        reading.finish(text)
    }
}

/// The redirections of a part.
#[derive(Default)]
struct Redirections {
    writes: Vec<String>,
    targets: Vec<Word>,
}

/// What was read so far.
#[derive(Default)]
struct Reading {
    parts: Vec<Part>,
    clarity: Clarity,
    /// Texts that may have programs which are not read.
    hidden: Vec<String>,
}

impl Reading {
    fn finish(self, text: String) -> Command {
        let Self { parts, clarity, hidden } = self;
        Command { text, parts, clarity, guesses: guesses::guess(&hidden) }
    }

    /// Notes that no rule may allow the command.
    fn not_plain(&mut self) {
        if self.clarity == Clarity::Plain {
            self.clarity = Clarity::NotPlain;
        }
    }

    /// Notes that the command is unclear; the first reason counts.
    fn unclear(&mut self, why: Unclear) {
        if !matches!(self.clarity, Clarity::Unclear(_)) {
            self.clarity = Clarity::Unclear(why);
        }
    }

    /// Notes a text that may have programs which are not read.
    fn guess(&mut self, text: impl Into<String>) {
        if self.hidden.len() < MAX_PARTS {
            self.hidden.push(text.into());
        }
    }

    /// Reads a text for a shell.
    fn text(&mut self, text: &str, depth: usize) {
        if let Err(why) = grammar::read(text, depth, self) {
            self.unclear(why);
            self.guess(text);
        }
    }

    fn add(&mut self, part: Part) {
        if self.parts.len() < MAX_PARTS {
            self.parts.push(part);
        } else {
            self.unclear(Unclear::too_many());
        }
    }

    /// Reads a program with its arguments, and the programs that it runs in turn.
    fn program(&mut self, words: Vec<Word>, redirections: Redirections, depth: usize) {
        let Redirections { writes, targets } = redirections;
        if !writes.is_empty() {
            self.not_plain();
        }
        let Some((first, arguments)) = words.split_first() else {
            if !targets.is_empty() {
                self.not_plain();
                self.add(Part { writes, targets, ..Part::default() });
            }
            return;
        };
        if depth > MAX_DEPTH {
            self.guess(join(&words));
            return self.unclear(Unclear::is_deep());
        }
        if first.expansion.is_some() || first.text.is_empty() {
            self.guess(join(&words));
            self.add(Part { writes, targets, ..Part::default() });
            return self.unclear(Unclear::is_run_time());
        }
        if words.iter().any(|word| word.expansion.is_some()) || !has_usual_name(&first.text) {
            self.not_plain();
        }
        let at = self.parts.len();
        let part =
            Part { program: first.text.clone(), arguments: arguments.to_vec(), is_wrapper: false, writes, targets };
        let (name, is_of_system) = (part.name().to_owned(), part.system_name().is_some());
        self.add(part);
        match programs::runs(&name, arguments) {
            Ok(runs) => {
                let is_plain = runs.is_plain;
                if !is_plain && !runs.is_empty() {
                    self.not_plain();
                }
                for words in runs.programs {
                    self.program(words, Redirections::default(), depth + 1);
                }
                for text in runs.texts {
                    self.text(&text, depth + 1);
                }
                for text in runs.hidden {
                    self.guess(text);
                }
                let starts_another = self.parts.len() > at + 1;
                if let Some(part) = self.parts.get_mut(at) {
                    part.is_wrapper = is_plain && is_of_system && starts_another;
                }
            }
            Err(why) => {
                self.unclear(why);
                for at in 0..arguments.len().min(MAX_PARTS / 10) {
                    self.guess(join(&arguments[at..]));
                }
            }
        }
    }
}

fn join(words: &[Word]) -> String {
    let mut texts = words.iter().map(|word| &*word.text);
    let first = texts.next().unwrap_or_default().to_owned();
    texts.take(MAX_PARTS).fold(first, |text, word| text + " " + word)
}

/// Returns the program without its directory.
fn basename(program: &str) -> &str {
    program.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(program)
}

/// Returns `true` if a program has only characters that no pattern takes for something else, such
/// as a space.
fn has_usual_name(program: &str) -> bool {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"_./+@:-[".contains(&byte);
    program.bytes().all(is_usual)
}

/// Returns `true` for a name of a variable.
fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte == b'_' || byte.is_ascii_alphabetic())
        && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

/// Checks that a variable does not decide what programs are or do.
///
/// # Errors
/// [`Unclear`] with the name of the variable.
fn check_variable(name: &str) -> Result<(), Unclear> {
    const STARTS: [&str; 6] = ["BASH", "LD_", "DYLD_", "GIT_", "PERL5", "PYTHON"];
    const ENDS: [&str; 6] = ["_COMMAND", "PAGER", "EDITOR", "SHELL", "_RSH", "ASKPASS"];
    const NAMES: [&str; 11] =
        ["PATH", "ENV", "IFS", "PS4", "SHELLOPTS", "VISUAL", "NODE_OPTIONS", "RUBYOPT", "LESSOPEN", "FPATH", "CDPATH"];
    let decides = STARTS.iter().any(|start| name.starts_with(start))
        || ENDS.iter().any(|end| name.ends_with(end))
        || NAMES.contains(&name);
    if decides {
        return Err(Unclear::new(format!("the variable {name} decides what programs run; leave it as it is")));
    }
    Ok(())
}
