//! What one run of a benchmark is to do.

use serde::{Deserialize, Serialize};

/// One run; the only argument of each workflow, and, as JSON text, what the user says to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// What the model does.
    pub kind: Kind,
    /// How often the tool is called.
    pub turns: u32,
    /// The size of a tool's result.
    pub tool_bytes: usize,
    /// The size of each text of the model.
    pub text_bytes: usize,
}

/// What the model does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It answers.
    Chat,
    /// It calls the tool, once a turn, and answers.
    Tools,
    /// It hands off to an agent that does that.
    Handoff,
}

impl Spec {
    /// One answer.
    pub const CHAT: Self = Self { kind: Kind::Chat, turns: 0, tool_bytes: 0, text_bytes: 200 };
    /// A handoff, and one call of the tool.
    pub const HANDOFF: Self = Self { kind: Kind::Handoff, ..Self::tools(1) };

    /// So many calls of the tool, one a turn.
    pub const fn tools(turns: u32) -> Self {
        Self { kind: Kind::Tools, turns, tool_bytes: 500, text_bytes: 200 }
    }

    /// How many activities a run has: model calls and calls of the tool.
    pub fn activities(&self) -> u32 {
        match self.kind {
            Kind::Chat | Kind::Tools => 2 * self.turns + 1,
            Kind::Handoff => 2 * self.turns + 2,
        }
    }

    /// The spec as the user's message.
    ///
    /// # Panics
    /// Never: a spec is JSON by construction.
    pub fn message(&self) -> String {
        serde_json::to_string(self).expect("a spec is JSON by construction")
    }
}
