//! The one loop of every host: takes a step from the engine, calls the author's functions, asks the host for effects.
//!
//! First of the five files of a model call: here -> `workflow/activity_backed_model.rs` -> `wire/model_call.rs` ->
//! `worker/model_activity.rs` -> `worker/openai/responses.rs`.
//!
//! Everything an author supplies as a function is called here and nowhere else, once, in the order the engine fixes.
//! Hosts implement [`Host`] and decide nothing, so that they cannot drift apart.

mod config;
pub(crate) mod guard;
mod host;
pub mod join;
mod run;
mod tools;
mod turn_setup;

pub use config::{RunConfig, RunFailure, RunInput, RunResult};
pub use host::{Host, ModelEffectError, RunEvent, ToolAnswer, ToolEffect, ToolEffectError};
pub use run::{run_typed, run_untyped};

use crate::{
    agent::{AgentDef, Graph},
    engine::{Engine, Resolution, RunError, Step},
    tool::RunContext,
    wire::{ModelCall, ModelResponse, run_state::PlannedHandoff},
};

/// Runs the loop to its end; the engine then holds the final state, also after an error.
///
/// # Errors
/// [`RunError`]: what ended the run.
pub async fn drive<H: Host>(
    host: &H,
    graph: &Graph,
    config: &RunConfig,
    engine: &mut Engine,
) -> Result<serde_json::Value, RunError> {
    let scope = host.scope();
    loop {
        let resolution = match engine.next() {
            Step::PrepareTurn { agent, turn } => {
                host.observe(&RunEvent::TurnStarted { agent: &agent, turn });
                let agent = agent_named(graph, &agent);
                let setup = turn_setup::set_up(graph, config, agent, turn, &engine.state().context)?;
                Resolution::Prepared(Box::new(setup))
            }
            Step::CallModel(call) => Resolution::Answered(call_model(host, *call, &scope).await?),
            Step::CallTools { agent, turn, calls } => {
                let agent = agent_named(graph, &agent);
                Resolution::ToolsRan(tools::run(host, engine, agent, turn, calls).await?)
            }
            Step::TakeHandoff { agent, handoff } => {
                host.observe(&RunEvent::HandedOff { from: &agent, to: &handoff.target });
                take_handoff(engine, agent_named(graph, &agent), &handoff)?;
                Resolution::HandedOff
            }
            Step::ParseOutput { agent, text } => Resolution::Parsed(parse_output(agent_named(graph, &agent), &text)?),
            Step::Done { output } => return Ok(output),
            Step::OutOfTurns { max_turns, agent } => return Err(RunError::MaxTurnsExceeded { max_turns, agent }),
        };
        engine.resolve(resolution)?;
    }
}

async fn call_model<H: Host>(host: &H, call: ModelCall, scope: &H::Scope) -> Result<ModelResponse, RunError> {
    let (agent, turn, model) = (call.agent.clone(), call.turn, call.model.clone());
    match host.call_model(call, scope).await {
        Ok(response) => {
            host.observe(&RunEvent::ModelAnswered { agent: &agent, turn, response: &response });
            Ok(response)
        }
        Err(ModelEffectError::Cancelled) => Err(RunError::Cancelled { agent, turn }),
        Err(ModelEffectError::Failed(source)) => Err(RunError::Model { agent, turn, model, source }),
    }
}

fn take_handoff(engine: &mut Engine, agent: &AgentDef, handoff: &PlannedHandoff) -> Result<(), RunError> {
    let Some(callback) = agent
        .handoffs
        .iter()
        .rfind(|candidate| candidate.name() == handoff.tool_name)
        .and_then(|definition| definition.callback())
    else {
        return Ok(());
    };
    let mut context = RunContext::new(std::mem::take(engine.context_mut()));
    let function = || format!("on_handoff of {:?}", handoff.tool_name);
    let taken = guard::call(function, &agent.name, || callback(&mut context, &handoff.arguments));
    *engine.context_mut() = context.into_values();
    taken?.map_err(|issue| RunError::Handoff {
        agent: agent.name.clone(),
        handoff: handoff.tool_name.clone(),
        reason: issue.to_string(),
    })
}

fn parse_output(agent: &AgentDef, text: &str) -> Result<Result<serde_json::Value, String>, RunError> {
    let output = agent.output.as_ref().expect("the engine asks for a parse only where there is an output type");
    let function = || format!("the output type {}", output.type_name());
    guard::call(function, &agent.name, || output.parse(text))
}

fn agent_named<'g>(graph: &'g Graph, name: &str) -> &'g AgentDef {
    graph.agent(name).expect("the graph was checked before the run, so it has every agent the engine names")
}
