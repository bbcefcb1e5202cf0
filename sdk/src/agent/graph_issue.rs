//! What can be wrong with a graph of agents, and what to do about it.

use crate::{tool::ToolIssue, wire::error_debug};

/// Everything wrong with a graph, in the order of the agents' names.
///
/// # Retries
/// Never retried: the run fails before any model call, the worker does not start.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} wrong with the agents:\n{}", count(.issues), list(.issues))]
pub struct GraphError {
    /// The issues.
    pub issues: Vec<GraphIssue>,
}

error_debug!(struct GraphError { issues });

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
    #[error(
        "agent {agent:?} has two {what} named {name:?}; rename a tool with #[tool(name = ..)], a handoff with .tool_name(..)"
    )]
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
    /// A tool takes a state that the runner does not have, where the bodies of tools run beside the
    /// loop: without Temporal, or in a session.
    #[error("tool {tool:?} needs State<{state}>; add .state(..) with one to the InlineRunner")]
    MissingState {
        /// The tool.
        tool: String,
        /// The state's type.
        state: &'static str,
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
