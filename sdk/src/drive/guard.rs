//! Calls a function of the author so that its panic is an error of the run, not a workflow task that retries for ever.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::engine::RunError;

/// Calls `body`; `function` names it for the error, as in `the instructions`.
///
/// # Errors
/// [`RunError::Panicked`] with the panic's message.
pub(super) fn call<T>(function: impl FnOnce() -> String, agent: &str, body: impl FnOnce() -> T) -> Result<T, RunError> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|panic| RunError::Panicked {
        function: function(),
        agent: agent.to_owned(),
        message: panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a value that is no text".to_owned()),
    })
}
