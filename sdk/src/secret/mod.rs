//! Secrets of the worker: environment variables by reference, their destinations, and their removal
//! from results and errors.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod destination;
pub(crate) mod without_secret;
pub(crate) mod worker_env;

pub use destination::Destination;
