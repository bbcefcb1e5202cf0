//! Finds the change of an agent that prevents the replay of a history, in the author's terms.

use std::{collections::BTreeMap, fmt};

use temporal_agents_core::{
    agent::{AgentDef, Graph, Handoff},
    tool::{ToolBinding, ToolDef},
    wire::InterruptionKind,
};

use super::{
    journal::{Command, Entry},
    recorded::{Record, Recorded, is_of_a_run, turn_of},
};
use crate::workflow::replay_journal::ReplayNote;

/// A change since a history was recorded, which prevents its replay.
///
/// `Display`: ``turn 1, tool `order` of agent `desk`: the recorded arguments do not fit its schema
/// any more: `details` is required``.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayChange {
    /// The turn, counted from 1, if it is known.
    pub turn: Option<u32>,
    /// Name of the agent, if it is known.
    pub agent: Option<String>,
    /// Name of the tool, if the change concerns one.
    pub tool: Option<String>,
    /// Description of the change.
    pub cause: String,
}

impl fmt::Display for ReplayChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turn = self.turn.map(|turn| format!("turn {turn}"));
        let agent = self.agent.as_ref().map(|agent| format!("agent `{agent}`"));
        let tool = self.tool.as_ref().map(|tool| format!("tool `{tool}`"));
        let who = match (tool, agent) {
            (Some(tool), Some(agent)) => Some(format!("{tool} of {agent}")),
            (tool, agent) => tool.or(agent),
        };
        let place: Vec<String> = turn.into_iter().chain(who).collect();
        if place.is_empty() { f.write_str(&self.cause) } else { write!(f, "{}: {}", place.join(", "), self.cause) }
    }
}

impl ReplayChange {
    fn new(turn: Option<u32>, agent: Option<&str>, tool: Option<&str>, cause: impl Into<String>) -> Self {
        let (agent, tool) = (agent.map(str::to_owned), tool.map(str::to_owned));
        Self { turn, agent, tool, cause: cause.into() }
    }
}

/// Finds the first point at which a history and the build that replays it diverge, and the reason;
/// `None` if none of the known causes explains it.
pub fn explain(record: &Record, entries: &[Entry]) -> Option<ReplayChange> {
    let parting = Divergence::of(record, entries);
    parting
        .missing_function()
        .or_else(|| parting.refused_call())
        .or_else(|| parting.changed_approval())
        .or_else(|| parting.changed_binding())
        .or_else(|| parting.failed_run())
        .or_else(|| parting.extra_command())
        .or_else(|| parting.missing_command())
}

/// The point at which history and build diverge.
struct Divergence<'p> {
    record: &'p Record,
    /// The first recorded command that the build does not issue.
    missing: Option<&'p Recorded>,
    /// The first command of the build that is not recorded.
    extra: Option<&'p Command>,
    /// The recorded command before `extra`, or the first one.
    before_extra: Option<&'p Recorded>,
    /// The latest model response that history and build have in common.
    answer: Option<&'p Recorded>,
    /// The decisions of the build's runs after the last command in common.
    decided: Vec<&'p ReplayNote>,
    /// The calls for which the build has paused: agent, tool, and the reason for the pause.
    pauses: Vec<&'p (String, String, InterruptionKind)>,
    /// The types of the activities and child workflows that the build has started.
    started: Vec<&'p str>,
    /// The agents of the build, including nested ones.
    agents: BTreeMap<String, AgentDef>,
}

impl<'p> Divergence<'p> {
    fn of(record: &'p Record, entries: &'p [Entry]) -> Self {
        let is_given = |recorded: &Recorded| {
            entries.iter().any(|entry| matches!(entry, Entry::Command(command) if same(command, &recorded.command)))
        };
        let missing = record.commands.iter().position(|recorded| !is_given(recorded));
        let common = &record.commands[..missing.unwrap_or(record.commands.len())];
        let is_recorded = |command: &Command| record.commands.iter().any(|other| same(command, &other.command));
        let extra = entries.iter().find_map(|entry| match entry {
            Entry::Command(command) if is_of_a_run(&command.id) && !is_recorded(command) => Some(command),
            _ => None,
        });
        let recorded_as = |entry: &Entry| match entry {
            Entry::Command(command) => record.commands.iter().find(|recorded| same(command, &recorded.command)),
            Entry::Note(_) => None,
        };
        let is_extra = |entry: &&Entry| !matches!(entry, Entry::Command(command) if Some(command) == extra);
        let before_extra = entries.iter().take_while(is_extra).filter_map(recorded_as).last();
        let before_extra = before_extra.or(record.commands.first());
        let is_common = |entry: &Entry| match entry {
            Entry::Command(command) => common.iter().any(|recorded| same(command, &recorded.command)),
            Entry::Note(_) => false,
        };
        let started = entries.iter().filter_map(|entry| match entry {
            Entry::Command(command) => Some(&*command.kind),
            Entry::Note(_) => None,
        });
        let started = started.collect();
        let last = entries.iter().rposition(is_common).map_or(0, |place| place + 1);
        let notes = |entries: &'p [Entry]| {
            let notes = entries.iter().filter_map(|entry| match entry {
                Entry::Note(note) => Some(note),
                Entry::Command(_) => None,
            });
            notes.collect::<Vec<_>>()
        };
        Self {
            record,
            missing: missing.map(|place| &record.commands[place]),
            extra,
            before_extra,
            answer: common.iter().rfind(|recorded| recorded.is_model_call()),
            decided: notes(&entries[last..]),
            agents: agents(&notes(entries)),
            pauses: pauses(&notes(entries)),
            started,
        }
    }

    /// Detects a tool or handoff that a model has called and that the build does not have.
    fn missing_function(&self) -> Option<ReplayChange> {
        let Recorded { agent: Some(name), turn, functions, .. } = self.answer? else { return None };
        self.missing?;
        let agent = self.agents.get(name)?;
        let handoffs: Vec<String> = agent.handoffs.iter().map(Handoff::name).collect();
        let tools: Vec<&str> = agent.tools.iter().map(ToolDef::name).collect();
        let is_known = |function: &&String| handoffs.contains(function) || tools.contains(&&***function);
        let gone = functions.iter().find(|function| !is_known(function))?;
        // The tools of MCP servers are in the history, and not in the agent.
        if !agent.mcp_servers.is_empty() && self.missing.is_some_and(|missing| missing.command.kind.contains(".mcp.")) {
            return None;
        }
        let was_tool = self.record.commands.iter().any(|recorded| recorded.tool.as_ref() == Some(gone));
        // The ids of a nested run are longer.
        let depth = |recorded: &Recorded| recorded.command.id.matches('-').count();
        let beside = self.missing.filter(|missing| self.answer.is_some_and(|answer| depth(answer) == depth(missing)));
        let next = beside.and_then(|missing| missing.agent.as_deref()).filter(|next| *next != name);
        let target = next.or_else(|| gone.strip_prefix("transfer_to_"));
        Some(match target.filter(|_| !was_tool && (next.is_some() || gone.starts_with("transfer_to_"))) {
            Some(target) if !self.agents.contains_key(target) => {
                let cause = format!("the history has a handoff to agent `{target}`, which is no longer in the graph");
                ReplayChange::new(*turn, Some(name), None, cause)
            }
            Some(target) => {
                let cause =
                    format!("the history has a handoff to agent `{target}` (`{gone}`), which the agent no longer has");
                ReplayChange::new(*turn, Some(name), None, cause)
            }
            None => {
                let has = if tools.is_empty() { "no tools".to_owned() } else { format!("`{}`", tools.join("`, `")) };
                let cause = format!("the history calls it, but the agent no longer has it (it has {has})");
                ReplayChange::new(*turn, Some(name), Some(gone), cause)
            }
        })
    }

    /// Detects a call in the history that the build does not make.
    fn refused_call(&self) -> Option<ReplayChange> {
        self.decided.iter().find_map(|note| match note {
            ReplayNote::Refused { agent, turn, tool, reason } => {
                let cause = match reason.strip_prefix(&format!("Invalid JSON input for tool {tool}")) {
                    Some(issues) => format!(
                        "the recorded arguments no longer match its schema: {}",
                        issues_in_words(issues.trim_start_matches(": "))
                    ),
                    None => format!("this build does not make the call: {reason}"),
                };
                Some(ReplayChange::new(Some(*turn), Some(agent), Some(tool), cause))
            }
            _ => None,
        })
    }

    /// Detects a call for which only the history or only the build waits for a decision.
    fn changed_approval(&self) -> Option<ReplayChange> {
        let has_asked =
            |agent: &String, tool: &String| self.record.asked.iter().any(|(of, _, asked)| (of, asked) == (agent, tool));
        let turn = self.answer.and_then(|answer| answer.turn);
        let asks_now = pauses(&self.decided);
        let new = asks_now.iter().find(|(agent, tool, _)| !has_asked(agent, tool));
        if let Some((agent, tool, kind)) = new.filter(|_| self.missing.is_some()) {
            let cause = match kind {
                InterruptionKind::Output => "its output is now supplied externally; in the history it was called",
                _ => "it now requires approval; in the history it was called without",
            };
            return Some(ReplayChange::new(turn, Some(agent), Some(tool), cause));
        }
        let asks =
            |agent: &String, tool: &String| self.pauses.iter().any(|(of, asked, _)| (of, asked) == (agent, tool));
        let calls =
            |tool: &String| self.started.iter().any(|kind| kind.strip_prefix("agents.tool.") == Some(tool.as_str()));
        let unasked = |(agent, _, tool): &&(String, u32, String)| !asks(agent, tool) && calls(tool);
        let (agent, turn, tool) = self.record.asked.iter().find(unasked)?;
        let cause = "it is now called without a decision; the history waited for one";
        Some(ReplayChange::new(Some(*turn), Some(agent), Some(tool), cause))
    }

    /// Detects a tool that runs in another place: in an activity, a local activity, the workflow
    /// itself, or as an agent.
    fn changed_binding(&self) -> Option<ReplayChange> {
        if let (Some(Recorded { agent, turn, tool, command, .. }), Some(extra)) = (self.missing, self.extra)
            && (&command.id, &command.kind) == (&extra.id, &extra.kind)
        {
            let place = |is_local| if is_local { "a local activity" } else { "an activity" };
            let what = if tool.is_some() { "it" } else { "the model call" };
            let cause =
                format!("{what} is now {}; the history contains {}", place(extra.is_local), place(command.is_local));
            return Some(ReplayChange::new(*turn, agent.as_deref(), tool.as_deref(), cause));
        }
        if let Some(Recorded { agent: Some(agent), turn, tool: Some(tool), command, .. }) = self.missing
            && let Some(now) = self.binding(agent, tool)
            && !command.kind.starts_with("agents.guardrail.")
        {
            let cause = match now {
                ToolBinding::Inline(_) | ToolBinding::Workflow(_) => {
                    "it now runs inline in the workflow; the history contains an activity".to_owned()
                }
                ToolBinding::Agent(_) => "it is now an agent; the history contains an activity".to_owned(),
                _ => match self.extra {
                    Some(extra) if extra.id == command.id => {
                        format!("it is now `{}`; the history contains `{}`", extra.kind, command.kind)
                    }
                    _ => return None,
                },
            };
            return Some(ReplayChange::new(*turn, Some(agent), Some(tool), cause));
        }
        // The recorded body ran inside the workflow, and left no command in the history.
        let extra = self.extra?;
        let tool = extra.kind.strip_prefix("agents.tool.")?;
        let answer = self.answer?;
        answer.functions.iter().any(|function| function == tool).then(|| {
            let cause = "it is now an activity; the history contains none (it ran inline in the workflow)";
            ReplayChange::new(answer.turn, answer.agent.as_deref(), Some(tool), cause)
        })
    }

    fn binding(&self, agent: &str, tool: &str) -> Option<&ToolBinding> {
        let tool = self.agents.get(agent)?.tools.iter().find(|known| known.name() == tool)?;
        Some(tool.binding())
    }

    /// Detects a run that fails at a point at which the recorded run continued.
    fn failed_run(&self) -> Option<ReplayChange> {
        let failed = self.decided.iter().rev().find_map(|note| match note {
            ReplayNote::Failed { turn, error } => Some((turn, error)),
            _ => None,
        });
        let (turn, error) = failed?;
        let agent = self.missing.or(self.answer).and_then(|recorded| recorded.agent.as_deref());
        let turn = turn.or_else(|| self.answer.and_then(|answer| answer.turn));
        Some(ReplayChange::new(turn, agent, None, format!("the run now fails: {error}")))
    }

    /// Reports a command of the build that is not in the history.
    fn extra_command(&self) -> Option<ReplayChange> {
        let extra = self.extra?;
        let turn = turn_of(&extra.id).or_else(|| self.before_extra?.turn);
        let agent = self.record.commands.iter().find(|recorded| recorded.is_model_call() && recorded.turn == turn);
        let agent = agent.and_then(|recorded| recorded.agent.as_deref());
        let cause = format!("{}, but the history does not", in_words(&extra.kind, "this build"));
        Some(ReplayChange::new(turn, agent, None, cause))
    }

    /// Reports a command in the history that the build does not issue.
    fn missing_command(&self) -> Option<ReplayChange> {
        let missing = self.missing?;
        let cause = match &missing.tool {
            Some(_) if !missing.command.kind.starts_with("agents.guardrail.") => {
                "the history calls it, but this build does not".to_owned()
            }
            _ => format!("{}, but this build does not", in_words(&missing.command.kind, "the history")),
        };
        let tool = missing.tool.as_deref().filter(|_| !missing.command.kind.starts_with("agents.guardrail."));
        Some(ReplayChange::new(missing.turn, missing.agent.as_deref(), tool, cause))
    }
}

/// Describes a command of this type in terms that do not require knowledge of the library's
/// internals.
fn in_words(kind: &str, who: &str) -> String {
    let named = |prefix: &str| kind.strip_prefix(prefix);
    if kind == "agents.call_model" {
        return format!("{who} calls the model here");
    }
    if let Some(guardrail) = named("agents.guardrail.") {
        return format!("{who} runs guardrail `{guardrail}` in an activity here");
    }
    if let Some((server, operation)) = named("agents.mcp.").and_then(|rest| rest.rsplit_once('.')) {
        let does = match operation {
            "list_tools" => "lists the tools",
            "open_session" => "opens a session",
            "close_session" => "closes a session",
            _ => "calls a tool",
        };
        return format!("{who} {does} of MCP server `{server}` here");
    }
    if let Some(transport) = named("agents.remote.").and_then(|rest| rest.strip_suffix(".call_tool")) {
        return format!("{who} calls a remote tool through transport `{transport}` here");
    }
    if let Some(store) = named("agents.session.") {
        return format!("{who} reads or writes session store `{store}` here");
    }
    if let Some(tool) = named("agents.tool.") {
        return format!("{who} calls tool `{tool}` here");
    }
    format!("{who} starts `{kind}` here")
}

/// Returns `true` if two commands are equal. The id of a child workflow begins with that of its
/// parent, which may be missing in a history from a file, so only the last part of the id is
/// compared.
fn same(one: &Command, other: &Command) -> bool {
    let own = |id: &str| id.rsplit('/').next().unwrap_or_default().to_owned();
    (one.is_local, &one.kind) == (other.is_local, &other.kind) && own(&one.id) == own(&other.id)
}

/// Returns the waiting calls of all pauses.
fn pauses<'p>(notes: &[&'p ReplayNote]) -> Vec<&'p (String, String, InterruptionKind)> {
    let calls = notes.iter().filter_map(|note| match note {
        ReplayNote::Paused { calls } => Some(calls),
        _ => None,
    });
    calls.flatten().collect()
}

/// Returns the agents of the latest run, by name.
fn agents(notes: &[&ReplayNote]) -> BTreeMap<String, AgentDef> {
    let mut agents = BTreeMap::new();
    for note in notes {
        if let ReplayNote::Began { agent } = note {
            let graph = Graph::new(agent);
            for graph in graph.nested().iter().chain([&graph]) {
                agents.extend(graph.agents().map(|agent| (agent.name.clone(), (**agent).clone())));
            }
        }
    }
    agents
}

/// Converts ``details: missing, allowed: {..}`` to the author's terms: `` `details` is required``.
fn issues_in_words(issues: &str) -> String {
    let issue = |issue: &str| match issue.split_once(": ") {
        Some((field, what)) if what.starts_with("missing") => format!("`{field}` is required"),
        Some((field, what)) if what.starts_with("unknown") => format!("`{field}` is not a parameter"),
        Some((field, what)) => format!("`{field}` {what}"),
        None => issue.to_owned(),
    };
    let issues: Vec<String> = issues.split("; ").map(issue).collect();
    issues.join("; ")
}

#[cfg(test)]
mod tests;
