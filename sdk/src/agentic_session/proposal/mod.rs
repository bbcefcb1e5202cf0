//! Checkpoints of the ToolRegistry/AgenticSession proposal (temporalio/proposals#107), as its
//! Python, TypeScript and Go code writes them.
//!
//! A JSON object, or (Python, TypeScript) a JSON string that holds one:
//! `{"version": 1, "messages": [..], "results": [..]}`; the first Go code writes `issues` instead
//! of `results`. The messages have the shape of the provider that the session used: Anthropic's
//! blocks, or OpenAI's Chat Completions. Reasoning is left out, because only the provider that
//! produced it understands it.
//!
//! The proposal writes a checkpoint before each model call, and never within a turn. So does a
//! session with this format: answers since then are not in it, and their calls are made again.

mod anthropic;
mod chat_completions;
mod fits;
mod messages;
mod read;
mod write;

pub(super) use fits::{REMEDY, check_run};
pub(super) use read::read;
pub(super) use write::{Written, write};

/// The only version of the format.
const VERSION: u64 = 1;

#[cfg(test)]
mod tests;
