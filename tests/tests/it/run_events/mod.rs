//! The events of runs: the same facts on every host, read from history by any number of readers.

mod facts;

pub(crate) use facts::Differences;
