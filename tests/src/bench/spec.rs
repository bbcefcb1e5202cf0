//! The work of one run of a benchmark.

use serde::{Deserialize, Serialize};

/// One run: the only argument of each workflow and, as JSON, the user's message to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The behaviour of the model.
    pub kind: Kind,
    /// Number of calls of the tool.
    pub turns: u32,
    /// Size of a tool's result, in bytes.
    pub tool_bytes: usize,
    /// Size of each text of the model, in bytes.
    pub text_bytes: usize,
}

/// The behaviour of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The model answers.
    Chat,
    /// The model calls the tool, once per turn, and then answers.
    Tools,
    /// The model hands off to an agent that calls the tool and answers.
    Handoff,
}

impl Spec {
    /// One answer.
    pub const CHAT: Self = Self { kind: Kind::Chat, turns: 0, tool_bytes: 0, text_bytes: 200 };
    /// A handoff, and one call of the tool.
    pub const HANDOFF: Self = Self { kind: Kind::Handoff, ..Self::tools(1) };

    /// Creates a spec with `turns` calls of the tool, one per turn.
    pub const fn tools(turns: u32) -> Self {
        Self { kind: Kind::Tools, turns, tool_bytes: 500, text_bytes: 200 }
    }

    /// Returns the number of activities of a run: model calls and calls of the tool.
    pub fn activities(&self) -> u32 {
        match self.kind {
            Kind::Chat | Kind::Tools => 2 * self.turns + 1,
            Kind::Handoff => 2 * self.turns + 2,
        }
    }

    /// Returns the spec as the user's message.
    ///
    /// # Panics
    /// Never: a spec is JSON by construction.
    pub fn message(&self) -> String {
        serde_json::to_string(self).expect("a spec is JSON by construction")
    }
}
