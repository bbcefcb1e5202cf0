//! A whole run on any host: checks the agents, drives the loop, types the output.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    config::{RunConfig, RunFailure, RunInput, RunResult},
    drive,
    host::Host,
};
use crate::{
    agent::{AgentDef, Graph},
    engine::{Engine, RunError},
};

/// Runs an agent, and the agents it hands off to, to an output of the start agent's type.
///
/// # Errors
/// [`RunFailure`]; a graph that is wrong, or whose agents have different output types, fails before any model call.
pub async fn run_typed<H: Host, O: DeserializeOwned>(
    host: &H,
    agent: &AgentDef,
    config: &RunConfig,
    input: RunInput,
) -> Result<RunResult<O>, RunFailure> {
    let graph = Graph::new(agent);
    graph.check()?;
    graph.check_outputs()?;
    let (output, engine) = run(host, &graph, config, input).await?;
    let state = engine.into_state();
    match O::deserialize(output) {
        Ok(output) => Ok(RunResult::new(output, state)),
        Err(source) => {
            let (agent, expected) = (state.agent.clone(), std::any::type_name::<O>());
            let error = RunError::OutputType { agent, expected, source };
            Err(RunFailure { error, state: Some(Box::new(state)) })
        }
    }
}

/// Runs agents whose output types may differ.
///
/// # Errors
/// [`RunFailure`].
pub async fn run_untyped<H: Host>(
    host: &H,
    agent: &AgentDef,
    config: &RunConfig,
    input: RunInput,
) -> Result<RunResult<Value>, RunFailure> {
    let graph = Graph::new(agent);
    graph.check()?;
    let (output, engine) = run(host, &graph, config, input).await?;
    Ok(RunResult::new(output, engine.into_state()))
}

async fn run<H: Host>(
    host: &H,
    graph: &Graph,
    config: &RunConfig,
    input: RunInput,
) -> Result<(Value, Engine), RunFailure> {
    config.check()?;
    graph.check_models(config.model.as_deref())?;
    let mut engine = Engine::start(graph.start(), input.into_items(), config.max_turns, config.context.clone());
    match drive(host, graph, config, &mut engine).await {
        Ok(output) => Ok((output, engine)),
        Err(error) => Err(RunFailure { error, state: Some(Box::new(engine.into_state())) }),
    }
}
