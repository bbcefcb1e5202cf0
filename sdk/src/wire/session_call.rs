//! A read or a write of a session through an activity.

use serde::{Deserialize, Serialize};

use super::{
    digest::Digest,
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
    /// Give more of the items of a read whose reply has [`more`](SessionReply::more). Since version 1.2.
    ReadOn {
        /// As in the first read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
        /// Where the reply before ended.
        after: SessionPlace,
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
    /// Where the items end, when they are not all: to be given back in [`SessionOperation::ReadOn`]. Only in replies to requests of version
    /// 1.2 and later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<SessionPlace>,
}

/// A place in what the first read of a session has found.
///
/// It says what was found, not where it is in the store: other runs may add items between two portions, and a limit counts from the end.
/// The digest finds the same items again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionPlace {
    /// Items before the place.
    pub given: u64,
    /// Items that the first read has found.
    pub of: u64,
    /// The digest of all of these.
    pub digest: Digest,
}

impl Versioned for SessionReply {
    fn version(&self) -> WireVersion {
        self.version
    }
}
