//! Why a model stopped, in one table for all APIs, and what an answer becomes for that reason.
//!
//! A streamed answer and a whole one become the same response, because both are read here. The guide
//! (`guide::providers`) has the outcomes that follow; what the run does with an answer that stopped
//! early is decided in `engine/incomplete.rs`.
//!
//! # Source
//! OpenAI, `finish_reason` and `incomplete_details`; Anthropic, "Stop reasons"; Google,
//! `FinishReason`; the references of Amazon Bedrock, DeepSeek, Mistral, OpenRouter and Z.ai for the
//! words of their own.

use temporal_agents_core::wire::{
    Item, ModelFailureKind,
    incomplete::{CONTENT_FILTER, CONTEXT_WINDOW, EMPTY, MAX_OUTPUT_TOKENS, PAUSE_TURN},
};

use super::{
    ModelError,
    answer_items::{is_call, says_nothing, with_refusal},
    http::answer::Answer,
};

/// The meaning of a provider's reason to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// The answer is complete.
    Complete,
    /// The model reached its limit of tokens.
    Length,
    /// The conversation filled the model's context.
    ContextWindow,
    /// A filter, or the model itself, refuses.
    Filter,
    /// The provider paused the turn.
    Pause,
    /// The model or its server failed.
    Failure,
    /// The table does not have the reason.
    Other,
}

/// The reasons, in lower case: some APIs write them in capitals.
const STOPS: [(Stop, &[&str]); 6] = [
    (
        Stop::Complete,
        &[
            "stop",
            "end_turn",
            "stop_sequence",
            "tool_use",
            "tool_calls",
            "function_call",
            "completed",
            "complete",
            "eos",
            "eos_token",
            "finish_reason_unspecified",
        ],
    ),
    (Stop::Length, &["length", "max_tokens", "max_output_tokens", "token_limit"]),
    (Stop::ContextWindow, &["model_context_window_exceeded", "model_length", "context_length_exceeded"]),
    (
        Stop::Filter,
        &[
            "content_filter",
            "refusal",
            "safety",
            "recitation",
            "language",
            "blocklist",
            "prohibited_content",
            "spii",
            "image_safety",
            "image_prohibited_content",
            "image_recitation",
            "error_toxic",
            "content_filtered",
            "guardrail_intervened",
            "sensitive",
            "model_armor",
        ],
    ),
    (Stop::Pause, &["pause_turn"]),
    (
        Stop::Failure,
        &[
            "error",
            "network_error",
            "insufficient_system_resource",
            "abort",
            "malformed_function_call",
            "unexpected_tool_call",
            "malformed_response",
            "malformed_tool_use",
            "malformed_model_output",
            "function_call_filter",
            "missing_thought_signature",
            "too_many_tool_calls",
            "timeout",
        ],
    ),
];

impl Stop {
    /// Reads a reason.
    ///
    /// Servers also send none, or an empty one, with a complete answer. Google's Chat Completions
    /// add a word: `content_filter: PROHIBITED_CONTENT`.
    fn from_reason(reason: Option<&str>) -> Self {
        let Some(reason) = reason.filter(|reason| !reason.is_empty()) else { return Self::Complete };
        let reason = reason.split(':').next().unwrap_or(reason).trim().to_ascii_lowercase();
        STOPS.iter().find(|(_, reasons)| reasons.contains(&&*reason)).map_or(Self::Other, |(stop, _)| *stop)
    }
}

/// Returns the output of an answer, and why it is incomplete.
///
/// A filter that left nothing becomes a refusal.
///
/// # Errors
/// The model or its server failed, or stopped for an unknown reason without an answer. What the
/// answer holds is not used: its end is missing.
pub(super) fn conclude(
    answer: &Answer,
    output: Vec<Item>,
    reason: Option<&str>,
) -> Result<(Vec<Item>, Option<String>), ModelError> {
    let word = reason.unwrap_or_default();
    let is_empty = says_nothing(&output);
    match Stop::from_reason(reason) {
        Stop::Complete => Ok((output, is_empty.then(|| EMPTY.to_owned()))),
        Stop::Length => Ok((output, Some(MAX_OUTPUT_TOKENS.to_owned()))),
        Stop::ContextWindow => Ok((output, Some(CONTEXT_WINDOW.to_owned()))),
        Stop::Pause => Ok((output, Some(PAUSE_TURN.to_owned()))),
        Stop::Filter => Ok((refuse(output, word, is_empty), Some(CONTENT_FILTER.to_owned()))),
        Stop::Failure => {
            Err(answer.failure(ModelFailureKind::ResponseFailed, &format!("the model stopped with an error ({word})")))
        }
        Stop::Other if is_empty => {
            Err(answer.failure(ModelFailureKind::ResponseFailed, &format!("the answer is empty: {word}")))
        }
        Stop::Other => Ok((output, Some(word.to_owned()))),
    }
}

/// Replaces what a filter left by a refusal, if it is nothing or the model's own refusal.
fn refuse(output: Vec<Item>, reason: &str, is_empty: bool) -> Vec<Item> {
    if is_empty && output.iter().all(|item| item.refusal().is_none()) {
        return with_refusal(output, &format!("The answer was withheld (stop reason {reason})."));
    }
    // Claude refuses in plain text.
    let text: String = output.iter().filter_map(Item::text).collect();
    if reason.eq_ignore_ascii_case("refusal") && !text.is_empty() && !output.iter().any(is_call) {
        return with_refusal(output, &text);
    }
    output
}

#[cfg(test)]
mod tests;
