//! The events of runs: the same facts on every host, read from history by any number of readers.

mod broker;
mod cuts;
mod deltas;
mod facts;
mod failed_calls;
mod frozen;
mod golden;
mod live;
mod lost;
pub(crate) mod reading;
mod session_deltas;
mod sessions;
mod transports;

pub(crate) use facts::Differences;
