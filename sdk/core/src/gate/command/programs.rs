//! Programs that run another one, and where the other one is in their arguments.

use super::{Expansion, Unclear, Word, check_variable, is_variable, join};

/// What a program runs.
#[derive(Default)]
pub(super) struct Runs {
    /// Programs with their arguments.
    pub(super) programs: Vec<Vec<Word>>,
    /// Texts for a shell.
    pub(super) texts: Vec<String>,
    /// Texts in another language, which may name programs.
    pub(super) hidden: Vec<String>,
    /// `true` if what runs is what it would be without the program: same user, same arguments.
    pub(super) is_plain: bool,
}

impl Runs {
    /// Returns `true` if nothing runs that is in the arguments.
    pub(super) fn is_empty(&self) -> bool {
        self.programs.is_empty() && self.texts.is_empty()
    }

    fn program(words: Vec<Word>, is_plain: bool) -> Self {
        Self { programs: vec![words], is_plain, ..Self::default() }
    }

    fn text(text: String, is_plain: bool) -> Self {
        Self { texts: vec![text], is_plain, ..Self::default() }
    }
}

/// A program that runs the words after its own options.
struct Wrapper {
    name: &'static str,
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options with a value.
    valued: &'static [&'static str],
    /// Words between the options and the program.
    positional: usize,
    /// `true` if what runs is what it would be without the program.
    is_plain: bool,
}

const fn wrapper(
    name: &'static str,
    flags: &'static [&'static str],
    valued: &'static [&'static str],
    positional: usize,
    is_plain: bool,
) -> Wrapper {
    Wrapper { name, flags, valued, positional, is_plain }
}

/// Wrappers. An option that is not here, such as one that writes a file, makes the command unclear.
const WRAPPERS: [Wrapper; 21] = [
    wrapper(
        "sudo",
        &["-n", "-E", "-H", "-k", "-b", "-A", "-P", "-S", "--non-interactive", "--preserve-env", "--set-home"],
        &["-u", "--user", "-g", "--group", "-p", "--prompt", "-C", "-T"],
        0,
        false,
    ),
    wrapper("doas", &["-n"], &["-u"], 0, false),
    wrapper("env", &["-i", "-", "-0", "--ignore-environment"], &["-u", "--unset", "-C", "--chdir"], 0, false),
    wrapper("nice", &[], &["-n", "--adjustment"], 0, true),
    wrapper("ionice", &["-t"], &["-c", "-n", "--class", "--classdata"], 0, true),
    wrapper("nohup", &[], &[], 0, true),
    wrapper(
        "timeout",
        &["-v", "--foreground", "--preserve-status"],
        &["-s", "--signal", "-k", "--kill-after"],
        1,
        true,
    ),
    wrapper("time", &["-p"], &[], 0, true),
    wrapper("stdbuf", &[], &["-i", "-o", "-e", "--input", "--output", "--error"], 0, true),
    wrapper("setsid", &["-c", "-f", "-w", "--fork", "--wait"], &[], 0, true),
    wrapper("chroot", &[], &["--userspec", "--groups"], 1, false),
    wrapper("command", &["-p"], &[], 0, true),
    wrapper("builtin", &[], &[], 0, true),
    wrapper("exec", &[], &[], 0, true),
    wrapper("busybox", &[], &[], 0, false),
    wrapper("toybox", &[], &[], 0, false),
    wrapper("caffeinate", &["-d", "-i", "-m", "-s"], &["-t", "-w"], 0, true),
    wrapper("chrt", &["-b", "-f", "-i", "-o", "-r"], &[], 1, false),
    wrapper("taskset", &["-c"], &[], 1, false),
    wrapper("unshare", &["-r", "-n", "-m", "-p", "-f", "-u", "-i"], &[], 0, false),
    wrapper(
        "xargs",
        &["-0", "-r", "-t", "-x", "--null", "--no-run-if-empty", "--verbose"],
        &["-n", "-P", "-d", "-a", "-E", "-L", "-s", "-I", "--max-args", "--max-procs", "--delimiter", "--arg-file"],
        0,
        false,
    ),
];

/// Shells that read the grammar.
const SHELLS: [&str; 4] = ["sh", "bash", "dash", "ash"];

/// Options of `find` after which a program follows.
const FIND_RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// Options of `find` that write a file.
const FIND_WRITES: [&str; 4] = ["-fprint", "-fprint0", "-fprintf", "-fls"];

/// Programs that run what is not read, and builtins that change what later words mean.
const NOT_READ: [&str; 44] = [
    ".",
    "source",
    "alias",
    "unalias",
    "enable",
    "hash",
    "shopt",
    "bind",
    "complete",
    "compgen",
    "compopt",
    "declare",
    "typeset",
    "local",
    "let",
    "mapfile",
    "readarray",
    "fc",
    "history",
    "getopts",
    "watch",
    "su",
    "runuser",
    "sg",
    "parallel",
    "flock",
    "script",
    "ssh",
    "at",
    "batch",
    "entr",
    "strace",
    "ltrace",
    "nsenter",
    "pkexec",
    "setpriv",
    "systemd-run",
    "start-stop-daemon",
    "zsh",
    "fish",
    "ksh",
    "csh",
    "tcsh",
    "mksh",
];

/// Reserved words, which a shell does not expect after a program.
const RESERVED: [&str; 21] = [
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "case", "esac", "{", "}", "!",
    "function", "select", "coproc", "[[", "]]", "in",
];

/// Settings of git that run no program.
const SAFE_GIT: [&str; 9] = ["user.", "color.", "advice.", "init.", "commit.", "pull.", "push.", "http.", "safe."];

/// Returns what the program runs.
///
/// # Errors
/// [`Unclear`] if that cannot be told.
pub(super) fn runs(program: &str, arguments: &[Word]) -> Result<Runs, Unclear> {
    if SHELLS.contains(&program) {
        return shell(program, arguments);
    }
    if NOT_READ.contains(&program) || program.starts_with("ld-linux") {
        return Err(Unclear::new(format!("`{program}` runs or changes what is not read; run the program itself")));
    }
    let is_option = |wanted: &str| arguments.first().is_some_and(|word| word.text.starts_with(wanted));
    let is_fixed = arguments.iter().all(|word| word.expansion.is_none());
    match program {
        _ if RESERVED.contains(&program) => Err(Unclear::new(format!("`{program}` is where a program should be"))),
        "eval" if is_fixed && arguments.is_empty() => Ok(Runs::default()),
        "eval" if is_fixed && !is_option("-") => Ok(Runs::text(texts(arguments), true)),
        "trap" if arguments.is_empty() || is_option("-l") || is_option("-p") => Ok(Runs::default()),
        "trap" if is_fixed && !is_option("-") => Ok(Runs::text(arguments[0].text.clone(), false)),
        "eval" | "trap" => Err(Unclear::is_run_time()),
        "command" if is_option("-v") || is_option("-V") => Ok(Runs::default()),
        "find" => find(arguments),
        "git" => git(arguments),
        "set" => set(arguments),
        "read" | "unset" | "export" | "readonly" => variables(program, arguments),
        "printf" if is_option("-v") || arguments.first().is_some_and(|word| word.expansion.is_some()) => {
            Err(Unclear::new("`printf` may set a variable; begin with its format in quotes"))
        }
        "test" | "[" => test(arguments),
        "jobs" | "wait" if !arguments.is_empty() && !arguments.iter().all(|word| is_number(&word.text)) => {
            Err(Unclear::new(format!("`{program}` has arguments; leave them out")))
        }
        "exec" if arguments.is_empty() => Err(Unclear::new("`exec` has no program; leave it out")),
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == program) {
            Some(wrapper) => wrapped(wrapper, arguments),
            None => Ok(Runs { hidden: code(program, arguments), ..Runs::default() }),
        },
    }
}

/// Returns what a wrapper runs.
fn wrapped(wrapper: &Wrapper, arguments: &[Word]) -> Result<Runs, Unclear> {
    let (mut at, replaced) = options(wrapper, arguments)?;
    let mut is_plain = wrapper.is_plain;
    while let Some(word) = arguments.get(at).filter(|word| word.expansion.is_none() && word.text.contains('=')) {
        let name = word.text.split('=').next().unwrap_or_default();
        if !matches!(wrapper.name, "env" | "sudo" | "doas") || !is_variable(name) {
            return Err(Unclear::new(format!("`{}` has an assignment; use `env`", wrapper.name)));
        }
        check_variable(name)?;
        is_plain = false;
        at += 1;
    }
    for _ in 0..wrapper.positional {
        if arguments.get(at).is_some_and(|word| word.expansion.is_some()) {
            return Err(Unclear::is_run_time());
        }
        at += 1;
    }
    let Some(words @ [first, ..]) = arguments.get(at..) else { return Ok(Runs::default()) };
    if first.text.starts_with('-') && first.expansion.is_none() {
        return Err(Unclear::new(format!("`{}` has options in an order that is not read", wrapper.name)));
    }
    let mut words = words.to_vec();
    if let Some(replaced) = replaced {
        replace(&mut words, &replaced);
    } else if wrapper.name == "xargs" {
        words.push(Word::unknown("", Expansion::Many));
    }
    Ok(Runs::program(words, is_plain))
}

/// Returns the number of words that are options, and the text that `xargs -I` replaces.
fn options(wrapper: &Wrapper, arguments: &[Word]) -> Result<(usize, Option<String>), Unclear> {
    let not_known =
        |option: &str| Unclear::new(format!("`{} {option}` is not read; leave the option out", wrapper.name));
    let mut at = 0;
    let mut replaced = None;
    while let Some(word) = arguments.get(at) {
        let text = &*word.text;
        if word.expansion.is_some() && (word.known_start().is_empty() || text.starts_with('-')) {
            return Err(Unclear::is_run_time());
        }
        if text == "--" {
            return Ok((at + 1, replaced));
        }
        if !text.starts_with('-') {
            break;
        }
        at += 1;
        if wrapper.flags.contains(&text) {
            continue;
        }
        if wrapper.valued.contains(&text) {
            let value = arguments.get(at).ok_or_else(|| not_known(text))?;
            if value.expansion == Some(Expansion::Many) || value.expansion == Some(Expansion::Files) {
                return Err(Unclear::is_run_time());
            }
            if text == "-I" {
                replaced = Some(value.text.clone());
            }
            at += 1;
            continue;
        }
        if let Some((name, _)) = text.split_once('=').filter(|_| text.starts_with("--")) {
            if !wrapper.valued.contains(&name) {
                return Err(not_known(text));
            }
            continue;
        }
        // A letter with its value: `-n10`.
        let letter = text.get(..2).filter(|letter| *letter != "--" && wrapper.valued.contains(letter));
        let letter = letter.ok_or_else(|| not_known(text))?;
        if letter == "-I" {
            replaced = Some(text[2..].to_owned());
        }
    }
    Ok((at, replaced))
}

/// Puts an unknown word where a program replaces a text by a file name or a line.
fn replace(words: &mut [Word], replaced: &str) {
    for word in words.iter_mut().filter(|word| word.text.contains(replaced)) {
        *word = Word::unknown(word.text.clone(), Expansion::One);
    }
}

/// Returns the text that a shell runs: `sh -c ..`.
fn shell(program: &str, arguments: &[Word]) -> Result<Runs, Unclear> {
    let mut has_text = false;
    let mut is_plain = true;
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        if word.expansion.is_some() {
            return Err(Unclear::is_run_time());
        }
        at += 1;
        match &*word.text {
            "--norc" | "--noprofile" | "--login" => {}
            "--version" | "--help" => return Ok(Runs::default()),
            "--" if has_text => return Err(Unclear::new(format!("`{program} -c` is before `--`; leave `--` out"))),
            "--" => break,
            text if !text.starts_with(['-', '+']) => {
                at -= 1;
                break;
            }
            "-o" if matches!(arguments.get(at).map(|word| &*word.text), Some("pipefail" | "errexit" | "nounset")) => {
                at += 1;
            }
            text => {
                // `-` ends the options.
                let letters = text.strip_prefix('-').filter(|letters| !letters.is_empty()).unwrap_or("?");
                if letters.chars().any(|letter| !"ceulx".contains(letter)) {
                    let what = format!("`{program}` has an option that is not read, `{text}`; leave it out");
                    return Err(Unclear::new(what));
                }
                is_plain &= !letters.contains('x');
                has_text |= letters.contains('c');
            }
        }
    }
    match arguments.get(at) {
        Some(word) if word.expansion.is_some() => Err(Unclear::is_run_time()),
        Some(word) if has_text => Ok(Runs::text(word.text.clone(), is_plain)),
        // A script.
        Some(_) => Ok(Runs::default()),
        _ => Err(Unclear::new(format!("`{program}` runs what it reads from its input; write the commands themselves"))),
    }
}

fn texts(words: &[Word]) -> String {
    words.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" ")
}

/// Reads the programs that `find` runs.
fn find(arguments: &[Word]) -> Result<Runs, Unclear> {
    if let Some(option) = arguments.iter().find(|word| FIND_WRITES.contains(&&*word.text)) {
        return Err(Unclear::new(format!("`find {}` writes a file; use a redirection", option.text)));
    }
    let mut programs = Vec::new();
    let mut rest = arguments;
    while let Some(at) = rest.iter().position(|word| FIND_RUNS.contains(&&*word.text)) {
        let after = &rest[at + 1..];
        let end = after.iter().position(|word| matches!(&*word.text, ";" | "+")).unwrap_or(after.len());
        let mut words = after[..end].to_vec();
        replace(&mut words, "{}");
        programs.push(words);
        rest = &after[end..];
    }
    let has_many = arguments.iter().any(|word| word.expansion == Some(Expansion::Many));
    if has_many && !programs.is_empty() {
        return Err(Unclear::is_run_time());
    }
    Ok(Runs { programs, ..Runs::default() })
}

/// Checks the settings of a call of git: some of them are programs.
fn git(arguments: &[Word]) -> Result<Runs, Unclear> {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let is_safe = match &*word.text {
            "-c" => {
                rest.next().is_some_and(|value| SAFE_GIT.iter().any(|start| value.known_start().starts_with(start)))
            }
            "-C" | "--git-dir" | "--work-tree" | "--namespace" => rest.next().is_some(),
            text if text.starts_with("--config-env") || text.starts_with("--exec-path=") => false,
            text if text.starts_with('-') => !text.starts_with("-c"),
            _ => break,
        };
        if !is_safe {
            let what = format!("`git {}` may run a program; leave the setting out", word.text);
            return Err(Unclear::new(what));
        }
    }
    Ok(Runs::default())
}

/// Checks what `set` changes.
fn set(arguments: &[Word]) -> Result<Runs, Unclear> {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let is_safe = match word.text.strip_prefix(['-', '+']) {
            _ if word.expansion.is_some() => false,
            Some("-") => return Ok(Runs::default()),
            Some(letters) => {
                let name = if letters.ends_with('o') { rest.next().map_or("", |word| &*word.text) } else { "pipefail" };
                let is_name = ["pipefail", "errexit", "nounset", "xtrace"].contains(&name);
                is_name
                    && letters.chars().all(|letter| "euxo".contains(letter))
                    && !letters.trim_end_matches('o').contains('o')
            }
            None => false,
        };
        if !is_safe {
            return Err(Unclear::new(
                "`set` has an option that is not read; use `-e`, `-u`, `-x` and `-o pipefail` only",
            ));
        }
    }
    Ok(Runs::default())
}

/// Checks the variables that a builtin sets.
fn variables(program: &str, arguments: &[Word]) -> Result<Runs, Unclear> {
    for word in arguments.iter().filter(|word| !(word.text.starts_with('-') && word.expansion.is_none())) {
        let name = word.text.split('=').next().unwrap_or_default();
        let is_known = word.expansion.is_none() || word.known_start().contains('=');
        if !is_known || !is_variable(name) {
            return Err(Unclear::new(format!("`{program}` has an argument that is no plain name of a variable")));
        }
        check_variable(name)?;
    }
    Ok(Runs::default())
}

/// Checks that a test reads no variable by its name: `-v` runs what is in the brackets of `x[..]`.
fn test(arguments: &[Word]) -> Result<Runs, Unclear> {
    const BETWEEN: [&str; 11] = ["=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot"];
    let is_known = |at: usize, is_wanted: &dyn Fn(&str) -> bool| {
        arguments.get(at).is_some_and(|word| word.expansion.is_none() && is_wanted(&word.text))
    };
    for (at, word) in arguments.iter().enumerate() {
        let is_safe = match word.expansion {
            None => !matches!(&*word.text, "-v" | "-R"),
            // It may be an operator, unless one is beside it.
            Some(Expansion::One) => {
                is_known(at + 1, &|next| BETWEEN.contains(&next))
                    || (at > 0 && is_known(at - 1, &|before| before.starts_with('-') || BETWEEN.contains(&before)))
            }
            Some(Expansion::Many | Expansion::Files) => false,
        };
        if !is_safe {
            return Err(Unclear::new("a test has `-v`, or an expansion without an operator or double quotes"));
        }
    }
    Ok(Runs::default())
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the texts of an interpreter, such as `python -c ..`: no text for a shell, but it may name
/// programs.
fn code(program: &str, arguments: &[Word]) -> Vec<String> {
    let interpreters = ["python", "perl", "ruby", "node", "php", "lua", "awk", "gawk", "mawk", "osascript", "Rscript"];
    if interpreters.iter().any(|name| program.starts_with(name)) { vec![join(arguments)] } else { Vec::new() }
}
