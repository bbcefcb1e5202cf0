//! Whether something is offered to the model at a turn.

use std::{fmt, sync::Arc};

use super::run_context::RunContext;

/// When a tool or a handoff is offered; asked at every turn.
#[derive(Clone, Default)]
pub struct Enabled(Option<Predicate>);

type Predicate = Arc<dyn Fn(&RunContext, &str, u32) -> bool + Send + Sync>;

impl Enabled {
    /// While this holds for the run context, the agent's name and the turn.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay.
    pub fn when(predicate: impl Fn(&RunContext, &str, u32) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(predicate)))
    }

    /// Whether it is offered now.
    pub fn holds(&self, run: &RunContext, agent: &str, turn: u32) -> bool {
        self.0.as_ref().is_none_or(|predicate| predicate(run, agent, turn))
    }

    /// Whether it is offered at all times.
    pub fn is_always(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Debug for Enabled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_none() { "Always" } else { "When(..)" })
    }
}
