//! The part of a whole that a result is.

use serde::{Deserialize, Serialize};

use super::lenient;

/// The part of a whole that a bounded result is: a page of a list, the beginning of a file.
///
/// JSON in a message of the protocol: `{"Returned": 20, "Total": 1312, "Truncated": true,
/// "NextCursor": "c2", "RefinementHint": ""}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[non_exhaustive]
pub struct Bounds {
    /// Number of elements in the result.
    #[serde(deserialize_with = "lenient::or_default")]
    pub returned: u64,
    /// Number of elements of the whole, if it is known.
    pub total: Option<u64>,
    /// `true` if the result is not the whole.
    #[serde(deserialize_with = "lenient::or_default")]
    pub truncated: bool,
    /// Value with which a call returns the next part.
    pub next_cursor: Option<String>,
    /// Advice how a call would return less, or an empty string.
    #[serde(deserialize_with = "lenient::or_default")]
    pub refinement_hint: String,
}
