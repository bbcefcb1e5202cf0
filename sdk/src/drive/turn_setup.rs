//! What an agent is at one turn: asks its functions, lists its tools and handoffs.

use serde_json::{Map, Value};

use super::{config::RunConfig, guard};
use crate::{
    agent::{AgentDef, AgentInfo, Graph, Instructions},
    engine::RunError,
    tool::{RunContext, ToolDef},
    wire::{Definitions, run_state::TurnSetup},
};

/// Sets up a turn of this agent.
///
/// # Errors
/// [`RunError::Panicked`] when a function of the agent panics.
pub(super) fn set_up(
    graph: &Graph,
    config: &RunConfig,
    agent: &AgentDef,
    turn: u32,
    context: &Map<String, Value>,
) -> Result<TurnSetup, RunError> {
    let instructions = match &agent.instructions {
        Instructions::None => None,
        Instructions::Text(text) => Some(text.clone()),
        Instructions::Computed(compute) => {
            let context = RunContext::new(context.clone());
            let info = AgentInfo::new(&*agent.name, turn);
            let text = guard::call(|| "the instructions".to_owned(), &agent.name, || compute(&context, &info))?;
            Some(text)
        }
    };
    let tools = agent.tools.iter().map(ToolDef::spec).chain(agent.hosted_tools.iter().cloned()).collect();
    let handoffs = graph.handoffs_of(agent).map(|(handoff, target)| handoff.spec(target)).collect();
    let model = config.model.clone().or_else(|| agent.model.clone());
    Ok(TurnSetup {
        model: model.expect("the graph was checked before the run, so every agent has a model"),
        definitions: Definitions {
            instructions,
            prompt: agent.prompt.clone(),
            tools,
            handoffs,
            output: agent.output.as_ref().map(|output| output.spec().clone()),
            settings: agent.settings.overlaid_by(&config.settings),
        },
        reset_tool_choice: agent.reset_tool_choice,
    })
}
