//! Checks that the state of a run matches the agents it is resumed with.

use crate::{
    agent::{AgentDef, Graph},
    tool::{RemoteToolset, ToolBinding, ToolDef},
    wire::{
        RunState, SelectedToolset, ToolsetSnapshot, WireVersionMismatch, error_debug,
        run_state::{CallProgress, Phase, PlannedHandoff, ToolRound, TurnSetup},
    },
};

/// The state of a run does not match the agents that it is resumed with.
///
/// # Retries
/// Never retried: the same agents do not match the next time either.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the state of the run does not match its agents:\n{}", list(.issues))]
#[non_exhaustive]
pub struct StateMismatch {
    /// All mismatches.
    pub issues: Vec<StateIssue>,
}

error_debug!(struct StateMismatch { issues });

impl StateMismatch {
    /// Returns `true` if other agents, or another release, could resume the state. A state that has
    /// failed or is inconsistent cannot be resumed with any agents.
    #[doc(hidden)]
    pub fn is_resumable_by_other_agents(&self) -> bool {
        !self.issues.iter().any(|issue| matches!(issue, StateIssue::Failed { .. } | StateIssue::NoHandoff { .. }))
    }
}

/// A mismatch between the state of a run and its agents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateIssue {
    /// The state names an agent that does not exist.
    #[error("agent {agent:?} is not reachable from {start:?} (reachable agents: {})", .known.join(", "))]
    UnknownAgent {
        /// Name of the agent.
        agent: String,
        /// Name of the agent that the graph starts with.
        start: String,
        /// Names of all agents of the graph.
        known: Vec<String>,
    },
    /// The agent does not have the tool of a pending call.
    #[error("agent {agent:?} has no tool {tool:?}, but call {call_id:?} of it is pending")]
    UnknownTool {
        /// Name of the agent.
        agent: String,
        /// Name of the tool.
        tool: String,
        /// Id of the pending call.
        call_id: String,
    },
    /// The tool of a call with a paused run is no longer an agent.
    #[error("tool {tool:?} of agent {agent:?} is not an agent, but its call {call_id:?} is a paused run")]
    NoAgentTool {
        /// Name of the agent that made the call.
        agent: String,
        /// Name of the tool.
        tool: String,
        /// Id of the call with the paused run.
        call_id: String,
    },
    /// The agent does not have the handoff that is due.
    #[error("agent {agent:?} has no handoff {handoff:?}, but the handoff is due")]
    UnknownHandoff {
        /// Name of the agent that hands off.
        agent: String,
        /// Function name of the handoff.
        handoff: String,
    },
    /// The agent does not have a handoff that the next model call offers.
    #[error("agent {agent:?} has no handoff {handoff:?}, but its next model call offers it")]
    UnknownOffer {
        /// Name of the agent that calls the model.
        agent: String,
        /// Function name of the handoff.
        handoff: String,
    },
    /// A handoff is due, and the state names none.
    #[error("a handoff of agent {agent:?} is due, but the state names none")]
    NoHandoff {
        /// Name of the agent that hands off.
        agent: String,
    },
    /// The run has failed in the middle of a turn.
    #[error("the run has failed and cannot be resumed; start a new run: {reason}")]
    Failed {
        /// Error message of the failure.
        reason: String,
    },
    /// The state has a version that this build does not read.
    #[error(transparent)]
    Version(#[from] WireVersionMismatch),
}

fn list(issues: &[StateIssue]) -> String {
    issues.iter().map(|issue| format!("- {issue}")).collect::<Vec<_>>().join("\n")
}

/// Checks a state against the graph it is resumed with.
///
/// # Errors
/// [`StateMismatch`] with all mismatches.
pub fn check_fit(state: &RunState, graph: &Graph) -> Result<(), StateMismatch> {
    let mut issues = Vec::new();
    collect(state, graph, &mut issues);
    if issues.is_empty() { Ok(()) } else { Err(StateMismatch { issues }) }
}

fn collect(state: &RunState, graph: &Graph, issues: &mut Vec<StateIssue>) {
    if let Err(mismatch) = state.version.check("run state") {
        issues.push(mismatch.into());
        return;
    }
    let Some(agent) = graph.agent(&state.agent) else {
        issues.push(unknown_agent(&state.agent, graph));
        return;
    };
    // No wildcard: the references of a new phase have to be checked here.
    match &state.phase {
        Phase::Interrupted { round }
        | Phase::ResumeDue { round }
        | Phase::ToolsDue { round }
        | Phase::McpDue { round }
        | Phase::ToolUseDue { round } => {
            check_round(agent, round, &state.toolset, issues);
            check_handoffs(graph, agent, &round.handoffs, issues);
        }
        Phase::ModelDue { setup } => check_offer(graph, agent, setup, issues),
        Phase::HandoffDue { handoffs } => {
            if handoffs.is_empty() {
                issues.push(StateIssue::NoHandoff { agent: agent.name.clone() });
            }
            check_handoffs(graph, agent, handoffs, issues);
        }
        Phase::RewriteDue { handoff, source } => match graph.agent(source) {
            Some(source) => check_handoffs(graph, source, std::slice::from_ref(handoff), issues),
            None => issues.push(unknown_agent(source, graph)),
        },
        Phase::Failed { reason } => issues.push(StateIssue::Failed { reason: reason.clone() }),
        Phase::TurnDue
        | Phase::OutputDue { .. }
        | Phase::ErrorDue { .. }
        | Phase::FinalDue { .. }
        | Phase::Finished { .. } => {}
    }
}

/// Returns the issue of an agent that is named but does not exist.
pub fn unknown_agent(agent: &str, graph: &Graph) -> StateIssue {
    StateIssue::UnknownAgent {
        agent: agent.to_owned(),
        start: graph.start().to_owned(),
        known: graph.agents().map(|agent| agent.name.clone()).collect(),
    }
}

fn check_round(agent: &AgentDef, round: &ToolRound, toolset: &ToolsetSnapshot, issues: &mut Vec<StateIssue>) {
    for call in &round.calls {
        let (tool, call_id) = (&call.call.tool, &call.call.call_id);
        if !call.is_known || matches!(call.progress, CallProgress::Done { .. }) {
            continue;
        }
        let names = || (agent.name.clone(), tool.clone(), call_id.clone());
        let definition = agent.tool_named(tool, call.call.variant);
        match (&call.progress, definition.map(ToolDef::binding)) {
            // The tools of an MCP server are known only after they are listed.
            (_, None) if !may_be_listed(agent, &call.progress) && !is_selected(toolset, tool) => {
                let (agent, tool, call_id) = names();
                issues.push(StateIssue::UnknownTool { agent, tool, call_id });
            }
            (CallProgress::Paused { run, .. }, Some(ToolBinding::Agent(nested))) => {
                collect(run, &Graph::new(nested.agent()), issues);
            }
            (CallProgress::Paused { .. }, Some(_)) => {
                let (agent, tool, call_id) = names();
                issues.push(StateIssue::NoAgentTool { agent, tool, call_id });
            }
            _ => {}
        }
    }
}

/// Returns `true` if a tool that the agent does not have itself may belong to one of its MCP
/// servers.
fn may_be_listed(agent: &AgentDef, progress: &CallProgress) -> bool {
    !agent.mcp_servers.is_empty() && !matches!(progress, CallProgress::Paused { .. })
}

/// Returns `true` if the tool belongs to a toolset that was selected for the run.
fn is_selected(toolset: &ToolsetSnapshot, name: &str) -> bool {
    let has_it = |selected: &SelectedToolset| {
        let toolset = RemoteToolset::of_selected(selected, None);
        toolset.shown_names(&selected.tools).iter().any(|shown| shown == name)
    };
    toolset.selected.iter().any(has_it)
}

fn check_handoffs(graph: &Graph, agent: &AgentDef, handoffs: &[PlannedHandoff], issues: &mut Vec<StateIssue>) {
    for planned in handoffs {
        if !leads(graph, agent, (&planned.tool_name, planned.variant), &planned.target) {
            issues.push(StateIssue::UnknownHandoff { agent: agent.name.clone(), handoff: planned.tool_name.clone() });
        }
    }
}

/// Checks the handoffs that the next model call offers: the model may choose any of them.
fn check_offer(graph: &Graph, agent: &AgentDef, setup: &TurnSetup, issues: &mut Vec<StateIssue>) {
    for offered in &setup.definitions.handoffs {
        let variant = setup.variant(&offered.tool_name);
        if !leads(graph, agent, (&offered.tool_name, variant), &offered.agent_name) {
            issues.push(StateIssue::UnknownOffer { agent: agent.name.clone(), handoff: offered.tool_name.clone() });
        }
    }
}

/// Returns `true` if the agent has this handoff and it leads to this target.
fn leads(graph: &Graph, agent: &AgentDef, (name, variant): (&str, usize), to: &str) -> bool {
    let target = agent.handoff_named(name, variant).map(|handoff| handoff.target().name());
    target == Some(to) && graph.agent(to).is_some()
}
