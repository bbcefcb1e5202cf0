//! The guardrails of a worker's runs: their activities, and the agents that judge.

use super::AgentsPlugin;
use crate::agent::{IntoInputGuardrail, IntoOutputGuardrail};

impl AgentsPlugin {
    /// An input guardrail of a `RunConfig`: what it needs of the worker is registered. Those of agents are found by themselves.
    #[must_use]
    pub fn input_guardrail(mut self, guardrail: impl IntoInputGuardrail) -> Self {
        let guardrail = guardrail.into_input_guardrail();
        self.tools.extend(guardrail.check().activity().cloned());
        self.agents.extend(guardrail.check().agent().cloned());
        self
    }

    /// An output guardrail of a `RunConfig`: what it needs of the worker is registered. Those of agents are found by themselves.
    #[must_use]
    pub fn output_guardrail(mut self, guardrail: impl IntoOutputGuardrail) -> Self {
        let guardrail = guardrail.into_output_guardrail();
        self.tools.extend(guardrail.check().activity().cloned());
        self.agents.extend(guardrail.check().agent().cloned());
        self
    }
}
