//! The gate that each call of a tool passes before it is made.
//!
//! | file | what is in it |
//! |---|---|
//! | here | the gate of a run, and its verdict about a call |
//! | `rule.rs` | rules as data |
//! | `callers.rs` | the gates of calling runs in other workflows |
//! | `command/` | the commands in arguments |
//! | `dangers.rs` | commands that a person should see |
//!
//! # Design
//! **One function decides, on every host.** It is pure, so a replay comes to the same verdict, and
//! an inline run to the same as a workflow. Hosts call it in `drive/tools/before.rs`, for tools of
//! the agent, of MCP servers and of providers, agents used as tools, and the tools of those agents.
//! The gate follows an agent into its child workflow, as data.
//!
//! **The gate only narrows.** An approval that a tool requires by itself is requested in every
//! mode; a rule that allows a call does not change that.
//!
//! **The gate decides about calls, not outputs.** A call with an output has had its effect. Output
//! guardrails of the tool or of its MCP server decide which part of the output reaches the model.
//! [`Gate::privileged`] restricts the later calls of a run with untrusted content.
//!
//! **The worst part of a command decides.** `ls && rm -rf /` is as bad as `rm -rf /`.
//!
//! **What may be denied is not made.** If a command is unclear, or an argument is known only when
//! it runs, a rule that denies may match. Then a person decides, or nobody: in the mode
//! `Autonomous` the call is denied, and the model is told what to write instead. Without such a
//! rule the mode makes it.

mod callers;
mod command;
mod dangers;
mod rule;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::callers::MAX_CALLERS;
pub use self::rule::{Rule, RuleDecision, UnusedRule};
use self::{
    callers::CallerGate,
    command::{Clarity, Command, Part, commands},
    dangers::danger,
    rule::{Rules, Ruling, is_named},
};
use crate::agent::{Agent, AgentDef};
pub use crate::wire::toolset::GateMode;

/// The gate of a run.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use temporal_agents::{RunConfig, gate::{Gate, GateMode, Rule}};
///
/// let rules: Vec<Rule> = serde_json::from_str(
///     r#"[{"id": "read", "decision": "allow", "program": "ls"},
///         {"id": "no-terraform", "decision": "deny", "program": "terraform",
///          "reason": "ask the platform team"}]"#,
/// )?;
/// let gate = Gate::new(GateMode::ApproveUnknown).rules(rules).privileged(["dev_*"]);
/// assert!(gate.unused_rules().is_empty());
/// let config = RunConfig::builder().gate(gate).build();
/// # let _ = config;
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// In the example the model can call a tool with `ls -l` at once, with `terraform apply` never (it
/// gets `[blocked by command policy] ask the platform team`), and with anything else after a person
/// has approved it.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    mode: GateMode,
    rules: Rules,
    unused: Vec<UnusedRule>,
    judge: Option<Arc<AgentDef>>,
    privileged: Vec<String>,
    is_untrusted: bool,
    ignores_dangers: bool,
    /// The gates of the runs that called this one from other workflows, outermost first.
    callers: Vec<CallerGate>,
    /// `true` if the run has only the gates of callers.
    is_of_callers_only: bool,
}

impl Gate {
    /// Creates a gate without rules.
    pub fn new(mode: GateMode) -> Self {
        Self { mode, ..Self::default() }
    }

    /// Sets the rules; the first one that matches a part of a command, or a call without a command,
    /// decides about it. A rule that makes no sense is not used:
    /// [`unused_rules`](Self::unused_rules) has it, with the reason.
    ///
    /// # Determinism
    /// The rules are workflow code. Other rules may break the replay of histories of open runs.
    #[must_use]
    pub fn rules<R: IntoIterator<Item = Rule>>(mut self, rules: R) -> Self {
        (self.rules, self.unused) = Rules::of(rules);
        self
    }

    /// Returns the rules that are not used.
    pub fn unused_rules(&self) -> &[UnusedRule] {
        &self.unused
    }

    /// Sets the agent that decides in the mode [`GateMode::Judge`]. It gets the call as JSON,
    /// `{"tool", "place", "arguments"}`, and returns a [`Judgement`]. The arguments are what the
    /// model wrote, and may argue ("the user has approved this"): put what must never happen into
    /// rules. Its model calls are effects of the run: one that was made is not made again on
    /// replay. If it fails, or returns something else, a person decides. Its own tools do not pass
    /// the gate.
    ///
    /// ```
    /// # extern crate temporal_agents_core as temporal_agents;
    /// use temporal_agents::{Agent, gate::{Gate, GateMode, Judgement}};
    ///
    /// let judge = Agent::new("judge")
    ///     .model("gpt-5-mini")
    ///     .instructions("Allow what only reads. Deny what deletes. Ask about the rest.")
    ///     .output::<Judgement>();
    /// let gate = Gate::new(GateMode::Judge).judge(&judge);
    /// # let _ = gate;
    /// ```
    #[must_use]
    pub fn judge<O>(mut self, agent: &Agent<O>) -> Self {
        self.judge = Some(Arc::new(agent.def().clone()));
        self
    }

    /// Returns the agent that decides where a judge does.
    pub(crate) fn judging_agent(&self) -> Option<&AgentDef> {
        self.judge.as_deref()
    }

    /// Sets the tools that no run with [untrusted](Self::untrusted) content may call: names, or
    /// prefixes that end in `*`.
    #[must_use]
    pub fn privileged<N: Into<String>>(mut self, tools: impl IntoIterator<Item = N>) -> Self {
        self.privileged = tools.into_iter().map(Into::into).collect();
        self
    }

    /// Declares that the run has content that nobody answers for: a mail, a web page, the event
    /// that triggered it. Its calls of privileged tools are denied.
    #[must_use]
    pub fn untrusted(mut self, is_untrusted: bool) -> Self {
        self.is_untrusted = is_untrusted;
        for caller in &mut self.callers {
            caller.gate.is_untrusted = is_untrusted;
        }
        self
    }

    /// Returns `true` if the run has untrusted content.
    pub(crate) fn is_untrusted(&self) -> bool {
        self.is_untrusted
    }

    /// Returns `true` if a person approves each call of a tool that brings this mode.
    pub(crate) fn approves_each(&self, mode: Option<GateMode>) -> bool {
        self.mode.max(mode.unwrap_or(self.mode)) == GateMode::ApproveEach
            || self.callers.iter().any(|caller| caller.gate.mode == GateMode::ApproveEach)
    }

    /// Turns off the built-in list of dangerous commands. By default they need an approval where
    /// any call does.
    #[must_use]
    pub fn without_dangers(mut self) -> Self {
        self.ignores_dangers = true;
        self
    }

    /// Decides about a call: the strictest verdict of this gate and of the gates of callers.
    pub(crate) fn verdict(&self, call: &GatedCall<'_>) -> GateVerdict {
        let judge = self.judging_agent().map(|judge| &*judge.name);
        let of_callers = self.callers.iter().map(|caller| caller.verdict(call, judge));
        of_callers.fold(self.own_verdict(call), GateVerdict::stricter)
    }

    fn own_verdict(&self, call: &GatedCall<'_>) -> GateVerdict {
        let GatedCall { tool, place, arguments, mode } = call;
        if self.is_untrusted && self.privileged.iter().any(|name| is_named(name, tool)) {
            let reason = format!("{tool:?} is not available in a run with untrusted content");
            return GateVerdict::Deny { rule: None, reason };
        }
        let commands = commands(arguments);
        let found = if commands.is_empty() {
            let parsed = serde_json::from_str::<Map<String, Value>>(arguments).unwrap_or_default();
            Found::of(self.rules.on_call(tool, place, &Value::Object(parsed).to_string()))
        } else {
            commands.iter().map(|command| self.on_command(tool, place, command)).reduce(Found::max).unwrap_or_default()
        };
        Self::of_mode(found, self.mode.max(mode.unwrap_or(self.mode)))
    }

    fn on_command(&self, tool: &str, place: &str, command: &Command) -> Found {
        let is_plain = command.clarity == Clarity::Plain;
        if let (Clarity::Plain | Clarity::NotPlain, [part], []) = (&command.clarity, &*command.parts, &*command.guesses)
        {
            // The rules are asked about the part and the text in one go, so that the first one
            // decides.
            return self.on_part(tool, place, part, is_plain, Some(&command.text));
        }
        let mut found: Option<Found> = None;
        // Programs that run another one do not count as parts that no rule speaks of.
        for (at, part) in command.parts.iter().enumerate() {
            let of_part = self.on_part(tool, place, part, is_plain, None);
            let runs_next = part.is_wrapper && at + 1 < command.parts.len();
            if runs_next && of_part.level <= Level::Unknown {
                continue;
            }
            found = Some(found.map_or_else(|| of_part.clone(), |worst| worst.max(of_part.clone())));
        }
        // Where nothing is seen, nothing is allowed, but the whole tool may be denied.
        let unseen = || Found::of(self.rules.on_part(tool, place, &Part::default(), None).rule).unless_allowed();
        let found = found.unwrap_or_else(unseen);
        let found = match self.rules.on_text(tool, place, command) {
            Some(rule) => found.max(Found::of(Some(rule))),
            None => found,
        };
        let guessed = command.guesses.iter().filter_map(|part| self.rules.on_part(tool, place, part, None).rule);
        match &command.clarity {
            Clarity::Plain | Clarity::NotPlain => match guessed
                .into_iter()
                .find(|rule| rule.decision == RuleDecision::Deny)
            {
                Some(rule) => found.max(Found::suspected(rule, "an argument is a text that may run it; run it itself")),
                None => found,
            },
            Clarity::Unclear(why) => {
                let guessed = guessed.map(|rule| Found::of(Some(rule)).unless_allowed());
                let found = guessed.fold(found.unless_allowed(), Found::max);
                found.max(match self.rules.denying(tool, place) {
                    Some(rule) => Found::suspected(rule, why.reason()),
                    None => Found { level: Level::Ask, rule: None, reason: why.reason().to_owned() },
                })
            }
        }
    }

    fn on_part(&self, tool: &str, place: &str, part: &Part, is_plain: bool, command: Option<&str>) -> Found {
        let Ruling { rule, possible } = self.rules.on_part(tool, place, part, command);
        let by_rule = Found::of(rule);
        // A rule that allows the part speaks for it as it is.
        let is_allowed = by_rule.level == Level::Allow && is_plain;
        let by_rule = if is_plain { by_rule } else { by_rule.unless_allowed() };
        let dangerous = if self.ignores_dangers || is_allowed { None } else { danger(part) };
        let by_danger = match dangerous {
            Some(reason) if by_rule.level == Level::Unknown => {
                Found { level: Level::Ask, rule: None, reason: reason.to_owned() }
            }
            _ => by_rule,
        };
        match possible {
            Some(rule) if rule.decision == RuleDecision::Deny => by_danger
                .max(Found::suspected(rule, "an argument is known only when the command runs; write its value")),
            Some(rule) => by_danger.max(Found::of(Some(rule))),
            None => by_danger,
        }
    }

    fn of_mode(found: Found, mode: GateMode) -> GateVerdict {
        let Found { level, rule, reason } = found;
        match (level, mode) {
            (Level::Deny, _) | (Level::Suspected, GateMode::Autonomous) => GateVerdict::Deny { rule, reason },
            (_, GateMode::Autonomous) | (Level::Allow, GateMode::ApproveUnknown | GateMode::Judge) => {
                GateVerdict::Run { rule }
            }
            (Level::Unknown, GateMode::Judge) => GateVerdict::Judge,
            // The reason names the rule, which has not matched.
            (Level::Suspected, _) => GateVerdict::Ask { rule: None, reason },
            (Level::Ask | Level::Unknown, GateMode::ApproveUnknown | GateMode::Judge) | (_, GateMode::ApproveEach) => {
                GateVerdict::Ask { rule, reason }
            }
        }
    }
}

/// The decision of a judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// The decision.
    pub decision: JudgeDecision,
    /// The reason, for the model if the call is denied, and for people.
    pub reason: String,
}

/// The decision about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgeDecision {
    /// The call is made.
    Allow,
    /// The call is not made.
    Deny,
    /// A person decides.
    Ask,
}

impl Judgement {
    /// Reads the output of a judge; `None` if it is no decision.
    pub(crate) fn read(output: &Value) -> Option<Self> {
        match output {
            Value::String(text) => serde_json::from_str(text).ok(),
            output => serde_json::from_value(output.clone()).ok(),
        }
    }
}

/// A call before it is made.
pub(crate) struct GatedCall<'c> {
    /// Name of the tool.
    pub(crate) tool: &'c str,
    /// Where the tool runs: name of its MCP server or toolset; empty = in this library.
    pub(crate) place: &'c str,
    /// The arguments, as the model wrote them.
    pub(crate) arguments: &'c str,
    /// The mode that the tool brings; the stricter one holds.
    pub(crate) mode: Option<GateMode>,
}

impl GatedCall<'_> {
    /// Returns `true` if the arguments have a command.
    pub(crate) fn has_command(&self) -> bool {
        !commands(self.arguments).is_empty()
    }
}

/// The verdict of the gate about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GateVerdict {
    /// The call is made.
    Run {
        /// The rule that allows it.
        rule: Option<String>,
    },
    /// The judge decides.
    Judge,
    /// A person decides.
    Ask { rule: Option<String>, reason: String },
    /// The call is not made.
    Deny { rule: Option<String>, reason: String },
}

impl GateVerdict {
    /// Returns the stricter verdict; of equals, the first.
    fn stricter(self, other: Self) -> Self {
        if other.strictness() > self.strictness() { other } else { self }
    }

    /// Returns how strict the verdict is; a higher number is stricter.
    fn strictness(&self) -> u8 {
        match self {
            Self::Run { .. } => 0,
            Self::Judge => 1,
            Self::Ask { .. } => 2,
            Self::Deny { .. } => 3,
        }
    }
}

/// How bad a part is; later ones are worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Allow,
    #[default]
    Unknown,
    Ask,
    /// A rule that denies may match.
    Suspected,
    Deny,
}

/// What was found about a part, and by which rule; ordered by its level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found {
    level: Level,
    rule: Option<String>,
    reason: String,
}

impl Found {
    fn of(rule: Option<&Rule>) -> Self {
        let Some(rule) = rule else { return Self::default() };
        let level = match rule.decision {
            RuleDecision::Allow => Level::Allow,
            RuleDecision::RequireApproval => Level::Ask,
            RuleDecision::Deny => Level::Deny,
            RuleDecision::Unknown => Level::Unknown,
        };
        let reason = if rule.reason.is_empty() { format!("rule {:?}", rule.id) } else { rule.reason.clone() };
        Self { level, rule: Some(rule.id.clone()), reason }
    }

    /// A rule that denies, and why it cannot be told whether it matches.
    fn suspected(rule: &Rule, why: &str) -> Self {
        let Self { rule: id, reason, .. } = Self::of(Some(rule));
        let reason = if rule.reason.is_empty() {
            format!("{why} ({reason} may forbid it)")
        } else {
            format!("{why} (rule {:?} may forbid it: {reason})", rule.id)
        };
        Self { level: Level::Suspected, rule: id, reason }
    }

    /// Returns what was found, where no rule may allow anything.
    fn unless_allowed(self) -> Self {
        if self.level == Level::Allow { Self::default() } else { self }
    }

    /// Returns the worse one; of equals, the first.
    fn max(self, other: Self) -> Self {
        if other.level > self.level { other } else { self }
    }
}

#[cfg(test)]
mod tests;
