//! Agents as data: a spec is read, checked and resolved to an agent.
//!
//! | file | contents |
//! |---|---|
//! | `parts.rs` | the parts that specs may use: tools, guardrails, what the operator opens |
//! | `read.rs`, `members.rs` | a spec from JSON, with all problems of its form |
//! | `values.rs` | limits of a spec, its settings and its output schema |
//! | `resolve.rs`, `tools.rs` | the names of a spec, resolved to the parts |
//! | `issue.rs`, `names.rs` | the problems, and suggestions for names |
//!
//! # Design
//! **Two halves check, and report together.** The worker that loads a spec reads its JSON, and finds
//! what only it can know (specs that do not exist, models that no provider serves). The workflow
//! resolves the names, because it needs the definitions of the tools. Its error has the issues of
//! both.
//!
//! **A spec only adds.** It names parts and can make a tool ask for more approvals, and check more.
//! It cannot configure a hosted tool: the operator opens each one with its configuration. Settings
//! that are merged into the provider's request are closed by default, because they could add
//! hosted tools, or send data elsewhere.
//!
//! **Everything is bounded**, so that a row of the store can neither fill a history nor occupy a
//! workflow task: [`values::MAX_SPEC_BYTES`] for one spec, [`values::MAX_RECORD_BYTES`] for the
//! record of a run, the limits of schemas from outside, and a number of suggestions.

mod issue;
mod members;
mod names;
mod parts;
#[cfg(feature = "worker")]
mod read;
mod resolve;
mod tools;
mod values;

pub use self::issue::{SpecError, SpecIssue};
pub use self::parts::SpecParts;
pub(crate) use self::resolve::Setting;
#[cfg(feature = "worker")]
pub(crate) use self::{
    names::{listed, suggestion},
    parts::PARTS,
    read::read,
    values::{MAX_AGENTS, MAX_RECORD_BYTES},
};

#[cfg(test)]
mod tests;
