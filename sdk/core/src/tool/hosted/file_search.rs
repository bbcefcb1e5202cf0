//! Searches in files that the provider stores.

use serde_json::Value;

use super::{HostedTool, builder};

/// A search in vector stores; created by [`HostedTool::file_search`].
#[derive(Clone, Debug, PartialEq)]
pub struct FileSearch(pub(super) HostedTool);

builder!(FileSearch);

impl FileSearch {
    /// Sets the most results: 1 to 50.
    #[must_use]
    pub fn max_num_results(self, most: u32) -> Self {
        self.set("max_num_results", most)
    }

    /// Leaves out results with a score below this one: 0 to 1.
    #[must_use]
    pub fn score_threshold(self, score: f64) -> Self {
        Self(self.0.with_in("ranking_options", "score_threshold", score))
    }

    /// Sets the ranker: `auto`, or the name of one.
    #[must_use]
    pub fn ranker(self, ranker: impl Into<String>) -> Self {
        Self(self.0.with_in("ranking_options", "ranker", ranker.into()))
    }

    /// Searches only files whose attributes match: a comparison or a compound filter, in the format
    /// of the API.
    #[must_use]
    pub fn filters(self, filters: impl Into<Value>) -> Self {
        self.set("filters", filters)
    }
}
