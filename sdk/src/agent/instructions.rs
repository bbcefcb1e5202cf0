//! What an agent is told.

use std::{fmt, sync::Arc};

use crate::tool::RunContext;

/// What an agent is told: nothing, a text, or a text computed at each turn.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Instructions {
    /// No system prompt.
    #[default]
    None,
    /// Always this text.
    Text(String),
    /// The text this function gives; see [`Instructions::computed`].
    Computed(ComputeInstructions),
}

/// A function that gives the instructions of one turn.
pub type ComputeInstructions = Arc<dyn Fn(&RunContext, &AgentInfo) -> String + Send + Sync>;

/// What a function of an agent knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentInfo {
    /// The agent's name.
    pub name: String,
    /// The turn it is asked for, counted from 1.
    pub turn: u32,
}

impl AgentInfo {
    /// An agent of this name at this turn.
    pub fn new(name: impl Into<String>, turn: u32) -> Self {
        Self { name: name.into(), turn }
    }
}

impl Instructions {
    /// Instructions computed before each model call.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay: it may use its arguments and nothing
    /// else.
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
