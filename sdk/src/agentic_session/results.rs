//! What the tools of a session gather.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;

use crate::tool::ToolError;

/// Where tools of a session put what they find: `State(results): State<SessionResults>`.
///
/// What a call has put in counts when the call has ended, once: what an attempt that is repeated has put in counts no more, and neither does
/// what a call has put in that a crash has cut off.
#[derive(Clone, Debug, Default)]
pub struct SessionResults(Arc<Mutex<Vec<Value>>>);

impl SessionResults {
    /// Puts in a result.
    ///
    /// # Errors
    /// A [`ToolError`] that ends the run, when it cannot be written as JSON.
    pub fn push(&self, result: impl Serialize) -> Result<(), ToolError> {
        let mut gathered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let value = serde_json::to_value(result).map_err(|error| {
            ToolError::fail_run(format!("result {} of this call cannot be written as JSON: {error}", gathered.len()))
        })?;
        gathered.push(value);
        Ok(())
    }

    /// What was put in.
    pub(super) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
