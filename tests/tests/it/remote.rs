//! Tools of providers outside of Temporal, over streams.

mod calls;
mod lost;
mod redis;
mod support;
