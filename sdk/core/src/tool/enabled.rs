//! Rules that decide if a tool or a handoff is offered to the model at a turn.

use std::{fmt, sync::Arc};

use super::run_context::RunContext;

/// A rule that decides if a tool or a handoff is offered; evaluated at every turn. Default: always.
#[derive(Clone, Default)]
pub struct Enabled(Option<Predicate>);

type Predicate = Arc<dyn Fn(&RunContext, &str, u32) -> bool + Send + Sync>;

impl Enabled {
    /// Creates a rule: offered while this function of run context, agent name and turn returns
    /// `true`.
    ///
    /// # Determinism
    /// The function runs in the workflow, and again on replay.
    pub fn when(predicate: impl Fn(&RunContext, &str, u32) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(predicate)))
    }

    /// Returns `true` if the tool or handoff is offered at this turn.
    pub fn holds(&self, run: &RunContext, agent: &str, turn: u32) -> bool {
        self.0.as_ref().is_none_or(|predicate| predicate(run, agent, turn))
    }

    /// Returns `true` if there is no condition: the tool or handoff is offered at every turn.
    pub fn is_always(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Debug for Enabled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_none() { "Always" } else { "When(..)" })
    }
}
