//! The states that tools of a run require and its runner does not have. They are found before the
//! first model call: a call of such a tool could only fail, and only the model would receive the
//! failure.

use temporal_agents_core::{
    agent::{Graph, GraphIssue},
    tool::{ToolBinding, ToolDef, state::StateRequirement},
};

/// Returns an issue for each state that a tool or a guardrail of these agents requires and that is
/// missing.
pub(crate) fn missing(graph: &Graph, is_there: impl Fn(&StateRequirement) -> bool) -> Vec<GraphIssue> {
    let nested = graph.nested();
    let agents = std::iter::once(graph).chain(&nested).flat_map(Graph::agents);
    let tools = agents.flat_map(|agent| agent.tools.iter().chain(agent.guardrail_activities()));
    let mut issues = Vec::new();
    for tool in tools.filter(|tool| matches!(tool.binding(), ToolBinding::Activity { .. })) {
        let missing = tool.requirements().iter().filter(|requirement| !is_there(requirement));
        for issue in missing.map(|requirement| issue(tool, requirement)) {
            // Several agents may have the same tool.
            if !issues.contains(&issue) {
                issues.push(issue);
            }
        }
    }
    issues
}

fn issue(tool: &ToolDef, requirement: &StateRequirement) -> GraphIssue {
    GraphIssue::MissingState { tool: tool.name().to_owned(), state: requirement.type_name() }
}
