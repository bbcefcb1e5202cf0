//! Whether the state of a run fits the agents it is resumed with.

use crate::{
    agent::{AgentDef, Graph},
    tool::{ToolBinding, ToolDef},
    wire::{
        RunState, WireVersionMismatch, error_debug,
        run_state::{CallProgress, Phase, PlannedHandoff, ToolRound, TurnSetup},
    },
};

/// A state names what its agents do not have.
///
/// # Retries
/// Never: the same agents do not fit the next time either.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the state of the run does not fit its agents:\n{}", list(.issues))]
pub struct StateMismatch {
    /// All that is missing.
    pub issues: Vec<StateIssue>,
}

error_debug!(struct StateMismatch { issues });

impl StateMismatch {
    /// Whether other agents, or another release, could resume the state. One that has failed, or that contradicts itself, nobody can.
    pub(crate) fn may_fit_other_agents(&self) -> bool {
        !self.issues.iter().any(|issue| matches!(issue, StateIssue::Failed { .. } | StateIssue::NoHandoff { .. }))
    }
}

/// One thing a state names and its agents do not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateIssue {
    /// An agent is not there.
    #[error("agent {agent:?} is not reachable from {start:?} (there are: {})", .known.join(", "))]
    UnknownAgent {
        /// The agent.
        agent: String,
        /// The agent the graph starts with.
        start: String,
        /// The agents there are.
        known: Vec<String>,
    },
    /// A tool with a pending call is not there.
    #[error("agent {agent:?} has no tool {tool:?}, but call {call_id:?} of it is pending")]
    UnknownTool {
        /// The agent.
        agent: String,
        /// The tool.
        tool: String,
        /// The call.
        call_id: String,
    },
    /// A tool with a paused run inside is no agent any more.
    #[error("tool {tool:?} of agent {agent:?} is no agent, but call {call_id:?} of it is a paused run")]
    NoAgentTool {
        /// The agent.
        agent: String,
        /// The tool.
        tool: String,
        /// The call.
        call_id: String,
    },
    /// A handoff that is to be taken is not there.
    #[error("agent {agent:?} has no handoff {handoff:?}, but it is to be taken")]
    UnknownHandoff {
        /// The agent.
        agent: String,
        /// The handoff's function name.
        handoff: String,
    },
    /// A handoff that the model is about to be offered is not there.
    #[error("agent {agent:?} has no handoff {handoff:?}, but its model is about to be offered it")]
    UnknownOffer {
        /// The agent.
        agent: String,
        /// The handoff's function name.
        handoff: String,
    },
    /// A handoff is to be taken, and there is none.
    #[error("agent {agent:?} is to hand off, but the state names no handoff")]
    NoHandoff {
        /// The agent.
        agent: String,
    },
    /// The run has failed in the middle of a turn.
    #[error("the run has failed and cannot go on, only a new one can: {reason}")]
    Failed {
        /// Why it has failed.
        reason: String,
    },
    /// The state is of a version that is not read here.
    #[error(transparent)]
    Version(#[from] WireVersionMismatch),
}

fn list(issues: &[StateIssue]) -> String {
    issues.iter().map(|issue| format!("- {issue}")).collect::<Vec<_>>().join("\n")
}

/// Checks a state against the graph it is resumed with.
///
/// # Errors
/// [`StateMismatch`] with all that is missing.
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
    // Every phase by name: what a new one names has to be looked for here.
    match &state.phase {
        Phase::Interrupted { round }
        | Phase::ResumeDue { round }
        | Phase::ToolsDue { round }
        | Phase::McpDue { round }
        | Phase::ToolUseDue { round } => {
            check_round(agent, round, issues);
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

/// The issue of an agent that is named and not there.
pub(crate) fn unknown_agent(agent: &str, graph: &Graph) -> StateIssue {
    StateIssue::UnknownAgent {
        agent: agent.to_owned(),
        start: graph.start().to_owned(),
        known: graph.agents().map(|agent| agent.name.clone()).collect(),
    }
}

fn check_round(agent: &AgentDef, round: &ToolRound, issues: &mut Vec<StateIssue>) {
    for call in &round.calls {
        let (tool, call_id) = (&call.call.tool, &call.call.call_id);
        if !call.is_known || matches!(call.progress, CallProgress::Done { .. }) {
            continue;
        }
        let names = || (agent.name.clone(), tool.clone(), call_id.clone());
        let definition = agent.tool_named(tool, call.call.variant);
        match (&call.progress, definition.map(ToolDef::binding)) {
            // What an MCP server offers is known only once it is listed.
            (_, None) if !may_be_listed(agent, &call.progress) => {
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

/// Whether a tool that is none of the agent's own may be one of its MCP servers'.
fn may_be_listed(agent: &AgentDef, progress: &CallProgress) -> bool {
    !agent.mcp_servers.is_empty() && !matches!(progress, CallProgress::Paused { .. })
}

fn check_handoffs(graph: &Graph, agent: &AgentDef, handoffs: &[PlannedHandoff], issues: &mut Vec<StateIssue>) {
    for planned in handoffs {
        if !leads(graph, agent, (&planned.tool_name, planned.variant), &planned.target) {
            issues.push(StateIssue::UnknownHandoff { agent: agent.name.clone(), handoff: planned.tool_name.clone() });
        }
    }
}

/// Checks what the model is about to be offered: it may take any of it.
fn check_offer(graph: &Graph, agent: &AgentDef, setup: &TurnSetup, issues: &mut Vec<StateIssue>) {
    for offered in &setup.definitions.handoffs {
        let variant = setup.variant(&offered.tool_name);
        if !leads(graph, agent, (&offered.tool_name, variant), &offered.agent_name) {
            issues.push(StateIssue::UnknownOffer { agent: agent.name.clone(), handoff: offered.tool_name.clone() });
        }
    }
}

/// Whether the agent has this handoff, and it leads to this target.
fn leads(graph: &Graph, agent: &AgentDef, (name, variant): (&str, usize), to: &str) -> bool {
    let target = agent.handoff_named(name, variant).map(|handoff| handoff.target().name());
    target == Some(to) && graph.agent(to).is_some()
}
