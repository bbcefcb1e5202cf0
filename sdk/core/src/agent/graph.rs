//! The graph of all agents that a run can reach, and the checks of their definitions.
//!
//! # Design
//! **Definitions are checked late, all at once.** Setters of `Agent` cannot fail. `Graph::check`
//! reports every issue together, in the worker before it starts and in the run before any model
//! call.
//!
//! **An agent that was found in a graph keeps the graph.** Handoffs by name (`Handoff::to`) lead to
//! agents of the whole graph; `Agent::find` returns the agent together with the other agents, as
//! the start of the same graph.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    def::{Agent, AgentDef},
    graph_issue::{GraphError, GraphIssue},
    handoff::{Handoff, HandoffTarget},
    output::OutputDef,
};
use crate::tool::{ToolBinding, ToolDef, ToolIssue, name::is_function_name, schema::NotStrict};

/// The agents that a start agent reaches by handoffs, to be drawn:
/// [`to_mermaid`](Self::to_mermaid), [`to_svg`](Self::to_svg).
#[derive(Clone, Debug)]
pub struct Graph {
    start: String,
    agents: BTreeMap<String, Arc<AgentDef>>,
    /// Agents that act as guardrails of the run itself, for whichever agent is the current one.
    judges: Vec<AgentDef>,
    conflicts: Vec<GraphIssue>,
}

impl Graph {
    /// Returns the graph of all agents that this agent reaches.
    pub fn of_agent<O>(agent: &Agent<O>) -> Self {
        Self::new(agent.def())
    }

    /// Returns the graph of all agents that this agent reaches.
    #[doc(hidden)]
    pub fn new(start: &AgentDef) -> Self {
        Self::of(&Arc::new(start.clone()))
    }

    /// Returns the graph of all agents that this agent reaches, and shares the agent.
    #[doc(hidden)]
    pub fn of(start: &Arc<AgentDef>) -> Self {
        let mut graph =
            Self { start: start.name.clone(), agents: BTreeMap::new(), judges: Vec::new(), conflicts: Vec::new() };
        graph.add(start);
        for agent in &start.found_among {
            graph.add(agent);
        }
        graph
    }

    /// Adds the agents that act as guardrails of the run itself, so that the checks cover them
    /// also.
    #[must_use]
    #[doc(hidden)]
    pub fn judged_by<'j>(mut self, judges: impl Iterator<Item = &'j AgentDef>) -> Self {
        self.judges.extend(judges.cloned());
        self
    }

    fn add(&mut self, agent: &Arc<AgentDef>) {
        if let Some(known) = self.agents.get(&agent.name) {
            // An agent that was built twice is one agent. Closures cannot be compared, so they are
            // ignored.
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

    /// Name of the agent with which a run starts.
    #[doc(hidden)]
    pub fn start(&self) -> &str {
        &self.start
    }

    /// Returns the agent with this name.
    #[doc(hidden)]
    pub fn agent(&self, name: &str) -> Option<&Arc<AgentDef>> {
        self.agents.get(name)
    }

    /// Returns all agents, ordered by name.
    #[doc(hidden)]
    pub fn agents(&self) -> impl Iterator<Item = &Arc<AgentDef>> {
        self.agents.values()
    }

    /// Returns the graphs of the agents that run inside turns of this graph's agents: as tools or
    /// as guardrails (also guardrails of the run), and inside those.
    #[doc(hidden)]
    pub fn nested(&self) -> Vec<Self> {
        let mut nested = Vec::new();
        for inside in self.agents.values().flat_map(|agent| inside(agent)).chain(&self.judges) {
            let graph = Self::new(inside);
            nested.extend(graph.nested());
            nested.push(graph);
        }
        nested
    }

    /// Returns the handoffs of an agent, each with the agent that it leads to.
    #[doc(hidden)]
    pub fn handoffs_of<'a>(&'a self, agent: &'a AgentDef) -> impl Iterator<Item = (&'a Handoff, &'a Arc<AgentDef>)> {
        agent.handoffs.iter().filter_map(|handoff| Some((handoff, self.agents.get(handoff.target().name())?)))
    }

    /// Checks everything that can be known before a model is called.
    ///
    /// # Errors
    /// [`GraphError`] with all issues.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), GraphError> {
        let mut found = Vec::new();
        for graph in std::iter::once(self).chain(&self.nested()) {
            found.extend_from_slice(&graph.conflicts);
            for agent in graph.agents.values() {
                graph.check_agent(agent, &mut found);
            }
        }
        // An agent that runs inside several others is checked several times; report each issue
        // once.
        let mut issues = Vec::with_capacity(found.len());
        for issue in found {
            if !issues.contains(&issue) {
                issues.push(issue);
            }
        }
        into_result(issues)
    }

    /// Checks that every agent has a model: its own, or the default of the run.
    ///
    /// # Errors
    /// [`GraphError`] that names each agent without one.
    #[doc(hidden)]
    pub fn check_models(&self, default: Option<&str>) -> Result<(), GraphError> {
        let missing = |agent: &&Arc<AgentDef>| agent.model.is_none() && default.is_none();
        let no_model = |agent: &Arc<AgentDef>| GraphIssue::NoModel { agent: agent.name.clone() };
        let nested = self.nested();
        let all = self.agents.values().chain(nested.iter().flat_map(Self::agents));
        into_result(all.filter(missing).map(no_model).collect())
    }

    /// Checks that every agent of these names is in the graph, or runs inside an agent of the
    /// graph.
    ///
    /// # Errors
    /// [`GraphError`] that names each agent that is not.
    #[doc(hidden)]
    pub fn check_known<'a>(&self, names: impl Iterator<Item = &'a str>) -> Result<(), GraphError> {
        let nested = self.nested();
        let all = self.agents.values().chain(nested.iter().flat_map(Self::agents));
        let known: BTreeSet<&str> = all.map(|agent| &*agent.name).collect();
        let unknown = |name: &'a str| GraphIssue::UnknownAgent {
            agent: name.to_owned(),
            known: known.iter().map(|name| (*name).to_owned()).collect(),
        };
        into_result(names.filter(|name| !known.contains(name)).map(unknown).collect())
    }

    /// Checks that all agents have the output type of the start agent.
    ///
    /// # Errors
    /// [`GraphError`] that names each agent with another output type.
    #[doc(hidden)]
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
            if !is_function_name(&handoff.name()) {
                issues.push(GraphIssue::HandoffName { agent: name(), handoff: handoff.name() });
            }
            if let Some(issue) = handoff.issue() {
                issues.push(GraphIssue::HandoffInput {
                    agent: name(),
                    handoff: handoff.name(),
                    path: issue.path.clone(),
                    reason: NotStrict::reason_beside_tools(&issue.reason).to_owned(),
                });
            }
        }
        if let Some((output, issue)) = agent.output.as_ref().and_then(|output| Some((output, output.issue()?))) {
            issues.push(GraphIssue::Output {
                agent: name(),
                output: output.type_name().to_owned(),
                path: issue.path.clone(),
                reason: NotStrict::reason_beside_tools(&issue.reason).to_owned(),
            });
        }
    }

    /// Checks that no two functions of an agent (tools and handoffs) share a name.
    ///
    /// # Errors
    /// [`GraphError`] that names each duplicate.
    #[doc(hidden)]
    pub fn check_names(&self) -> Result<(), GraphError> {
        let mut issues = Vec::new();
        let nested = self.nested();
        for agent in self.agents.values().chain(nested.iter().flat_map(Self::agents)) {
            check_names(agent, &mut issues);
        }
        into_result(issues)
    }
}

/// Returns the agents that run inside the turns of an agent.
fn inside(agent: &AgentDef) -> impl Iterator<Item = &AgentDef> {
    let tools = agent.tools.iter().filter_map(|tool| match tool.binding() {
        ToolBinding::Agent(tool) => Some(&**tool.agent()),
        _ => None,
    });
    tools.chain(agent.judges())
}

/// Adds an issue for each name that several functions of an agent share, once per name.
fn check_names(agent: &AgentDef, issues: &mut Vec<GraphIssue>) {
    // A function with an enabled rule may share its name with an alternative; each turn checks the
    // names of the functions that it offers.
    let tools = agent.tools.iter().filter(|tool| tool.enabled_rule().is_always());
    let tools = tools.map(|tool: &ToolDef| ("tools", tool.name().to_owned()));
    let handoffs = agent.handoffs.iter().filter(|handoff| handoff.enabled().is_always());
    let handoffs = handoffs.map(|handoff| ("handoffs", handoff.name()));
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
