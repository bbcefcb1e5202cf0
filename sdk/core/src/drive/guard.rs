//! Calls functions of the author so that a panic becomes an error of the run, not a workflow task
//! that is retried without end.

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
};

use futures::FutureExt;

use crate::engine::RunError;

/// The message of a panic in the author's code.
#[derive(Debug, thiserror::Error)]
#[error("it panicked: {message}")]
pub struct Panic {
    /// The message of the panic.
    pub message: String,
}

impl Panic {
    fn of(panic: &(dyn Any + Send)) -> Self {
        let message = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a value that is not a string".to_owned());
        Self { message }
    }
}

/// Calls `body`.
///
/// # Errors
/// The [`Panic`] of `body`.
pub fn guarded<T>(body: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|panic| Panic::of(&*panic))
}

/// Awaits `body`.
///
/// # Errors
/// The [`Panic`] of `body`.
pub async fn guarded_future<T>(body: impl Future<Output = T>) -> Result<T, Panic> {
    AssertUnwindSafe(body).catch_unwind().await.map_err(|panic| Panic::of(&*panic))
}

/// Calls `body`; `function` names it in the error, as in `the instructions`.
///
/// # Errors
/// [`RunError::Panicked`] with the panic's message.
pub(super) fn call<T>(function: impl FnOnce() -> String, agent: &str, body: impl FnOnce() -> T) -> Result<T, RunError> {
    guarded(body).map_err(|Panic { message }| RunError::Panicked {
        function: function(),
        agent: agent.to_owned(),
        message,
    })
}
