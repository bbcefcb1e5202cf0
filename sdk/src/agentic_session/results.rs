//! The results that the tools of a session add.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;
use temporal_agents_core::tool::ToolError;

/// The results of a session, to which its tools add: `State(results): State<SessionResults>`.
///
/// The results of a call count once, when the call has ended. Results of an attempt that is
/// repeated do not count, nor do those of a call that a crash has interrupted.
#[derive(Clone, Debug, Default)]
pub struct SessionResults(Arc<Mutex<Vec<Value>>>);

impl SessionResults {
    /// Adds a result.
    ///
    /// # Errors
    /// A [`ToolError`] that ends the run, when the result cannot be written as JSON.
    pub fn push(&self, result: impl Serialize) -> Result<(), ToolError> {
        let mut gathered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let value = serde_json::to_value(result).map_err(|error| {
            ToolError::fail_run(format!("result {} of this call cannot be written as JSON: {error}", gathered.len()))
        })?;
        gathered.push(value);
        Ok(())
    }

    /// Removes and returns the results.
    pub(super) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
