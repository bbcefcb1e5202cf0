//! Calls whose arguments were refused, as the state of a run counts them.

use serde::{Deserialize, Serialize};

use crate::wire::digest::Digest;

/// The latest calls of a tool, if their arguments were the same and were refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RefusedCalls {
    /// Digest of the arguments.
    pub arguments: Digest,
    /// Number of these calls.
    pub times: u32,
}
