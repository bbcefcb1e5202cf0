//! Where outputs go that are too large for history.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::tool::{CallInfo, Failure};

/// A store for outputs that are too large for history, of tools that [spill](crate::tool::OversizedOutput::Spill) them: a bucket, a
/// table, a directory that all workers see.
///
/// The library only writes. Whoever is given the reference reads it: a tool of yours that takes the reference as an argument, a person.
///
/// # Retries
/// None here. When the store fails, the call has failed, of kind `Oversized`; it has run and is not run again.
pub trait SpillStore: Send + Sync {
    /// Keeps an output; gives the reference that the model gets.
    ///
    /// The call's [idempotency key](CallInfo::idempotency_key) is a good name: another attempt at the same call has it, too.
    ///
    /// # Errors
    /// Whatever went wrong. Its text is recorded in history.
    fn spill<'a>(&'a self, spilled: Spilled<'a>) -> BoxFuture<'a, Result<String, Failure>>;
}

/// An output that is too large.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Spilled<'a> {
    /// The call.
    pub call: &'a CallInfo,
    /// The whole output, redacted: its text, or the JSON of its content parts.
    pub content: &'a str,
}

/// The store of a worker or an inline runner, if it has one.
#[derive(Clone, Default)]
pub(crate) struct Spills(pub(crate) Option<Arc<dyn SpillStore>>);
