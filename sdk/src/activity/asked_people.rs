//! The question that an MCP server asks during a call, on its way from the call to the run.

use std::sync::{Arc, Mutex, PoisonError};

use temporal_agents_core::wire::McpQuestion;

/// Holds the question that a server has asked people during a call.
#[derive(Clone, Default)]
pub(crate) struct QuestionSlot(Arc<Mutex<Option<McpQuestion>>>);

impl QuestionSlot {
    #[cfg(feature = "mcp")]
    pub(crate) fn put(&self, question: McpQuestion) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(question);
    }

    pub(crate) fn take(&self) -> Option<McpQuestion> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
