//! Metrics of a worker, read by a meter in the process.

mod inline;
mod prometheus;
pub(crate) mod reader;
mod runs;
