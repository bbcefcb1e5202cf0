//! Agents as data: a spec is read, checked and resolved to an agent.
//!
//! | file | contents |
//! |---|---|
//! | `parts.rs` | the parts that specs may use: tools, guardrails, what the operator opens |
//! | `read.rs`, `values.rs` | a spec from JSON, with all problems of its form; its limits |
//! | `resolve.rs`, `tools.rs`, `settings.rs` | the names of a spec, resolved to the parts |
//! | `issue.rs`, `names.rs` | the problems, and suggestions for names |
//!
//! # Design
//! **Two halves check, and report together.** The worker that loads a spec reads its JSON, and
//! finds what only it can know (specs that do not exist, models that no provider serves). The
//! workflow resolves the names, because it needs the definitions of the tools. Its error has the
//! issues of both.
//!
//! **A spec only adds.** It names parts and can make a tool ask for more approvals, and check more.
//! It cannot configure a hosted tool: the operator opens each one with its configuration. Settings
//! that are merged into the provider's request are closed by default, because they could add
//! hosted tools, or send data elsewhere.
//!
//! **Everything is bounded** (`values.rs`), so that a row of the store can neither fill a history
//! nor occupy a workflow task: the bytes of a spec and of the record of a run, the number of
//! agents, the limits of schemas from outside, and a number of suggestions.

mod issue;
mod names;
mod parts;
mod read;
mod resolve;
mod settings;
mod tools;
mod values;

pub use self::issue::{SpecError, SpecIssue};
pub use self::parts::SpecParts;
pub use self::resolve::Surroundings;
pub use self::{
    names::{listed, suggestion},
    parts::PARTS,
    read::read,
    values::{MAX_AGENTS, MAX_RECORD_BYTES},
};

#[cfg(test)]
mod tests;
