//! Writes a checkpoint of the proposal.

use serde_json::{Value, json};
use temporal_agents_core::wire::Item;

use super::{
    VERSION, anthropic, chat_completions,
    messages::{Omitted, messages_of},
};
use crate::agentic_session::format::{MessageDialect, ProposalForm};

/// A checkpoint of the proposal.
pub(in crate::agentic_session) struct Written {
    /// The details of the heartbeat: a JSON object, or a string that holds it.
    pub(in crate::agentic_session) details: Value,
    /// The kinds of items and parts that are left out, except reasoning and hosted tools.
    pub(in crate::agentic_session) omitted: Omitted,
}

/// Writes a conversation and its results.
pub(in crate::agentic_session) fn write(conversation: &[Item], results: &[Value], form: ProposalForm) -> Written {
    let mut omitted = Omitted::new();
    let messages = messages_of(conversation, &mut omitted);
    let messages = match form.dialect {
        MessageDialect::Anthropic => anthropic::messages(&messages),
        MessageDialect::ChatCompletions => chat_completions::messages(&messages, &mut omitted),
    };
    let checkpoint = json!({"version": VERSION, "messages": messages, "results": results});
    let details = if form.is_string { Value::String(checkpoint.to_string()) } else { checkpoint };
    Written { details, omitted }
}
