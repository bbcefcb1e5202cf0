//! Whether a person decides before a tool runs.

use std::{fmt, sync::Arc};

use serde_json::{Map, Value};

use super::run_context::RunContext;

/// Which calls of a tool wait for a decision.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum NeedsApproval {
    /// None.
    #[default]
    Never,
    /// All.
    Always,
    /// Those for which this function of run context, arguments and call id says so. Calls whose arguments are no JSON object
    /// wait, too.
    When(ApprovalPredicate),
}

/// A function of run context, arguments and call id that says whether a call waits for a decision.
pub type ApprovalPredicate = Arc<dyn Fn(&RunContext, &Map<String, Value>, &str) -> bool + Send + Sync>;

impl fmt::Debug for NeedsApproval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Never => "Never",
            Self::Always => "Always",
            Self::When(_) => "When(..)",
        })
    }
}
