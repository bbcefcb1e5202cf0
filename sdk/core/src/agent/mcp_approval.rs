//! Answers to the approval requests of hosted MCP servers.

use std::{fmt, sync::Arc};

use crate::{
    tool::RunContext,
    wire::run_state::{Decision, McpApproval},
};

/// A function that answers an approval request of a hosted MCP server at once. The message of its
/// decision is sent to the server as the reason.
///
/// # Determinism
/// The function runs in the workflow, again on replay.
#[derive(Clone)]
pub struct AnswerApproval(Arc<Answer>);

type Answer = dyn Fn(&RunContext, &McpApproval) -> Decision + Send + Sync;

impl AnswerApproval {
    /// Returns an answer that calls this function.
    pub fn new(answer: impl Fn(&RunContext, &McpApproval) -> Decision + Send + Sync + 'static) -> Self {
        Self(Arc::new(answer))
    }

    /// Returns the decision about an approval request.
    pub fn decide(&self, run: &RunContext, question: &McpApproval) -> Decision {
        (self.0)(run, question)
    }
}

impl fmt::Debug for AnswerApproval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnswerApproval")
    }
}
