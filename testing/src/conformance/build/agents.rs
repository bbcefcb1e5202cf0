//! Builds the agents of a scenario as a graph: a depth-first walk along the handoffs.
//!
//! The walk refers to an agent that it has already visited by name, which is how the library
//! expresses cycles. An agent that is a tool begins a separate graph.

use std::collections::BTreeSet;

use serde_json::Value;
use temporal_agents::{
    Agent, Instructions,
    agent::{AgentDef, AgentTool, ToolResult, ToolUseBehavior},
};
use temporal_agents_core::agent::OutputDef;

use super::{
    BuildError, Witness, agent_tools, guardrails, handoffs, hosted,
    text::{filled, instructions, text_of},
    tools,
};
use crate::conformance::format::{self, Scenario};

/// The agents of a scenario.
pub(crate) struct Cast<'s> {
    scenario: &'s Scenario,
    witness: Witness,
}

/// An agent that answers in plain text, or in JSON.
pub(crate) enum AnyAgent {
    /// Answers in plain text.
    Text(Agent),
    /// Answers in the shape of a schema.
    Json(Agent<Value>),
}

/// The progress of the walk.
pub(super) struct Walk<'s> {
    /// The agents visited in this graph, by key.
    met: BTreeSet<&'s str>,
    /// The agents whose graphs enclose this one, by key, from the outermost inwards.
    inside: Vec<&'s str>,
}

impl<'s> Cast<'s> {
    /// Creates the agents of a scenario. Their author functions record to the witness.
    pub(crate) fn new(scenario: &'s Scenario, witness: Witness) -> Self {
        Self { scenario, witness }
    }

    /// Builds the agent of this key, with all the agents that it can reach.
    ///
    /// # Errors
    /// [`BuildError`].
    pub(crate) fn agent(&self, key: &'s str) -> Result<AnyAgent, BuildError> {
        self.graph(key, &[])
    }

    /// Returns the key of the agent of this name.
    pub(crate) fn key_of(&self, name: &str) -> Option<&'s str> {
        self.scenario.agents.iter().find(|(_, agent)| agent.name == name).map(|(key, _)| &**key)
    }

    /// Builds the agent as the start of a graph that is nested in the graphs of the agents
    /// `inside`.
    pub(super) fn graph(&self, key: &'s str, inside: &[&'s str]) -> Result<AnyAgent, BuildError> {
        if inside.contains(&key) {
            return Err(BuildError::ToolOfItself { key: key.to_owned() });
        }
        let inside = inside.iter().copied().chain([key]).collect();
        self.visit(key, &mut Walk { met: BTreeSet::new(), inside })
    }

    /// Builds the agent on the first visit of the walk.
    pub(super) fn visit(&self, key: &'s str, walk: &mut Walk<'s>) -> Result<AnyAgent, BuildError> {
        let spec = self.spec(key)?;
        walk.met.insert(key);
        // The model's name is the agent's key, by which the worker's provider finds the agent's
        // part of the script.
        let mut agent = Agent::new(&*spec.name).model(key);
        if let Some(description) = &spec.handoff_description {
            agent = agent.handoff_description(description);
        }
        agent = match &spec.instructions {
            None => agent,
            Some(format::Instructions::Text(text)) => agent.instructions(&**text),
            Some(format::Instructions::Computed { template }) => {
                let template = template.clone();
                agent.instructions(Instructions::computed(move |run, info| {
                    instructions(&template, &info.name, run.values())
                }))
            }
        };
        if let Some(settings) = &spec.model_settings {
            agent = agent.settings(settings.clone());
        }
        for (place, tool) in spec.tools.iter().flatten().enumerate() {
            agent = agent.tool(tools::function_tool(key, place, tool));
        }
        for tool in spec.agent_tools.iter().flatten() {
            agent = agent.tool(agent_tools::agent_tool(self, tool, walk)?);
        }
        for tool in spec.hosted_tools.iter().flatten() {
            agent = hosted::with_hosted_tool(agent, tool);
        }
        for handoff in spec.handoffs.iter().flatten() {
            agent = agent.handoff(handoffs::handoff(self, handoff, walk)?);
        }
        if let Some(behavior) = &spec.tool_use_behavior {
            agent = agent.tool_use_behavior(tool_use(behavior));
        }
        if spec.reset_tool_choice == Some(false) {
            agent = agent.keep_tool_choice();
        }
        for guardrail in spec.input_guardrails.iter().flatten() {
            agent = agent.input_guardrail(guardrails::input(guardrail));
        }
        for guardrail in spec.output_guardrails.iter().flatten() {
            agent = agent.output_guardrail(guardrails::output(guardrail));
        }
        Ok(match spec.output_schema.as_ref().filter(|output| !is_text(&output.schema)) {
            None => AnyAgent::Text(agent),
            Some(format::OutputSchema { name, strict, schema }) => AnyAgent::Json(
                agent.output_def(OutputDef::from_schema(name.clone(), schema.clone(), strict.unwrap_or(true))),
            ),
        })
    }

    pub(super) fn spec(&self, key: &str) -> Result<&'s format::Agent, BuildError> {
        self.scenario.agents.get(key).ok_or_else(|| BuildError::UnknownAgent { key: key.to_owned() })
    }

    pub(super) fn witness(&self) -> &Witness {
        &self.witness
    }
}

impl<'s> Walk<'s> {
    /// Returns `true` if the agent is already in the graph.
    pub(super) fn has_met(&self, key: &str) -> bool {
        self.met.contains(key)
    }

    /// The agents whose graphs enclose this one, by key, from the outermost inwards.
    pub(super) fn inside(&self) -> &[&'s str] {
        &self.inside
    }
}

impl AnyAgent {
    pub(super) fn as_tool(&self) -> AgentTool {
        match self {
            Self::Text(agent) => agent.as_tool(),
            Self::Json(agent) => agent.as_tool(),
        }
    }
}

impl From<AnyAgent> for AgentDef {
    fn from(agent: AnyAgent) -> Self {
        match agent {
            AnyAgent::Text(agent) => agent.into(),
            AnyAgent::Json(agent) => agent.into(),
        }
    }
}

/// Returns `true` if a schema accepts any string: such an agent answers in plain text.
fn is_text(schema: &Value) -> bool {
    let narrows = |keyword: &str| schema.get(keyword).is_some();
    schema["type"] == "string" && !["enum", "const", "anyOf", "oneOf"].into_iter().any(narrows)
}

fn tool_use(behavior: &format::ToolUse) -> ToolUseBehavior {
    match behavior {
        format::ToolUse::RunLlmAgain => ToolUseBehavior::RunLlmAgain,
        format::ToolUse::StopOnFirstTool => ToolUseBehavior::StopOnFirstTool,
        format::ToolUse::StopAt(tools) => ToolUseBehavior::StopAtTools(tools.clone()),
        format::ToolUse::Custom { final_when_tool, final_output } => {
            let (tool, template) = (final_when_tool.clone(), final_output.clone());
            ToolUseBehavior::decided_by(move |_run, results| {
                let result: &ToolResult = results.iter().find(|result| result.tool == tool)?;
                let output = text_of(&result.output.clone().into_value());
                Some(filled(&template, &[("output", &output)]).into())
            })
        }
    }
}
