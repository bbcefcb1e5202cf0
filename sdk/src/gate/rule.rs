//! Rules about calls, as data.

use regex_lite::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::command::Part;

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
/// "args_prefix": ["push"], "contains_args": ["--force"]}`. Members that are absent match
/// everything; unknown members are ignored. A rule needs one of `program`, `pattern`,
/// `args_prefix`, `contains_args`, `tools` and `places`.
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
    /// The program of a command, without its directory.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// A regular expression that is found in a part of a command, its words joined by spaces; for a
    /// call without a command, in its arguments as compact JSON. With it, `program` does not count.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pattern: String,
    /// The first arguments of the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args_prefix: Vec<String>,
    /// Arguments that the program has, at any place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains_args: Vec<String>,
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
            tools: Vec::new(),
            places: Vec::new(),
        }
    }

    fn strings(&self) -> impl Iterator<Item = &String> {
        let Self { id, decision: _, reason, program, pattern, args_prefix, contains_args, tools, places } = self;
        let lists = [args_prefix, contains_args, tools, places];
        [id, reason, program, pattern].into_iter().chain(lists.into_iter().flatten())
    }

    /// Returns `true` if the rule is about commands and not about whole tools.
    fn is_of_commands(&self) -> bool {
        !(self.program.is_empty() && self.args_prefix.is_empty() && self.contains_args.is_empty())
    }
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

    /// Returns the rule about a part of a command.
    pub(super) fn on_part(&self, tool: &str, place: &str, part: &Part) -> Option<&Rule> {
        let text = part.text();
        self.find(tool, place, |rule, regex| {
            let is_program = match regex {
                Some(regex) => regex.is_match(&text),
                None => rule.program.is_empty() || rule.program == part.program,
            };
            is_program
                && part.arguments.starts_with(&rule.args_prefix)
                && rule.contains_args.iter().all(|argument| contains(&part.arguments, argument))
        })
    }

    /// Returns the first rule that forbids or questions a command by its text as it was written.
    pub(super) fn on_text(&self, tool: &str, place: &str, text: &str) -> Option<&Rule> {
        self.find(tool, place, |rule, regex| {
            rule.decision != RuleDecision::Allow && regex.is_some_and(|regex| regex.is_match(text))
        })
    }

    /// Returns the rule about a call without a command.
    pub(super) fn on_call(&self, tool: &str, place: &str, arguments: &str) -> Option<&Rule> {
        self.find(tool, place, |rule, regex| {
            !rule.is_of_commands() && regex.is_none_or(|regex| regex.is_match(arguments))
        })
    }

    fn find(&self, tool: &str, place: &str, matches: impl Fn(&Rule, Option<&Regex>) -> bool) -> Option<&Rule> {
        let is_of = |rule: &Rule| {
            (rule.tools.is_empty() || rule.tools.iter().any(|name| is_named(name, tool)))
                && (rule.places.is_empty() || rule.places.iter().any(|name| name == place))
        };
        let found = self.rules.iter().find(|(rule, regex)| is_of(rule) && matches(rule, regex.as_ref()));
        found.map(|(rule, _)| rule)
    }
}

/// Returns `true` if the name, or the prefix before its `*`, is that of the tool.
pub(super) fn is_named(name: &str, tool: &str) -> bool {
    match name.strip_suffix('*') {
        Some(prefix) => tool.starts_with(prefix),
        None => name == tool,
    }
}

/// Returns `true` if an argument is this one, or this one with a value: `--depth=1`. A letter such
/// as `-f` is also found among others: `-xf`.
fn contains(arguments: &[String], wanted: &str) -> bool {
    let letter = wanted.strip_prefix('-').filter(|letter| letter.len() == 1 && *letter != "-");
    arguments.iter().any(|argument| {
        let with_value = argument.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('='));
        let among_others = letter.is_some_and(|letter| {
            argument.starts_with('-') && !argument.starts_with("--") && argument[1..].contains(letter)
        });
        argument == wanted || (wanted.starts_with("--") && with_value) || among_others
    })
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
