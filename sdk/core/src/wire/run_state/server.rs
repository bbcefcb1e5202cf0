//! A conversation that the provider keeps, so that each request contains only the items that the
//! provider has not seen.

use serde::{Deserialize, Serialize};

use crate::wire::absent::is_default;

/// State of a run's conversation at the provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerConversation {
    /// Id of the conversation; it does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// Id of the response that the next request continues: with chained requests, the latest one
    /// after each call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_response_id: Option<String>,
    /// `true` if each request continues the previous response.
    #[serde(default, skip_serializing_if = "is_default")]
    pub chained: bool,
    /// `true` if the provider has the run's input.
    #[serde(default, skip_serializing_if = "is_default")]
    pub has_input: bool,
    /// `true` if the conversation began with this run, so that the run's input and items are all of
    /// it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub began_here: bool,
    /// Number of the run's items that the provider has.
    #[serde(default, skip_serializing_if = "is_default")]
    pub seen_items: usize,
}
