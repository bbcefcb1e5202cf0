//! Rules about calls, as data.

use regex_lite::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::command::{Command, Expansion, Part, Word};

/// Most rules of a gate.
const MAX_RULES: usize = 1_000;

/// Most bytes of a pattern, and of each other string of a rule.
const MAX_TEXT_BYTES: usize = 2_000;

/// Most bytes of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// The decision of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RuleDecision {
    /// The call needs no judge. Where each call is approved, this one is as well.
    Allow,
    /// A person decides; in the mode `Autonomous` the call is made.
    RequireApproval,
    /// The call is never made.
    Deny,
    /// A decision that this build does not know: the rule is not used.
    #[serde(other)]
    Unknown,
}

/// A rule about calls of tools, and about the commands in their arguments.
///
/// JSON: `{"id": "no-force", "decision": "deny", "reason": "history is shared", "program": "git",
/// "args_prefix": ["push"], "contains_any": ["--force*", "-f", "--mirror", "+*"]}`. Members that
/// are absent match everything; unknown members are ignored. A rule needs one of `program`,
/// `pattern`, `args_prefix`, `contains_args`, `contains_any`, `tools` and `places`.
///
/// # Design
/// **A rule that allows is read narrowly, any other widely.** What is not sure is not allowed. If a
/// rule that denies may match, because an argument is known only when the command runs or because
/// the command is unclear, the call is denied in the mode `Autonomous`, and a person decides in the
/// others.
///
/// # Source
/// The command policy of the personal agent whose device tools this library can run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Rule {
    /// Name of the rule, for events and logs.
    pub id: String,
    /// The decision.
    pub decision: RuleDecision,
    /// The reason, for the model and for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The program of a command. A rule that allows matches it without a directory, or in `/bin`,
    /// `/usr/bin`, `/sbin` and `/usr/sbin`, but not `./ls`; a program with a `/` matches exactly
    /// that path. Any other rule matches the last name of the path, in any directory and case.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// A regular expression that is found in a part of a command, its words without quotes and
    /// joined by spaces; for a call without a command, in its arguments as compact JSON. With it,
    /// `program` does not count. The pattern of a rule that does not allow is also found in the
    /// whole command as it is written, and in the files of redirections.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pattern: String,
    /// The first arguments of the program. A rule that does not allow finds them also after options
    /// and their values: `git -C dir push`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args_prefix: Vec<String>,
    /// Arguments that the program has, all of them, at any place. `--depth` is also `--depth=1`,
    /// and `-f` is also in `-xf`. A rule that does not allow finds `--force` also in `--forc`,
    /// which some programs take for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains_args: Vec<String>,
    /// The program has at least one of these arguments, at any place. Each is as in `contains_args`,
    /// and one that ends in `*` stands for all with that prefix: `+*`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains_any: Vec<String>,
    /// Names of tools; one that ends in `*` stands for all with that prefix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Names of MCP servers and of toolsets; absent = anywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
}

impl Rule {
    /// Creates a rule that matches nothing yet; see the fields.
    pub fn new(id: impl Into<String>, decision: RuleDecision) -> Self {
        Self {
            id: id.into(),
            decision,
            reason: String::new(),
            program: String::new(),
            pattern: String::new(),
            args_prefix: Vec::new(),
            contains_args: Vec::new(),
            contains_any: Vec::new(),
            tools: Vec::new(),
            places: Vec::new(),
        }
    }

    fn strings(&self) -> impl Iterator<Item = &String> {
        let Self { id, decision: _, reason, program, pattern, args_prefix, contains_args, contains_any, tools, places } =
            self;
        let lists = [args_prefix, contains_args, contains_any, tools, places];
        [id, reason, program, pattern].into_iter().chain(lists.into_iter().flatten())
    }

    /// Returns `true` if the rule is about commands and not about whole tools.
    fn is_of_commands(&self) -> bool {
        let lists = [&self.args_prefix, &self.contains_args, &self.contains_any];
        !self.program.is_empty() || lists.iter().any(|list| !list.is_empty())
    }

    fn allows(&self) -> bool {
        self.decision == RuleDecision::Allow
    }

    /// Returns whether the rule is about a part; `command` is the text of the command, if the part
    /// is all of it.
    fn on_part(&self, regex: Option<&Regex>, part: &Part, command: Option<&str>) -> Match {
        let by_program = match regex {
            Some(regex) => self.by_pattern(regex, part, command),
            None => Match::sure(self.program.is_empty() || self.is_program(part)),
        };
        if by_program == Match::No {
            return Match::No;
        }
        let has = |wanted: &str, end: &str| {
            let found = part.arguments.iter().map(|argument| self.contains(argument, wanted, end));
            found.max().unwrap_or(Match::No)
        };
        let all = self.contains_args.iter().map(|wanted| has(wanted, "")).min().unwrap_or(Match::Yes);
        let any = self.contains_any.iter().map(|wanted| match wanted.strip_suffix('*') {
            Some(start) => has(start, "*"),
            None => has(wanted, ""),
        });
        let any = if self.contains_any.is_empty() { Match::Yes } else { any.max().unwrap_or(Match::No) };
        by_program.min(self.by_prefix(&part.arguments)).min(all).min(any)
    }

    fn is_program(&self, part: &Part) -> bool {
        match (self.allows(), self.program.contains('/')) {
            (true, true) => part.program == self.program,
            (true, false) => part.system_name() == Some(&*self.program),
            // Some file systems have no case.
            (false, _) => {
                let name = self.program.rsplit('/').next().unwrap_or_default();
                part.name().eq_ignore_ascii_case(name)
            }
        }
    }

    fn by_pattern(&self, regex: &Regex, part: &Part, command: Option<&str>) -> Match {
        if self.allows() {
            let program = part.system_name().unwrap_or(&part.program);
            return Match::sure(regex.is_match(&part.text(program)));
        }
        let is_match =
            |text: &str| regex.is_match(text) || (text.contains(['\n', '\t']) && regex.is_match(&spaced(text)));
        let with_targets = || part.targets.iter().fold(part.text(part.name()), |text, file| text + " " + &file.text);
        if is_match(&part.text(part.name()))
            || is_match(&part.text(&part.program))
            || (!part.targets.is_empty() && is_match(&with_targets()))
            || command.is_some_and(is_match)
        {
            return Match::Yes;
        }
        if part.has_expansions() { Match::Maybe } else { Match::No }
    }

    fn by_prefix(&self, arguments: &[Word]) -> Match {
        if self.args_prefix.is_empty() {
            return Match::Yes;
        }
        if self.allows() {
            let is_first = |(at, wanted): (usize, &String)| {
                arguments.get(at).is_some_and(|argument| argument.expansion.is_none() && argument.text == *wanted)
            };
            return Match::sure(self.args_prefix.iter().enumerate().all(is_first));
        }
        // After an option, there may be its value.
        let mut best = Match::No;
        let mut last = 0;
        let mut surest = Match::Yes;
        for (at, argument) in arguments.iter().enumerate() {
            if at > last {
                break;
            }
            best = best.max(self.begins(&arguments[at..]).min(surest));
            if argument.expansion.is_some() {
                (last, surest) = (last.max(at + 1), Match::Maybe);
                if argument.expansion != Some(Expansion::One) {
                    return best.max(Match::Maybe);
                }
            } else if argument.text.starts_with('-') {
                last = last.max(at + 2);
            }
        }
        best
    }

    /// Returns whether the first arguments are the first of the rule.
    fn begins(&self, arguments: &[Word]) -> Match {
        let mut found = Match::Yes;
        for (at, wanted) in self.args_prefix.iter().enumerate() {
            let Some(argument) = arguments.get(at) else { return Match::No };
            found = found.min(match argument.expansion {
                None => Match::sure(argument.text == *wanted),
                // It may be several words.
                Some(Expansion::Many | Expansion::Files) => return found.min(Match::Maybe),
                Some(Expansion::One) => Match::maybe(may_be(argument.known_start(), wanted, "")),
            });
            if found == Match::No {
                break;
            }
        }
        found
    }

    /// Returns whether an argument is this one.
    fn contains(&self, argument: &Word, wanted: &str, end: &str) -> Match {
        let is_short = || !self.allows() && is_shortened(&argument.text, wanted);
        match argument.expansion {
            None => Match::sure(is_argument(&argument.text, wanted, end) || is_short()),
            _ if self.allows() => Match::No,
            Some(Expansion::Many) => Match::Maybe,
            Some(Expansion::One | Expansion::Files) => Match::maybe(may_be(argument.known_start(), wanted, end)),
        }
    }
}

/// Whether a rule is about a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    No,
    /// Known only when the command runs.
    Maybe,
    Yes,
}

impl Match {
    fn sure(is_match: bool) -> Self {
        if is_match { Self::Yes } else { Self::No }
    }

    fn maybe(may_match: bool) -> Self {
        if may_match { Self::Maybe } else { Self::No }
    }
}

/// What the rules say about a part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ruling<'r> {
    /// The first rule that matches.
    pub(super) rule: Option<&'r Rule>,
    /// A rule before it that may match, and denies or asks.
    pub(super) possible: Option<&'r Rule>,
}

/// A rule that is not used, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rule {id:?} is not used: {reason}")]
#[non_exhaustive]
pub struct UnusedRule {
    /// Name of the rule.
    pub id: String,
    /// The reason, with what to do.
    pub reason: String,
}

/// Rules in their order; the first one that matches decides.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    rules: Vec<(Rule, Option<Regex>)>,
}

impl Rules {
    /// Reads rules; also returns those that are not used.
    pub(super) fn of(rules: impl IntoIterator<Item = Rule>) -> (Self, Vec<UnusedRule>) {
        let (mut used, mut unused) = (Vec::new(), Vec::new());
        for rule in rules {
            match compiled(&rule, used.len()) {
                Ok(regex) => used.push((rule, regex)),
                Err(reason) => unused.push(UnusedRule { id: rule.id.chars().take(100).collect(), reason }),
            }
        }
        (Self { rules: used }, unused)
    }

    /// Returns the number of rules that are used.
    pub(super) fn len(&self) -> usize {
        self.rules.len()
    }

    /// Returns the rules that are used, as JSON.
    pub(super) fn to_json(&self) -> Vec<Value> {
        self.rules.iter().map(|(rule, _)| json!(rule)).collect()
    }

    /// Returns what the rules say about a part of a command; `command` is its text, if the part is
    /// all of it.
    pub(super) fn on_part(&self, tool: &str, place: &str, part: &Part, command: Option<&str>) -> Ruling<'_> {
        let mut ruling = Ruling::default();
        for (rule, regex) in self.about(tool, place) {
            match rule.on_part(regex, part, command) {
                Match::Yes => {
                    ruling.rule = Some(rule);
                    break;
                }
                // A rule that denies counts more than one that asks.
                Match::Maybe if rule.decision == RuleDecision::Deny => {
                    let denies = |rule: &&Rule| rule.decision == RuleDecision::Deny;
                    ruling.possible = ruling.possible.filter(denies).or(Some(rule));
                }
                Match::Maybe if !rule.allows() => ruling.possible = ruling.possible.or(Some(rule)),
                Match::Maybe | Match::No => {}
            }
        }
        ruling
    }

    /// Returns the first rule that forbids or questions a command by its text as it was written.
    pub(super) fn on_text(&self, tool: &str, place: &str, command: &Command) -> Option<&Rule> {
        let spaced = spaced(&command.text);
        let is_match = |regex: &Regex| regex.is_match(&command.text) || regex.is_match(&spaced);
        let mut rules = self.about(tool, place);
        rules.find(|(rule, regex)| !rule.allows() && regex.is_some_and(is_match)).map(|(rule, _)| rule)
    }

    /// Returns the first rule that denies some commands of a tool.
    pub(super) fn denying(&self, tool: &str, place: &str) -> Option<&Rule> {
        self.about(tool, place).map(|(rule, _)| rule).find(|rule| rule.decision == RuleDecision::Deny)
    }

    /// Returns the rule about a call without a command.
    pub(super) fn on_call(&self, tool: &str, place: &str, arguments: &str) -> Option<&Rule> {
        let is_match = |regex: &Regex| regex.is_match(arguments);
        let mut rules = self.about(tool, place);
        rules.find(|(rule, regex)| !rule.is_of_commands() && regex.is_none_or(is_match)).map(|(rule, _)| rule)
    }

    /// Returns the rules about a tool.
    fn about(&self, tool: &str, place: &str) -> impl Iterator<Item = (&Rule, Option<&Regex>)> {
        let is_about = move |rule: &Rule| {
            (rule.tools.is_empty() || rule.tools.iter().any(|name| is_named(name, tool)))
                && (rule.places.is_empty() || rule.places.iter().any(|name| name == place))
        };
        self.rules.iter().map(|(rule, regex)| (rule, regex.as_ref())).filter(move |(rule, _)| is_about(rule))
    }
}

/// Returns `true` if the name, or the prefix before its `*`, is that of the tool.
pub(super) fn is_named(name: &str, tool: &str) -> bool {
    match name.strip_suffix('*') {
        Some(prefix) => tool.starts_with(prefix),
        None => name == tool,
    }
}

/// Returns a text with spaces for newlines and tabs: `.` of a pattern matches no newline.
fn spaced(text: &str) -> String {
    text.replace(['\n', '\t'], " ")
}

/// Returns `true` if an argument is this one, or this one with a value: `--depth=1`. A letter such
/// as `-f` is also found among others: `-xf`. With the end `*`, the argument only begins with it.
fn is_argument(argument: &str, wanted: &str, end: &str) -> bool {
    if end == "*" {
        return argument.starts_with(wanted);
    }
    let letter = wanted.strip_prefix('-').filter(|letter| letter.len() == 1 && *letter != "-");
    let with_value = argument.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('='));
    let among_others = letter.is_some_and(|letter| {
        argument.starts_with('-') && !argument.starts_with("--") && argument[1..].contains(letter)
    });
    argument == wanted || (wanted.starts_with("--") && with_value) || among_others
}

/// Returns `true` if an argument is a long option with its end left out: `--forc`.
fn is_shortened(argument: &str, wanted: &str) -> bool {
    let name = argument.split('=').next().unwrap_or_default();
    name.len() > "--f".len() && name.starts_with("--") && wanted.starts_with(name)
}

/// Returns `true` if an argument that begins so may be this one, or begin with it.
fn may_be(start: &str, wanted: &str, end: &str) -> bool {
    start.starts_with('-') || wanted.starts_with(start) || (end == "*" && start.starts_with(wanted))
}

fn compiled(rule: &Rule, rules: usize) -> Result<Option<Regex>, String> {
    if rules >= MAX_RULES {
        return Err(format!("a gate has at most {MAX_RULES} rules"));
    }
    if rule.decision == RuleDecision::Unknown {
        return Err("its decision is none of allow, require_approval and deny".to_owned());
    }
    if rule.strings().any(|text| text.len() > MAX_TEXT_BYTES) {
        return Err(format!("a string of it is longer than {MAX_TEXT_BYTES} bytes"));
    }
    if !rule.is_of_commands() && rule.pattern.is_empty() && rule.tools.is_empty() && rule.places.is_empty() {
        return Err("it matches every call; to mean that, set tools to [\"*\"]".to_owned());
    }
    if rule.pattern.is_empty() {
        return Ok(None);
    }
    match RegexBuilder::new(&rule.pattern).size_limit(MAX_PATTERN_BYTES).build() {
        Ok(regex) => Ok(Some(regex)),
        Err(error) => Err(format!("its pattern is not a regular expression: {error}")),
    }
}
