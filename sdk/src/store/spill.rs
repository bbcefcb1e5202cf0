//! The store for outputs that are too large for history.

use std::sync::Arc;

use futures::future::BoxFuture;
use temporal_agents_core::tool::{BoxError, CallInfo};

/// A store for outputs that are too large for history, of tools that
/// [spill](temporal_agents_core::tool::OversizedOutput::Spill) them: a bucket, a table, or a directory that all
/// workers can access.
///
/// The library only writes to it. The receivers of the reference read the output: a tool of yours
/// that takes the reference as an argument, or a person.
///
/// # Retries
/// None. When the store fails, the call fails with kind `Oversized`; the tool has run and is not
/// run again.
pub trait SpillStore: Send + Sync {
    /// Stores an output, and returns the reference that the model receives.
    ///
    /// The call's [idempotency key](CallInfo::idempotency_key) is a good name, because all attempts
    /// at a call have the same one.
    ///
    /// # Errors
    /// Any failure of the store. Its message is recorded in history.
    fn spill<'a>(&'a self, spilled: SpilledOutput<'a>) -> BoxFuture<'a, Result<String, BoxError>>;
}

/// An output that is too large.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SpilledOutput<'a> {
    /// The call that returned the output.
    pub call: &'a CallInfo,
    /// The whole output, redacted: its text, or the JSON of its content parts.
    pub content: &'a str,
}

/// The store of a worker or an inline runner; `None` if it has no store.
#[derive(Clone, Default)]
pub(crate) struct OptionalSpillStore(pub(crate) Option<Arc<dyn SpillStore>>);
