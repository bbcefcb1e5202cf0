//! The open questions of a workflow's runs, in the workflow's memo: one upsert when a run pauses,
//! and one when an open question is decided or withdrawn.
//!
//! No other event of the history contains the questions, and lists of workflows contain the memo:
//! who waits for people is known without a worker and without reading a history. It costs one event
//! for each pause and one for each decision.
//!
//! The size of the memo is bounded: long arguments are truncated, and questions that do not fit are
//! counted. The query `agent_state` returns all of them in full.
//!
//! # Design
//! **One value, two uses.** The pause in a history needs the questions of the run that pauses. A
//! list needs all open questions of the workflow. So the value of a pause also has the questions of
//! [other runs](AskedQuestions::of_others), and the value that follows a decision is marked as an
//! [update](AskedQuestions::is_update), which readers of histories skip.

use serde::{Deserialize, Serialize};

use super::{
    absent::is_default,
    agent_handlers::AgentInterruption,
    mcp_call::McpQuestion,
    run_state::InterruptionKind,
    size::encoded_len,
    version::{WIRE_VERSION, WireVersion},
};

/// Key of the memo.
pub const QUESTIONS_MEMO: &str = "agents.questions";

/// Maximum bytes of arguments for each question: enough to recognise the call in a list.
const MAX_ARGUMENTS_BYTES: usize = 512;
/// Maximum bytes of JSON of the question of an MCP server, with its schema.
const MAX_QUESTION_BYTES: usize = 1024;
/// Maximum bytes of JSON of all questions. Each pause records them, and every list of workflows
/// reads the memo.
const MOST_QUESTIONS: usize = 4 * 1024;

/// The questions that a run waits for when it pauses, or those that are open after a decision.
///
/// JSON shape:
/// `{"version": "1.2", "agent": "desk", "turn": 1, "questions": [{"id": "call_1", ..}]}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedQuestions {
    /// The version of this value.
    pub version: WireVersion,
    /// Name of the agent whose turn it is.
    pub agent: String,
    /// Number of the turn, counted from 1.
    pub turn: u32,
    /// The questions that fit, in display order.
    pub questions: Vec<PendingQuestion>,
    /// The open questions of the workflow's other runs that fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of_others: Vec<PendingQuestion>,
    /// Number of questions that did not fit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub left_out: u32,
    /// `true` if no run pauses: an open question was decided or withdrawn, and `questions` are all
    /// that are still open.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_update: bool,
    /// `true` if the workflow has no inbox for decisions: whoever holds the paused state decides.
    #[serde(default, skip_serializing_if = "is_default")]
    pub without_inbox: bool,
}

/// A call that waits for a decision, or for its output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingQuestion {
    /// Id to decide by.
    pub id: String,
    /// Name of the agent that made the call.
    pub agent: String,
    /// Name of the tool.
    pub tool: String,
    /// The first 512 bytes of the arguments as the model wrote them.
    pub arguments: String,
    /// `true` if the arguments are longer than that, or the question of an MCP server was left out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_cut: bool,
    /// Label of the hosted MCP server that requests approval; absent for the tools of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Kind of input that the call waits for; absent = a decision.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: InterruptionKind,
    /// Question of an MCP server of at most 1 KiB, if `kind` is
    /// [`Input`](InterruptionKind::Input).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<McpQuestion>,
    /// Time at which the question expires, in milliseconds since the Unix epoch; absent = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

impl AskedQuestions {
    /// Returns the questions of this agent at this turn, as many as fit.
    pub fn new(agent: impl Into<String>, turn: u32, waits_for: impl IntoIterator<Item = AgentInterruption>) -> Self {
        Self::beside(agent, turn, waits_for, [])
    }

    /// Returns the questions of this agent at this turn, and those of the workflow's other runs, as
    /// many as fit.
    pub fn beside(
        agent: impl Into<String>,
        turn: u32,
        waits_for: impl IntoIterator<Item = AgentInterruption>,
        of_others: impl IntoIterator<Item = AgentInterruption>,
    ) -> Self {
        let mut room = Room { bytes: MOST_QUESTIONS, left_out: 0 };
        let questions = room.take(waits_for);
        let of_others = room.take(of_others);
        Self {
            version: WIRE_VERSION,
            agent: agent.into(),
            turn,
            questions,
            of_others,
            left_out: room.left_out,
            is_update: false,
            without_inbox: false,
        }
    }

    /// Returns the questions that people can decide, as far as they fit.
    pub fn open(self) -> Vec<PendingQuestion> {
        if self.without_inbox {
            return Vec::new();
        }
        let Self { mut questions, of_others, .. } = self;
        questions.extend(of_others);
        questions
    }
}

/// The room for questions in a memo.
struct Room {
    bytes: usize,
    left_out: u32,
}

impl Room {
    /// Returns the questions that fit, and counts the others.
    fn take(&mut self, waits_for: impl IntoIterator<Item = AgentInterruption>) -> Vec<PendingQuestion> {
        let mut questions = Vec::new();
        for question in waits_for.into_iter().map(PendingQuestion::from) {
            let len = encoded_len(&question).unwrap_or(usize::MAX);
            if len > self.bytes {
                // A later question may still fit, since it may be shorter.
                self.left_out = self.left_out.saturating_add(1);
                continue;
            }
            self.bytes -= len;
            questions.push(question);
        }
        questions
    }
}

impl From<AgentInterruption> for PendingQuestion {
    fn from(asked: AgentInterruption) -> Self {
        let AgentInterruption { id, agent, tool, mut arguments, server, kind, mut question, expires_at } = asked;
        let mut is_cut = arguments.len() > MAX_ARGUMENTS_BYTES;
        if is_cut {
            arguments.truncate(arguments.floor_char_boundary(MAX_ARGUMENTS_BYTES));
        }
        let fits = |question: &McpQuestion| encoded_len(question).is_ok_and(|bytes| bytes <= MAX_QUESTION_BYTES);
        if question.take_if(|question| !fits(question)).is_some() {
            is_cut = true;
        }
        Self { id, agent, tool, arguments, is_cut, server, kind, question, expires_at }
    }
}

#[cfg(test)]
mod tests;
