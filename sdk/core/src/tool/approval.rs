//! The calls of a tool that need a person's approval before they run.

use std::{fmt, sync::Arc};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::run_context::RunContext;

/// The calls of a tool that wait for a decision.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum NeedsApproval {
    /// No call waits.
    #[default]
    Never,
    /// Every call waits.
    Always,
    /// A call waits if this function of run context, arguments and call id returns `true`. Calls
    /// whose arguments are not a JSON object also wait. A panic of the function ends the run. Set
    /// by [`Tool::needs_approval_when`](super::Tool::needs_approval_when).
    When(ApprovalPredicate),
    /// A call waits if this rule, which deserializes the arguments, returns `true`. Calls whose
    /// arguments do not deserialize, or for which the rule panics, also wait. Set by
    /// `#[tool(needs_approval = ..)]` and
    /// [`Tool::needs_approval_for`](super::Tool::needs_approval_for).
    WhenArguments(ApprovalRule),
}

/// A function of run context, arguments and call id that returns `true` if the call waits for a
/// decision.
pub type ApprovalPredicate = Arc<dyn Fn(&RunContext, &Map<String, Value>, &str) -> bool + Send + Sync>;

/// A rule over the typed arguments of a tool that decides if a call waits for a decision.
///
/// It fails closed: a call waits if its arguments are not of the type, or if the rule panics (which
/// is logged). Created by `#[tool(needs_approval = euros > 50)]` and by
/// [`Tool::needs_approval_for`](super::Tool::needs_approval_for).
#[derive(Clone)]
pub struct ApprovalRule(Arc<Rule>);

type Rule = dyn Fn(&RunContext, &Map<String, Value>) -> bool + Send + Sync;

impl ApprovalRule {
    /// Creates a rule from a function of the run context and the typed arguments.
    pub fn new<A: DeserializeOwned>(asks: impl Fn(&RunContext, A) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |run, arguments| {
            // Arguments that do not deserialize into `A` fail closed: the call waits.
            serde_json::from_value(Value::Object(arguments.clone())).map_or(true, |arguments| asks(run, arguments))
        }))
    }

    /// Returns `true` if a call with these arguments waits for a decision. The loop catches a panic
    /// of the rule.
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
