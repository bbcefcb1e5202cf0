//! Tools of providers outside of Temporal, over streams.

mod calls;
mod kills;
mod known_callers;
mod lost;
mod other_language;
mod outages;
mod redis;
mod registered;
pub(crate) mod support;
