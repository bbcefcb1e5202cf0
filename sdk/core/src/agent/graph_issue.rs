//! The issues that a check of a graph of agents can report, each with its remedy.

use crate::{tool::ToolIssue, wire::error_debug};

/// All issues of a graph, in the order of the agents' names.
///
/// # Retries
/// Never retried: the run fails before any model call, and the worker does not start.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} wrong with the agents:\n{}", count(.issues), list(.issues))]
#[non_exhaustive]
pub struct GraphError {
    /// The issues, each reported once.
    pub issues: Vec<GraphIssue>,
}

error_debug!(struct GraphError { issues });

/// One issue of a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphIssue {
    /// An agent without a name.
    #[error("an agent has an empty name; set one in Agent::new")]
    UnnamedAgent,
    /// Two agents that differ share a name.
    #[error("two different agents are named {agent:?}; rename one")]
    DuplicateAgent {
        /// The name that the agents share.
        agent: String,
    },
    /// Neither the agent nor the run sets a model.
    #[error("agent {agent:?} has no model; add .model(..) to it, or to the Runner")]
    NoModel {
        /// Name of the agent without a model.
        agent: String,
    },
    /// Two functions of an agent share a name, so a call is ambiguous.
    #[error(
        "agent {agent:?} has two {what} named {name:?}; rename a tool with #[tool(name = ..)], a handoff with \
         .tool_name(..)"
    )]
    DuplicateName {
        /// Name of the agent that has the functions.
        agent: String,
        /// `tools`, `handoffs`, or `functions (a tool and a handoff)`.
        what: &'static str,
        /// The name that the functions share.
        name: String,
    },
    /// Model activity options for an agent that is not in the graph.
    #[error(
        "there are model activity options for agent {agent:?}, which is not an agent of the graph (it has: {})",
        .known.join(", ")
    )]
    UnknownAgent {
        /// The agent name that the options were set for.
        agent: String,
        /// Names of the agents of the graph.
        known: Vec<String>,
    },
    /// A tool takes a state that the runner does not have. Only runners that execute the bodies of
    /// tools beside the loop report it: runs without Temporal, and sessions.
    #[error("tool {tool:?} requires State<{state}>; add it with Resources::state(..)")]
    MissingState {
        /// Name of the tool that takes the state.
        tool: String,
        /// Name of the state's type.
        state: &'static str,
    },
    /// A handoff by name to an agent that is not in the graph.
    #[error(
        "agent {agent:?} hands off to {target:?}, which is not an agent of the graph (it has: {})",
        .known.join(", ")
    )]
    UnknownTarget {
        /// Name of the agent that has the handoff.
        agent: String,
        /// The agent name in the handoff.
        target: String,
        /// Names of the agents of the graph.
        known: Vec<String>,
    },
    /// A tool's definition is wrong.
    #[error("tool {tool:?} of agent {agent:?}: {issue}")]
    Tool {
        /// Name of the agent that has the tool.
        agent: String,
        /// Name of the tool.
        tool: String,
        /// The issue of the definition.
        issue: ToolIssue,
    },
    /// The name of a handoff's function is not one that models accept.
    #[error(
        "handoff {handoff:?} of agent {agent:?}: the name must be 1 to 64 ASCII letters, digits, '_' and '-'; set \
         another with .tool_name(..)"
    )]
    HandoffName {
        /// Name of the agent that has the handoff.
        agent: String,
        /// Name of the handoff's function.
        handoff: String,
    },
    /// A handoff's input type does not fit OpenAI strict mode.
    #[error("the input type of handoff {handoff:?} of agent {agent:?} cannot be strict at {path:?}: {reason}")]
    HandoffInput {
        /// Name of the agent that has the handoff.
        agent: String,
        /// Name of the handoff's function.
        handoff: String,
        /// Location in the schema: `#` is the root, `#/properties/city` a member.
        path: String,
        /// Reason and remedy, as a sentence fragment.
        reason: String,
    },
    /// An output type does not fit OpenAI strict mode.
    #[error("the output type {output} of agent {agent:?} cannot be strict at {path:?}: {reason}")]
    Output {
        /// Name of the agent that has the output type.
        agent: String,
        /// Name of the output type.
        output: String,
        /// Location in the schema: `#` is the root, `#/properties/city` a member.
        path: String,
        /// Reason and remedy, as a sentence fragment.
        reason: String,
    },
    /// An agent that may end the run has another output type than the start agent.
    #[error(
        "agent {agent:?} answers with {found}, but the run of {start:?} with {expected}; \
         give both one output type, or run it with .untyped()"
    )]
    OutputDiffers {
        /// Name of the agent with the other output type.
        agent: String,
        /// Name of the agent's output type.
        found: String,
        /// Name of the start agent.
        start: String,
        /// Name of the start agent's output type.
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
