//! A conversation that the provider keeps, so that each request carries only what it has not seen.

use serde::{Deserialize, Serialize};

use crate::wire::absent::is_default;

/// How a run goes on with a conversation at the provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerConversation {
    /// The conversation's id; it stays the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// The response the next request goes on from; the latest one after each call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_response_id: Option<String>,
    /// Whether requests are chained to responses.
    #[serde(default, skip_serializing_if = "is_default")]
    pub chained: bool,
    /// Whether the provider has the run's input.
    #[serde(default, skip_serializing_if = "is_default")]
    pub has_input: bool,
    /// Whether the conversation began with this run, so that the run's input and items are all of it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub began_here: bool,
    /// How many of the run's items the provider has.
    #[serde(default, skip_serializing_if = "is_default")]
    pub seen_items: usize,
}
