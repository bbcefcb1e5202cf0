//! Answers to hosted MCP servers that ask before they call a tool.

use std::{fmt, sync::Arc};

use crate::{
    tool::RunContext,
    wire::run_state::{Decision, McpApproval},
};

/// A function that answers a hosted MCP server's question at once. Its message is the reason given
/// to the server.
///
/// # Determinism
/// It runs in the workflow, again on replay.
#[derive(Clone)]
pub struct AnswerApproval(Arc<Answer>);

type Answer = dyn Fn(&RunContext, &McpApproval) -> Decision + Send + Sync;

impl AnswerApproval {
    /// This function as an answer.
    pub fn new(answer: impl Fn(&RunContext, &McpApproval) -> Decision + Send + Sync + 'static) -> Self {
        Self(Arc::new(answer))
    }

    /// The answer to a question.
    pub fn decide(&self, run: &RunContext, question: &McpApproval) -> Decision {
        (self.0)(run, question)
    }
}

impl fmt::Debug for AnswerApproval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerApproval")
    }
}
