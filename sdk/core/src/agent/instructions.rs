//! Instructions of agents: the system prompt of their model calls.

use std::{fmt, sync::Arc};

use crate::tool::RunContext;

/// The instructions of an agent: none, a fixed string, or a string that is computed at each turn.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Instructions {
    /// No system prompt.
    #[default]
    None,
    /// A fixed string for all turns.
    Text(String),
    /// The string that this function returns; see [`Instructions::computed`].
    Computed(ComputeInstructions),
}

/// A function that returns the instructions of one turn.
pub type ComputeInstructions = Arc<dyn Fn(&RunContext, &AgentInfo) -> String + Send + Sync>;

/// The agent and the turn for which a function of an agent is called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentInfo {
    /// Name of the agent.
    pub name: String,
    /// The turn, counted from 1.
    pub turn: u32,
}

impl AgentInfo {
    /// Returns the information about this agent at this turn.
    pub fn new(name: impl Into<String>, turn: u32) -> Self {
        Self { name: name.into(), turn }
    }
}

impl Instructions {
    /// Returns instructions that are computed before each model call.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay: it may use only its arguments.
    pub fn computed(instructions: impl Fn(&RunContext, &AgentInfo) -> String + Send + Sync + 'static) -> Self {
        Self::Computed(Arc::new(instructions))
    }
}

impl From<&str> for Instructions {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Instructions {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl fmt::Debug for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Text(text) => f.debug_tuple("Text").field(text).finish(),
            Self::Computed(_) => f.write_str("Computed"),
        }
    }
}
