//! Parts of the messages of errors.

use std::{fmt, time::Duration};

use crate::{
    tool::{BoxError, WorkflowToolError},
    wire::incomplete,
};

/// The duration of the attempts at the end of an error message: ` (tried for 300 s)`, or an empty
/// string for `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriedFor(pub Option<Duration>);

impl fmt::Display for TriedFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |time| write!(f, " (tried for {} s)", time.as_secs()))
    }
}

/// Why a response has no usable answer, and what to do, for an error message.
pub(super) struct IncompleteResponse<'a> {
    pub(super) reason: &'a str,
    /// Names of the functions that were not called.
    pub(super) calls: &'a [String],
    pub(super) max_tokens: Option<u64>,
}

impl fmt::Display for IncompleteResponse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, calls, max_tokens } = self;
        match *reason {
            incomplete::MAX_OUTPUT_TOKENS => match max_tokens {
                Some(limit) => write!(f, "the model reached its limit of {limit} tokens (max_tokens)")?,
                None => f.write_str("the model reached its limit of tokens")?,
            },
            incomplete::CONTEXT_WINDOW => f.write_str("the conversation filled the model's context window")?,
            incomplete::CONTENT_FILTER => f.write_str("a content filter stopped the model")?,
            incomplete::EMPTY => f.write_str("the model said nothing and called nothing")?,
            reason => write!(f, "the model stopped early ({reason}) and said nothing")?,
        }
        if !calls.is_empty() {
            write!(f, " in its calls of {}, which were not made because they may be cut", calls.join(", "))?;
        } else if incomplete::may_be_cut(reason) {
            f.write_str(" before it said anything")?;
        }
        f.write_str("; ")?;
        match *reason {
            incomplete::MAX_OUTPUT_TOKENS => {
                f.write_str("raise max_tokens of the ModelSettings, lower its reasoning")?;
            }
            incomplete::CONTEXT_WINDOW => f.write_str("shorten the conversation (a session limit, compaction)")?,
            _ => f.write_str("change the request")?,
        }
        f.write_str(
            ", or set RunConfig::incomplete_answers, which asks again unless the provider keeps the conversation",
        )
    }
}

/// Returns the advice for a tool without a worker, for an error message.
pub(super) fn registration_advice(source: &BoxError) -> String {
    match source.downcast_ref::<WorkflowToolError>() {
        Some(error) => format!("start a worker that has it: {error}"),
        None => "add the agent to AgentsPlugin::agents on that queue's worker".to_owned(),
    }
}

/// Returns the information of a guardrail's result, for an error message.
pub(super) fn said(info: &serde_json::Value) -> String {
    match info {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => format!(": {text}"),
        other => format!(": {other}"),
    }
}
