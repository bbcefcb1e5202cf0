//! All agents a run can reach, and everything that is wrong with them.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    def::AgentDef,
    handoff::{Handoff, HandoffTarget},
    output::OutputDef,
};
use crate::tool::{ToolDef, ToolIssue};

/// The agents reachable from a start agent by handoffs, by name.
#[derive(Clone, Debug)]
pub struct Graph {
    start: String,
    agents: BTreeMap<String, Arc<AgentDef>>,
    conflicts: Vec<GraphIssue>,
}

/// Everything wrong with a graph, in the order of the agents' names.
///
/// # Retries
/// Never retried: the run fails before any model call, the worker does not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} wrong with the agents:\n{}", count(.issues), list(.issues))]
pub struct GraphError {
    /// The issues.
    pub issues: Vec<GraphIssue>,
}

/// One thing wrong with a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphIssue {
    /// An agent without a name.
    #[error("an agent has an empty name; give it one in Agent::new")]
    UnnamedAgent,
    /// Two agents that differ share a name.
    #[error("two different agents are named {agent:?}; rename one")]
    DuplicateAgent {
        /// The name.
        agent: String,
    },
    /// Neither agent nor run says which model to call.
    #[error("agent {agent:?} has no model; add .model(..) to it, or to the Runner")]
    NoModel {
        /// The agent.
        agent: String,
    },
    /// Two functions of an agent have one name, so that a call could mean either.
    #[error("agent {agent:?} has two {what} named {name:?}; rename one with .named(..) or .tool_name(..)")]
    DuplicateName {
        /// The agent.
        agent: String,
        /// `tools`, `handoffs`, or `functions (a tool and a handoff)`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Model activity options for an agent that is not in the graph.
    #[error("there are model activity options for agent {agent:?}, which is no agent of the graph (it has: {})", .known.join(", "))]
    UnknownAgent {
        /// The name the options were given for.
        agent: String,
        /// The agents there are.
        known: Vec<String>,
    },
    /// A handoff by name to an agent that is not in the graph.
    #[error("agent {agent:?} hands off to {target:?}, which is no agent of the graph (it has: {})", .known.join(", "))]
    UnknownTarget {
        /// The agent.
        agent: String,
        /// The name in the handoff.
        target: String,
        /// The agents there are.
        known: Vec<String>,
    },
    /// A tool's definition is wrong.
    #[error("tool {tool:?} of agent {agent:?}: {issue}")]
    Tool {
        /// The agent.
        agent: String,
        /// The tool.
        tool: String,
        /// What is wrong.
        issue: ToolIssue,
    },
    /// A handoff's input type does not fit OpenAI strict mode.
    #[error("the input type of handoff {handoff:?} of agent {agent:?} cannot be strict at {path:?}: {reason}")]
    HandoffInput {
        /// The agent.
        agent: String,
        /// The handoff's function name.
        handoff: String,
        /// Where in the schema.
        path: String,
        /// Why.
        reason: String,
    },
    /// An output type does not fit OpenAI strict mode.
    #[error("the output type {output} of agent {agent:?} cannot be strict at {path:?}: {reason}")]
    Output {
        /// The agent.
        agent: String,
        /// The type.
        output: String,
        /// Where in the schema.
        path: String,
        /// Why.
        reason: String,
    },
    /// An agent that may end the run answers with another type than the run has.
    #[error(
        "agent {agent:?} answers with {found}, but the run of {start:?} with {expected}; \
         give both one output type, or use run_any()"
    )]
    OutputDiffers {
        /// The agent.
        agent: String,
        /// Its output type.
        found: String,
        /// The start agent.
        start: String,
        /// The start agent's output type.
        expected: String,
    },
}

fn count(issues: &[GraphIssue]) -> String {
    match issues.len() {
        1 => "one thing is".to_owned(),
        n => format!("{n} things are"),
    }
}

fn list(issues: &[GraphIssue]) -> String {
    issues.iter().map(|issue| format!("- {issue}")).collect::<Vec<_>>().join("\n")
}

impl Graph {
    /// The graph of everything reachable from this agent.
    pub fn new(start: &AgentDef) -> Self {
        let mut graph = Self { start: start.name.clone(), agents: BTreeMap::new(), conflicts: Vec::new() };
        graph.add(&Arc::new(start.clone()));
        graph
    }

    fn add(&mut self, agent: &Arc<AgentDef>) {
        if let Some(known) = self.agents.get(&agent.name) {
            // The same agent built twice is one agent; closures cannot be compared and do not count.
            if !Arc::ptr_eq(known, agent) && format!("{known:?}") != format!("{agent:?}") {
                let issue = GraphIssue::DuplicateAgent { agent: agent.name.clone() };
                if !self.conflicts.contains(&issue) {
                    self.conflicts.push(issue);
                }
            }
            return;
        }
        self.agents.insert(agent.name.clone(), Arc::clone(agent));
        for handoff in &agent.handoffs {
            if let HandoffTarget::Agent(target) = handoff.target() {
                self.add(target);
            }
        }
    }

    /// The name of the agent a run starts with.
    pub fn start(&self) -> &str {
        &self.start
    }

    /// An agent by its name.
    pub fn agent(&self, name: &str) -> Option<&Arc<AgentDef>> {
        self.agents.get(name)
    }

    /// All agents, ordered by name.
    pub fn agents(&self) -> impl Iterator<Item = &Arc<AgentDef>> {
        self.agents.values()
    }

    /// The handoffs of an agent with the agents they lead to.
    pub fn handoffs_of<'a>(&'a self, agent: &'a AgentDef) -> impl Iterator<Item = (&'a Handoff, &'a Arc<AgentDef>)> {
        agent.handoffs.iter().filter_map(|handoff| Some((handoff, self.agents.get(handoff.target().name())?)))
    }

    /// Checks everything that can be known before a model is called.
    ///
    /// # Errors
    /// [`GraphError`] with all that is wrong.
    pub fn check(&self) -> Result<(), GraphError> {
        let mut issues = self.conflicts.clone();
        for agent in self.agents.values() {
            self.check_agent(agent, &mut issues);
        }
        into_result(issues)
    }

    /// Checks that every agent has a model, its own or the run's.
    ///
    /// # Errors
    /// [`GraphError`] that names each agent without one.
    pub fn check_models(&self, default: Option<&str>) -> Result<(), GraphError> {
        let missing = |agent: &&Arc<AgentDef>| agent.model.is_none() && default.is_none();
        let no_model = |agent: &Arc<AgentDef>| GraphIssue::NoModel { agent: agent.name.clone() };
        into_result(self.agents.values().filter(missing).map(no_model).collect())
    }

    /// Checks that every agent that is spoken of elsewhere is in the graph.
    ///
    /// # Errors
    /// [`GraphError`] that names each one that is not.
    pub fn check_known<'a>(&self, names: impl Iterator<Item = &'a str>) -> Result<(), GraphError> {
        let unknown = |name: &'a str| GraphIssue::UnknownAgent {
            agent: name.to_owned(),
            known: self.agents.keys().cloned().collect(),
        };
        into_result(names.filter(|name| !self.agents.contains_key(*name)).map(unknown).collect())
    }

    /// Checks that all agents answer with the type of the start agent.
    ///
    /// # Errors
    /// [`GraphError`] that names each agent that does not.
    pub fn check_outputs(&self) -> Result<(), GraphError> {
        let Some(start) = self.agents.get(&self.start) else { return Ok(()) };
        let name = |agent: &AgentDef| agent.output.as_ref().map_or("text", |output| output.type_name()).to_owned();
        let differs = |agent: &&Arc<AgentDef>| {
            agent.output.as_ref().map(OutputDef::spec) != start.output.as_ref().map(OutputDef::spec)
        };
        let issue = |agent: &Arc<AgentDef>| GraphIssue::OutputDiffers {
            agent: agent.name.clone(),
            found: name(agent),
            start: self.start.clone(),
            expected: name(start),
        };
        into_result(self.agents.values().filter(differs).map(issue).collect())
    }

    fn check_agent(&self, agent: &AgentDef, issues: &mut Vec<GraphIssue>) {
        let name = || agent.name.clone();
        if agent.name.is_empty() {
            issues.push(GraphIssue::UnnamedAgent);
        }
        for tool in &agent.tools {
            let issue = |issue: &ToolIssue| GraphIssue::Tool {
                agent: name(),
                tool: tool.name().to_owned(),
                issue: issue.clone(),
            };
            issues.extend(tool.issues().iter().map(issue));
        }
        for handoff in &agent.handoffs {
            let target = handoff.target().name();
            if !self.agents.contains_key(target) {
                issues.push(GraphIssue::UnknownTarget {
                    agent: name(),
                    target: target.to_owned(),
                    known: self.agents.keys().cloned().collect(),
                });
            }
            if let Some(issue) = handoff.issue() {
                issues.push(GraphIssue::HandoffInput {
                    agent: name(),
                    handoff: handoff.name(),
                    path: issue.path.clone(),
                    reason: issue.reason.clone(),
                });
            }
        }
        if let Some((output, issue)) = agent.output.as_ref().and_then(|output| Some((output, output.issue()?))) {
            issues.push(GraphIssue::Output {
                agent: name(),
                output: output.type_name().to_owned(),
                path: issue.path.clone(),
                reason: issue.reason.clone(),
            });
        }
        check_names(agent, issues);
    }
}

/// Reports each name that two functions of an agent share, once.
fn check_names(agent: &AgentDef, issues: &mut Vec<GraphIssue>) {
    let tools = agent.tools.iter().map(|tool: &ToolDef| ("tools", tool.name().to_owned()));
    let handoffs = agent.handoffs.iter().map(|handoff| ("handoffs", handoff.name()));
    let mut seen: BTreeMap<String, (&'static str, bool)> = BTreeMap::new();
    for (kind, name) in tools.chain(handoffs) {
        match seen.get_mut(&name) {
            None => {
                seen.insert(name, (kind, false));
            }
            Some((_, true)) => {}
            Some((first, reported)) => {
                *reported = true;
                let what = if *first == kind { kind } else { "functions (a tool and a handoff)" };
                issues.push(GraphIssue::DuplicateName { agent: agent.name.clone(), what, name });
            }
        }
    }
}

fn into_result(issues: Vec<GraphIssue>) -> Result<(), GraphError> {
    if issues.is_empty() { Ok(()) } else { Err(GraphError { issues }) }
}

#[cfg(test)]
mod tests;
