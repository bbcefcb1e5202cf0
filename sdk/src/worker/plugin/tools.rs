//! The tools that a worker runs: those of its agents and its own, checked.

use std::collections::{BTreeMap, BTreeSet};

use super::{AgentsPlugin, InstallIssue, guardrails, mcp};
use crate::{
    agent::Graph,
    tool::{OversizedOutput, ToolBinding, ToolDef, schema},
};

impl AgentsPlugin {
    /// The tools of all graphs by activity type, with what is wrong with graphs and tools added to `issues`. A tool bound to
    /// another task queue runs on another worker, which must have its state.
    pub(super) fn checked_tools(&self, task_queue: &str, issues: &mut Vec<InstallIssue>) -> BTreeMap<String, ToolDef> {
        let mut tools: BTreeMap<String, ToolDef> = BTreeMap::new();
        let graphs: Vec<Graph> = self.agents.iter().map(Graph::new).collect();
        for graph in &graphs {
            if let Err(error) = graph.check() {
                issues.extend(error.issues.into_iter().map(InstallIssue::Graph));
            }
        }
        let nested: Vec<Graph> = graphs.iter().flat_map(Graph::nested).collect();
        let agents: Vec<_> = graphs.iter().chain(&nested).flat_map(Graph::agents).collect();
        mcp::check(self, &agents, task_queue, issues);
        let of_agents = agents.iter().flat_map(|agent| agent.tools.iter().chain(guardrails::activities_of(agent)));
        name_unchecked(agents.iter().flat_map(|agent| &agent.tools).chain(&self.tools));
        let is_activity = |tool: &&ToolDef| matches!(tool.binding(), ToolBinding::Activity { .. });
        for tool in of_agents.chain(&self.tools).filter(is_activity) {
            match tools.get(&tool.activity_type()) {
                None => {
                    if runs_on(tool, task_queue) {
                        issues.extend(self.missing_states(tool));
                    }
                    tools.insert(tool.activity_type(), tool.clone());
                }
                Some(known) if is_same(known, tool) => {}
                Some(_) => {
                    let issue = InstallIssue::DuplicateTool { tool: tool.name().to_owned() };
                    if !issues.contains(&issue) {
                        issues.push(issue);
                    }
                }
            }
        }
        tools
    }

    fn missing_states(&self, tool: &ToolDef) -> Vec<InstallIssue> {
        let spills = tool.output_limit().above == OversizedOutput::Spill && self.spills.0.is_none();
        let no_store = spills.then(|| InstallIssue::MissingSpillStore { tool: tool.name().to_owned() });
        let missing = tool.requirements().iter().filter(|requirement| !self.states.has(requirement));
        missing
            .map(|requirement| InstallIssue::MissingState {
                tool: tool.name().to_owned(),
                state: requirement.type_name(),
            })
            .chain(no_store)
            .collect()
    }
}

/// Logs, once for a tool, which keywords of its schema are not checked.
fn name_unchecked<'t>(tools: impl Iterator<Item = &'t ToolDef>) {
    let mut named = BTreeSet::new();
    for tool in tools {
        let keywords = schema::unchecked(tool.accepts());
        if !keywords.is_empty() && named.insert(tool.name()) {
            tracing::warn!(tool = tool.name(), ?keywords, "arguments are not checked against these keywords");
        }
    }
}

/// Whether a worker on this task queue runs the tool.
pub(super) fn runs_on(tool: &ToolDef, task_queue: &str) -> bool {
    match tool.binding() {
        ToolBinding::Activity { options, .. } => options.task_queue.as_deref().is_none_or(|queue| queue == task_queue),
        _ => true,
    }
}

/// Whether two definitions are of one tool. Bodies cannot be compared; what the model and the worker see of them can.
fn is_same(one: &ToolDef, other: &ToolDef) -> bool {
    one.spec() == other.spec()
        && one.requirements() == other.requirements()
        && format!("{:?}", one.binding()) == format!("{:?}", other.binding())
        && one.output_limit() == other.output_limit()
        && one.redaction().is_some() == other.redaction().is_some()
}
