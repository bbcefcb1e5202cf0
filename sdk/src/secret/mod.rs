//! Secrets of the worker: environment variables by reference, their destinations, and their removal
//! from results and errors.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "activities run once, outside of workflows: clock, environment and tasks are theirs to use"
)]

mod destination;
pub(crate) mod without_secret;
pub(crate) mod worker_env;

pub use destination::Destination;
