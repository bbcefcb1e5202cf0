//! The place of a run in a list of rows.

use serde::{Deserialize, Serialize};

/// The place of a run among others: the latest start comes first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPlace {
    /// Milliseconds since 1970.
    pub started_at: i64,
    /// The key of its row.
    pub key: String,
}

impl Default for RunPlace {
    /// Returns the place before all runs.
    fn default() -> Self {
        Self { started_at: i64::MAX, key: String::new() }
    }
}
