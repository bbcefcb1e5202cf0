//! Programs that run another one, and where the other one is in their arguments.

use super::{Unclear, is_assignment, words::Word};

/// What a program runs.
pub(super) enum Inner<'w> {
    /// Nothing that is in its arguments.
    None,
    /// A program with its arguments.
    Words { words: &'w [Word], is_plain: bool },
    /// A text for a shell.
    Text { text: String, is_plain: bool },
    /// Several programs.
    Several(Vec<Vec<Word>>),
    /// Something that cannot be told.
    Unclear(Unclear),
}

/// A program that runs the words after its own options.
struct Wrapper {
    name: &'static str,
    /// Options with a value in the next word.
    valued: &'static [&'static str],
    /// Words between the options and the program.
    positional: usize,
    /// `true` if what runs is what it would be without the program: same user, same arguments.
    is_plain: bool,
}

const fn wrapper(name: &'static str, valued: &'static [&'static str], positional: usize, is_plain: bool) -> Wrapper {
    Wrapper { name, valued, positional, is_plain }
}

const WRAPPERS: [Wrapper; 19] = [
    wrapper(
        "sudo",
        &["-u", "--user", "-g", "--group", "-h", "--host", "-p", "--prompt", "-C", "-r", "-t", "-T", "-U", "-D", "-R"],
        0,
        false,
    ),
    wrapper("doas", &["-u", "-C"], 0, false),
    wrapper("env", &["-u", "--unset", "-C", "--chdir"], 0, false),
    wrapper("nice", &["-n", "--adjustment"], 0, true),
    wrapper("ionice", &["-c", "-n", "-p"], 0, true),
    wrapper("nohup", &[], 0, true),
    wrapper("timeout", &["-s", "--signal", "-k", "--kill-after"], 1, true),
    wrapper("time", &["-f", "--format", "-o", "--output"], 0, true),
    wrapper("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"], 0, true),
    wrapper("setsid", &[], 0, true),
    wrapper("chroot", &["--userspec", "--groups"], 1, false),
    wrapper("command", &[], 0, true),
    wrapper("builtin", &[], 0, true),
    wrapper("exec", &["-a"], 0, true),
    wrapper("busybox", &[], 0, true),
    wrapper("caffeinate", &["-t", "-w"], 0, true),
    wrapper("unshare", &[], 0, false),
    wrapper("nsenter", &["-t", "--target"], 0, false),
    wrapper(
        "xargs",
        &["-I", "-n", "-P", "-d", "-a", "-E", "-L", "-s", "--max-args", "--max-procs", "--delimiter", "--arg-file"],
        0,
        false,
    ),
];

const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];

/// Options of `find` after which a command follows.
const FIND_RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// Returns what the program runs.
pub(super) fn inner<'w>(program: &str, arguments: &'w [Word]) -> Inner<'w> {
    if SHELLS.contains(&program) {
        return shell(arguments);
    }
    match program {
        "eval" => return joined(arguments, true),
        "watch" => {
            let at = options(arguments, &["-n", "--interval"]).0;
            return joined(&arguments[at..], false);
        }
        "su" | "runuser" => return after_option(arguments, &["-c", "--command"]),
        "find" => return find(arguments),
        "parallel" => return Inner::Unclear(Unclear::Input),
        // Reserved words where a shell does not expect them.
        "{" | "!" | "if" | "then" | "else" | "elif" | "while" | "until" | "do" if !arguments.is_empty() => {
            return Inner::Words { words: arguments, is_plain: false };
        }
        _ => {}
    }
    let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == program) else { return Inner::None };
    if program == "env"
        && let Some(at) = arguments.iter().position(|word| matches!(&*word.text, "-S" | "--split-string"))
    {
        return joined(&arguments[at + 1..], false);
    }
    let (mut at, known) = options(arguments, wrapper.valued);
    let assignments = arguments[at..].iter().take_while(|word| is_assignment(word)).count();
    at += assignments;
    at += wrapper.positional;
    match arguments.get(at..) {
        None | Some([]) => Inner::None,
        Some(words) => Inner::Words { words, is_plain: wrapper.is_plain && known && assignments == 0 },
    }
}

/// Returns the number of words that are options, and whether each of them is known.
fn options(arguments: &[Word], valued: &[&str]) -> (usize, bool) {
    let (mut at, mut known) = (0, true);
    while let Some(word) = arguments.get(at) {
        let text = &*word.text;
        if text == "--" {
            return (at + 1, known);
        }
        if !text.starts_with('-') || text == "-" {
            break;
        }
        let long = text.starts_with("--");
        known &= !word.is_expanded && (!long || text.contains('=') || valued.contains(&text));
        // Of several short options in a word, the last may have a value: `-nu root`.
        let last = text.char_indices().last().map_or("", |(start, _)| &text[start..]);
        let takes_value = valued.contains(&text)
            || (!long
                && text.len() > 2
                && valued.iter().any(|option| option.len() == 2 && option.ends_with(last))
                && {
                    // `-uroot` has its value already, so which one it is cannot be told.
                    known = false;
                    !valued.contains(&text.get(..2).unwrap_or_default())
                });
        at += if takes_value { 2 } else { 1 };
    }
    (at.min(arguments.len()), known)
}

/// Returns the text that a shell runs: `sh -c ..`.
fn shell(arguments: &[Word]) -> Inner<'_> {
    let mut at = 0;
    let mut has_text = false;
    while let Some(word) = arguments.get(at) {
        let text = &*word.text;
        if word.is_expanded {
            return Inner::Unclear(Unclear::Program);
        }
        if !(text.starts_with('-') || text.starts_with('+')) || text.len() < 2 {
            break;
        }
        if text == "--" {
            at += 1;
            break;
        }
        if text.starts_with("--") {
            if matches!(text, "--rcfile" | "--init-file") {
                return Inner::Unclear(Unclear::Input);
            }
        } else {
            has_text |= text.contains('c');
            if text.ends_with('o') || text.ends_with('O') {
                at += 1;
            }
        }
        at += 1;
    }
    match arguments.get(at) {
        Some(word) if has_text && word.is_expanded => Inner::Unclear(Unclear::Program),
        Some(word) if has_text => Inner::Text { text: word.text.clone(), is_plain: true },
        // A script.
        Some(word) if word.text != "-" => Inner::None,
        _ if arguments.iter().any(|word| matches!(&*word.text, "--version" | "--help")) => Inner::None,
        _ => Inner::Unclear(Unclear::Input),
    }
}

fn joined(arguments: &[Word], is_plain: bool) -> Inner<'_> {
    if arguments.iter().any(|word| word.is_expanded) {
        return Inner::Unclear(Unclear::Program);
    }
    let text = arguments.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" ");
    if text.is_empty() { Inner::None } else { Inner::Text { text, is_plain } }
}

fn after_option<'w>(arguments: &'w [Word], options: &[&str]) -> Inner<'w> {
    let text = arguments.iter().enumerate().find_map(|(at, word)| {
        let text = &*word.text;
        if options.contains(&text) {
            return Some(arguments.get(at + 1).cloned().unwrap_or_default());
        }
        let value = text.strip_prefix("--command=").or_else(|| text.strip_prefix("-c"))?;
        Some(Word { text: value.to_owned(), ..word.clone() })
    });
    match text {
        Some(word) if word.is_expanded => Inner::Unclear(Unclear::Program),
        Some(word) => Inner::Text { text: word.text, is_plain: false },
        None => Inner::Unclear(Unclear::Input),
    }
}

fn find(arguments: &[Word]) -> Inner<'_> {
    let mut commands = Vec::new();
    let mut rest = arguments;
    while let Some(at) = rest.iter().position(|word| FIND_RUNS.contains(&&*word.text)) {
        let after = &rest[at + 1..];
        let end = after.iter().position(|word| matches!(&*word.text, ";" | "+")).unwrap_or(after.len());
        commands.push(after[..end].to_vec());
        rest = &after[end..];
    }
    if commands.is_empty() { Inner::None } else { Inner::Several(commands) }
}
