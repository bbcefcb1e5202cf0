//! The bodies of activities: tools, records of long inputs, states, session stores, agents as data
//! and Nexus endpoints, and what they share: the message, the heartbeat, the registration under
//! names known at run time.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

pub(crate) mod answer;
pub(crate) mod asked_people;
pub(crate) mod failed_attempt;
pub(crate) mod heartbeat;
pub(crate) mod kept_decisions;
pub(crate) mod kept_state;
pub(crate) mod load_agent;
pub(crate) mod log_span;
pub(crate) mod lost_attempt;
pub(crate) mod message;
pub(crate) mod model_failure;
#[cfg(feature = "nexus")]
pub(crate) mod nexus_endpoint;
pub(crate) mod record;
pub(crate) mod registration;
pub(crate) mod session;
pub(crate) mod tool;
pub(crate) mod tool_batch;
pub(crate) mod tool_versions;
