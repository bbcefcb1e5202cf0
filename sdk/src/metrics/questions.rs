//! The questions that are open in the workflows of a worker's cache.

use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

/// The times at which open questions were asked, by run and question.
#[derive(Default)]
pub(super) struct OpenQuestions(BTreeMap<(String, String), SystemTime>);

impl OpenQuestions {
    pub(super) fn open(&mut self, run: &str, question: &str, asked: SystemTime) {
        self.0.entry((run.to_owned(), question.to_owned())).or_insert(asked);
    }

    pub(super) fn close(&mut self, run: &str, question: &str) {
        self.0.remove(&(run.to_owned(), question.to_owned()));
    }

    pub(super) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns the time of the oldest question, in seconds since the Unix epoch; 0 without one.
    pub(super) fn oldest(&self) -> u64 {
        let oldest = self.0.values().min().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        oldest.map_or(0, |time| time.as_secs())
    }
}
