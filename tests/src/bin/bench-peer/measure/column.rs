//! The measured workflows: the agents, and the floors as their baselines.

use temporal_agents_tests::bench::{Spec, script::filler};
use temporalio_common::{HasWorkflowDefinition, WorkflowDefinition};

/// A workflow of the worker, which is a column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Column {
    Agents,
    FloorBare,
    FloorConv,
}

impl Column {
    pub(super) const ALL: [Self; 3] = [Self::Agents, Self::FloorBare, Self::FloorConv];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Agents => "agent_bench",
            Self::FloorBare => "floor_bare",
            Self::FloorConv => "floor_conv",
        }
    }

    /// Returns the output that a run must return.
    pub(super) fn expected(self, spec: &Spec) -> String {
        match self {
            Self::Agents | Self::FloorConv => filler(&format!("turn-{}", spec.turns), spec.text_bytes),
            Self::FloorBare => "ok".to_owned(),
        }
    }
}

impl WorkflowDefinition for Column {
    type Input = Spec;
    type Output = String;

    fn name(&self) -> &str {
        Self::name(*self)
    }
}

impl HasWorkflowDefinition for Column {
    type Run = Self;
}
