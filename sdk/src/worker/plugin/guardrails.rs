//! The guardrails of a worker's runs: their activities, and the agents that judge.

use temporal_agents_core::{
    agent::{IntoInputGuardrail, IntoOutputGuardrail},
    tool::{ToolInputGuardrail, ToolOutputGuardrail},
};

use super::AgentsPlugin;

impl AgentsPlugin {
    /// Registers the activity or the agent that an input guardrail of a `RunConfig` needs. The
    /// guardrails of agents are registered with their agents.
    #[must_use]
    pub fn input_guardrail(mut self, guardrail: impl IntoInputGuardrail) -> Self {
        let guardrail = guardrail.into_input_guardrail();
        self.tools.extend(guardrail.check().activity().cloned());
        self.agents.extend(guardrail.check().agent().cloned());
        self
    }

    /// Registers the activity or the agent that an output guardrail of a `RunConfig` needs. The
    /// guardrails of agents are registered with their agents.
    #[must_use]
    pub fn output_guardrail(mut self, guardrail: impl IntoOutputGuardrail) -> Self {
        let guardrail = guardrail.into_output_guardrail();
        self.tools.extend(guardrail.check().activity().cloned());
        self.agents.extend(guardrail.check().agent().cloned());
        self
    }

    /// Registers the activity or the agent that a guardrail in
    /// [`RunConfig::tool_input_guardrails`](temporal_agents_core::drive::RunConfig::tool_input_guardrails) needs. The guardrails of tools
    /// are registered with the agents that have them.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "as the other guardrails, for `fold`")]
    pub fn tool_input_guardrail(mut self, guardrail: ToolInputGuardrail) -> Self {
        self.tools.extend(guardrail.check().activity().cloned());
        self.agents.extend(guardrail.check().agent().cloned());
        self
    }

    /// Registers the activity or the agent that a guardrail in
    /// [`RunConfig::tool_output_guardrails`](temporal_agents_core::drive::RunConfig::tool_output_guardrails) needs.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "as the other guardrails, for `fold`")]
    pub fn tool_output_guardrail(mut self, guardrail: ToolOutputGuardrail) -> Self {
        self.tools.extend(guardrail.check().activity().cloned());
        self.agents.extend(guardrail.check().agent().cloned());
        self
    }
}
