//! The debug output of an agent: all parts but its functions.

use std::fmt;

use super::def::AgentDef;

impl fmt::Debug for AgentDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            handoff_description,
            instructions,
            prompt,
            model,
            settings,
            tools,
            hosted_tools,
            mcp_servers,
            handoffs,
            output,
            reset_tool_choice,
            tool_use,
            input_guardrails,
            output_guardrails,
            shows_unchecked_output,
            hooks,
            answers_approvals,
            // `Graph` compares agents by this output: the graph in which an agent was found does
            // not make it a different agent.
            found_among: _,
            found_guardrails: _,
        } = self;
        f.debug_struct("AgentDef")
            .field("name", name)
            .field("handoff_description", handoff_description)
            .field("instructions", instructions)
            .field("prompt", prompt)
            .field("model", model)
            .field("settings", settings)
            .field("tools", tools)
            .field("hosted_tools", hosted_tools)
            .field("mcp_servers", mcp_servers)
            .field("handoffs", handoffs)
            .field("output", output)
            .field("reset_tool_choice", reset_tool_choice)
            .field("tool_use", tool_use)
            .field("input_guardrails", input_guardrails)
            .field("output_guardrails", output_guardrails)
            .field("shows_unchecked_output", shows_unchecked_output)
            .field("hooks", &hooks.is_some())
            .field("answers_approvals", &answers_approvals.keys())
            .finish()
    }
}
