//! Metrics of a worker, read by a meter in the process.

pub(crate) mod reader;
mod runs;
