//! The events of runs: the same facts on every host, read from history by any number of readers.

mod facts;
mod lost;
pub(crate) mod reading;

pub(crate) use facts::Differences;
