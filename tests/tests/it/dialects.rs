//! Requests against the rules of the real APIs: what providers send is what the APIs accept.
//!
//! | file | what it holds |
//! |---|---|
//! | `rules/` | the checker: the rules of each API, from its documentation, with the refusals in `tests/apis` |
//! | `apis.rs` | the provider of each API, and the body that it sends for a call |
//! | `dice.rs` | choices by a seed |
//! | `documented.rs` | requests that the documentation shows, from `tests/apis`: none breaks a rule |
//! | `schemas.rs` | random schemas as functions, inputs of handoffs and output types |
//! | `types.rs` | 60 Rust types |
//! | `examples.rs` | the agents of the examples, as the guide counts them |
//! | `conversations.rs` | random conversations, shortened and mixed as filters, limits and handoffs do |
//! | `servers.rs`, `agents.rs` | servers that refuse what the real ones refuse, and an agent that runs against each |
//!
//! Each property plays 1,000 cases for each API: some 40 s together. `SEEDS=10000` plays more,
//! `AGENTS_TEST_SEED=7` others.

pub(crate) mod agents;
mod apis;
mod conversations;
mod dice;
mod documented;
mod examples;
pub(crate) mod rules;
mod schemas;
mod servers;
mod types;
