//! Reasons to stop that the library acts on.
//!
//! [`ModelResponse::incomplete`](super::ModelResponse::incomplete) is open data: a reason that is not
//! listed here is a provider's own, and marks an answer without changing what follows it. The guide
//! has the table of outcomes (`guide::providers`).

/// The model reached its limit of tokens, so the last part may be cut.
pub const MAX_OUTPUT_TOKENS: &str = "max_output_tokens";

/// A filter ended the answer, so the last part may be cut.
pub const CONTENT_FILTER: &str = "content_filter";

/// The conversation filled the model's context, so the last part may be cut.
pub const CONTEXT_WINDOW: &str = "model_context_window_exceeded";

/// The provider paused a long turn, and continues it when it is sent its answer.
pub const PAUSE_TURN: &str = "pause_turn";

/// The answer is complete and holds neither text nor a call.
pub const EMPTY: &str = "empty";

/// Returns `true` if an answer that stopped for this reason may be cut anywhere.
pub fn may_be_cut(reason: &str) -> bool {
    matches!(reason, MAX_OUTPUT_TOKENS | CONTENT_FILTER | CONTEXT_WINDOW)
}
