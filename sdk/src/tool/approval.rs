//! Whether a person decides before a tool runs.

use std::{fmt, sync::Arc};

use serde::de::DeserializeOwned;
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
    /// Those for which this rule says so, which reads the arguments as a type. Whatever the rule cannot judge waits, too.
    WhenArguments(ApprovalRule),
}

/// A function of run context, arguments and call id that says whether a call waits for a decision.
pub type ApprovalPredicate = Arc<dyn Fn(&RunContext, &Map<String, Value>, &str) -> bool + Send + Sync>;

/// A rule over the typed arguments of a tool, which says whether a call waits for a decision.
///
/// It fails closed: a call waits where its arguments are not of the type, or where the rule panics (which is logged). Made by
/// `#[tool(needs_approval = euros > 50)]` and by [`Tool::needs_approval_for`](super::Tool::needs_approval_for).
#[derive(Clone)]
pub struct ApprovalRule(Arc<Rule>);

type Rule = dyn Fn(&RunContext, &Map<String, Value>) -> bool + Send + Sync;

impl ApprovalRule {
    /// A rule of the run context and the arguments.
    pub fn new<A: DeserializeOwned>(asks: impl Fn(&RunContext, A) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |run, arguments| {
            serde_json::from_value(Value::Object(arguments.clone())).map_or(true, |arguments| asks(run, arguments))
        }))
    }

    /// Whether a call with these arguments waits. A panic of the rule passes.
    pub(crate) fn asks(&self, run: &RunContext, arguments: &Map<String, Value>) -> bool {
        (self.0)(run, arguments)
    }
}

impl fmt::Debug for ApprovalRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApprovalRule(..)")
    }
}

impl fmt::Debug for NeedsApproval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Never => "Never",
            Self::Always => "Always",
            Self::When(_) => "When(..)",
            Self::WhenArguments(_) => "WhenArguments(..)",
        })
    }
}
