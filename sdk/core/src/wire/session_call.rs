//! A read or a write of a session through an activity.

use serde::{Deserialize, Serialize};

use super::{
    digest::Digest,
    item::Item,
    version::{Versioned, WireVersion},
};

/// Prefix of the type of a session's activity; the store's name follows.
pub const SESSION_ACTIVITY: &str = "agents.session";

/// The input of a session activity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// Id of the session.
    pub session_id: String,
    /// The operation to perform.
    pub operation: SessionOperation,
}

/// An operation on a session. An *instruction* kind: an unknown kind is refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SessionOperation {
    /// Returns the items, oldest first; only the latest ones if there is a limit.
    Read {
        /// Maximum number of items.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
    },
    /// Returns more items of a read whose reply has [`more`](SessionReply::more). Since version
    /// 1.2.
    ReadOn {
        /// Limit of the first read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
        /// End of the previous reply.
        after: SessionPosition,
    },
    /// Adds items at the end.
    Add {
        /// The items to add.
        items: Vec<Item>,
        /// Idempotency key: equal for every attempt of one write, and different for each other
        /// write of its workflow run. The worker adds the id of that run as a prefix; a store that
        /// has already seen the whole key skips the items.
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
    /// Place at which the items end, if there are more: the next request passes it in
    /// [`SessionOperation::ReadOn`]. Only in replies to requests of version 1.2 and later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<SessionPosition>,
}

/// A place in the items that the first read of a session found.
///
/// It identifies the items that were found, not a position in the store: other runs may add items
/// between two portions, and a limit counts from the end. The digest is used to find the same items
/// again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionPosition {
    /// Number of items before the place.
    pub given: u64,
    /// Number of items that the first read found.
    pub of: u64,
    /// Digest of all items that the first read found.
    pub digest: Digest,
}

impl Versioned for SessionReply {
    fn version(&self) -> WireVersion {
        self.version
    }
}
