//! A read or a write of a session through an activity.

use serde::{Deserialize, Serialize};

use super::{
    item::Item,
    version::{Versioned, WireVersion},
};

/// What the type of a session's activity begins with; the store's name follows.
pub const SESSION_ACTIVITY: &str = "agents.session";

/// The input of a session activity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// The session.
    pub session_id: String,
    /// What to do.
    pub operation: SessionOperation,
}

/// What to do with a session. An *instruction* kind: one that is not known is refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionOperation {
    /// Give the items, the latest ones if there is a limit; oldest first.
    Read {
        /// Most items.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
    },
    /// Add items at the end.
    Add {
        /// The items.
        items: Vec<Item>,
        /// The same for every attempt of one write, and for no other of its workflow run. The worker puts the id of that run in
        /// front; a store that has seen the whole leaves the items out.
        key: String,
    },
}

/// The result of a session activity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionReply {
    /// The version of this message.
    pub version: WireVersion,
    /// The items that were read; absent = none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Item>,
}

impl Versioned for SessionReply {
    fn version(&self) -> WireVersion {
        self.version
    }
}
