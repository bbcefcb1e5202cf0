//! The questions of a paused run as its history records them: one upsert of the memo in the
//! workflow task in which the run pauses.
//!
//! No other event of the history contains the questions. The size of the memo is bounded: long
//! arguments are truncated, and questions that do not fit are counted. The query `agent_state`
//! returns all of them in full.

use serde::{Deserialize, Serialize};

use super::{
    absent::is_default,
    agent_handlers::AgentInterruption,
    run_state::InterruptionKind,
    size::encoded_len,
    version::{WIRE_VERSION, WireVersion},
};

/// Key of the memo.
pub const QUESTIONS_MEMO: &str = "agents.questions";

/// Maximum bytes of arguments for each question: enough to recognise the call in a list.
const MAX_ARGUMENTS_BYTES: usize = 512;
/// Maximum bytes of JSON of all questions. Each pause records them, and every list of workflows
/// reads the memo.
const MOST_QUESTIONS: usize = 4 * 1024;

/// The questions that a run waits for when it pauses.
///
/// JSON shape:
/// `{"version": "1.2", "agent": "desk", "turn": 1, "questions": [{"id": "call_1", ..}]}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AskedQuestions {
    /// The version of this value.
    pub version: WireVersion,
    /// Name of the agent whose turn it is.
    pub agent: String,
    /// Number of the turn, counted from 1.
    pub turn: u32,
    /// The questions that fit, in display order.
    pub questions: Vec<PendingQuestion>,
    /// Number of questions that did not fit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub left_out: u32,
}

/// A call that waits for a decision, or for its output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PendingQuestion {
    /// Id to decide by.
    pub id: String,
    /// Name of the agent that made the call.
    pub agent: String,
    /// Name of the tool.
    pub tool: String,
    /// The first 512 bytes of the arguments as the model wrote them.
    pub arguments: String,
    /// `true` if the arguments are longer than that.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_cut: bool,
    /// Label of the hosted MCP server that requests approval; absent for the tools of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Kind of input that the call waits for; absent = a decision.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: InterruptionKind,
    /// Time at which the question expires, in milliseconds since the Unix epoch; absent = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

impl AskedQuestions {
    /// Returns the questions of this agent at this turn, as many as fit.
    pub fn new(agent: impl Into<String>, turn: u32, waits_for: impl IntoIterator<Item = AgentInterruption>) -> Self {
        let (mut questions, mut bytes, mut left_out) = (Vec::new(), 0_usize, 0_u32);
        for question in waits_for.into_iter().map(PendingQuestion::from) {
            let len = encoded_len(&question).unwrap_or(usize::MAX);
            if bytes.saturating_add(len) > MOST_QUESTIONS {
                // A later question may still fit, since it may be shorter.
                left_out = left_out.saturating_add(1);
                continue;
            }
            bytes += len;
            questions.push(question);
        }
        Self { version: WIRE_VERSION, agent: agent.into(), turn, questions, left_out }
    }
}

impl From<AgentInterruption> for PendingQuestion {
    fn from(asked: AgentInterruption) -> Self {
        let AgentInterruption { id, agent, tool, mut arguments, server, kind, question: _, expires_at } = asked;
        let is_cut = arguments.len() > MAX_ARGUMENTS_BYTES;
        if is_cut {
            arguments.truncate(arguments.floor_char_boundary(MAX_ARGUMENTS_BYTES));
        }
        Self { id, agent, tool, arguments, is_cut, server, kind, expires_at }
    }
}

#[cfg(test)]
mod tests;
