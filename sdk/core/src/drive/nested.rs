//! Runs nested in a run: agents used as tools, agents used as guardrails.
//!
//! # Design
//! **A failing call inside a resumed agent tool is a failed tool call,** as it is without the
//! pause. (The Agents SDK pauses again with the same interruption.)

use futures::{FutureExt, future::LocalBoxFuture};
use serde_json::{Map, Value};

use super::{Ended, config::RunConfig, drive, env::Env, guard, host::Host, notes, tools::Body};
use crate::{
    agent::{AgentDef, AgentTool, AgentToolResult, Graph},
    engine::{Beginning, Engine, RunError},
    tool::{CallInfo, merge_patch_between},
    wire::{Item, NewItemKind, RunState, ToolOutput, Usage},
};

/// The result of a call of an agent.
pub(super) struct AgentCall {
    pub(super) body: Result<Body, RunError>,
    /// Changes of the agent to the run context, also after a failure: agents share the context.
    pub(super) context_patch: Option<Value>,
    pub(super) usage: Usage,
}

/// The start of an agent's run: a new input, or the state of a paused run.
pub(super) enum AgentInput {
    /// The input of a new run.
    Text(String),
    /// The state of a paused run.
    Paused(Box<RunState>),
}

/// Runs an agent as a tool. Its usage is counted in every case, also after a failure.
pub(super) async fn call_agent<H: Host>(
    env: &Env<'_, H>,
    scope: &H::Scope,
    tool: &AgentTool,
    info: &CallInfo,
    id: String,
    input: AgentInput,
    context: Map<String, Value>,
) -> AgentCall {
    let graph = Graph::new(tool.agent());
    let config = env.config.for_nested(tool.turn_limit());
    let mut inside = env.nested(&graph, &config, scope, format!("{id}-"));
    inside.parent_call = Some(info.idempotency_key().to_owned());
    let (mut engine, before) = match input {
        AgentInput::Text(text) => (begin(&inside, vec![Item::user(text)], context.clone()), context),
        AgentInput::Paused(mut state) => {
            // The usage before the pause is already counted.
            state.usage = Usage::default();
            state.context.clone_from(&context);
            (Engine::resume(*state, config.rules()), context)
        }
    };
    let ended = drive(&inside, &mut engine).await;
    if let Err(error) = &ended {
        notes::nested_failed(&inside, engine.state(), error);
    }
    let usage = engine.state().usage.clone();
    let context_patch = merge_patch_between(&before, &engine.state().context);
    let body = match ended {
        // Only the outermost run moves to another execution.
        Ok(Ended::Interrupted | Ended::Moves) => Ok(Body::paused(engine.into_state())),
        Ok(Ended::Finished(value)) => output(tool, info, &value, engine.state()).map(Body::output),
        Err(error) => Err(error),
    };
    AgentCall { body, context_patch, usage }
}

/// Returns the output for the caller: the result of the extractor if there is one, otherwise the
/// final output, or the latest text of the run if that is empty.
fn output(tool: &AgentTool, info: &CallInfo, value: &Value, state: &RunState) -> Result<ToolOutput, RunError> {
    if let Some(extract) = tool.extractor() {
        let function = || format!("the output extractor of tool {:?}", info.tool);
        let result = AgentToolResult::new(value, &state.items, &state.agent);
        return guard::call(function, &info.agent, || extract(&result)).map(ToolOutput::Text);
    }
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    if !text.is_empty() || !state.guardrails.output.is_empty() {
        return Ok(text.into());
    }
    let said = |item: &crate::wire::NewItem| match item.kind {
        NewItemKind::MessageOutput => item.raw.text().filter(|text| !text.is_empty()),
        NewItemKind::ToolCallOutput => {
            item.raw.get("output").and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        }
        _ => None,
    };
    Ok(state.items.iter().rev().find_map(said).unwrap_or(text).into())
}

fn begin<H: Host>(env: &Env<'_, H>, input: Vec<Item>, context: Map<String, Value>) -> Engine {
    let beginning = Beginning {
        agent: env.graph.start().to_owned(),
        input,
        max_turns: env.config.max_turns,
        context,
        session_input: None,
        server: None,
    };
    Engine::start(beginning, env.config.rules())
}

/// Runs an agent as a guardrail and returns its final output.
pub(super) fn judge<'j, H: Host>(
    env: &'j Env<'_, H>,
    scope: &'j H::Scope,
    judge: &'j AgentDef,
    name: String,
    input: Vec<Item>,
    context: Map<String, Value>,
) -> LocalBoxFuture<'j, Result<Value, RunError>> {
    judged(env, scope, judge, env.config.for_nested(Some(10)), name, input, context)
}

/// Runs an agent as the guardrail of a tool and returns its final output.
pub(super) fn judge_tool<'j, H: Host>(
    env: &'j Env<'_, H>,
    scope: &'j H::Scope,
    judge: &'j AgentDef,
    name: String,
    input: Vec<Item>,
    context: Map<String, Value>,
) -> LocalBoxFuture<'j, Result<Value, RunError>> {
    // A judge whose own tools are judged would not end.
    let mut config = env.config.for_nested(Some(10));
    config.tool_input_guardrails.clear();
    config.tool_output_guardrails.clear();
    judged(env, scope, judge, config, name, input, context)
}

/// Runs the judge of the gate about a call and returns its final output.
pub(super) fn judge_call<'j, H: Host>(
    env: &'j Env<'_, H>,
    judge: &'j AgentDef,
    name: String,
    input: Vec<Item>,
) -> LocalBoxFuture<'j, Result<Value, RunError>> {
    // A judge whose tools are judged would not end.
    let mut config = env.config.for_nested(Some(10));
    config.gate = None;
    judged(env, &env.scope, judge, config, name, input, Map::new())
}

fn judged<'j, H: Host>(
    env: &'j Env<'_, H>,
    scope: &'j H::Scope,
    judge: &'j AgentDef,
    mut config: RunConfig,
    name: String,
    input: Vec<Item>,
    context: Map<String, Value>,
) -> LocalBoxFuture<'j, Result<Value, RunError>> {
    async move {
        let graph = Graph::new(judge);
        // The guardrails of the run do not apply to an agent that is itself a guardrail.
        config.input_guardrails.clear();
        config.output_guardrails.clear();
        let inside = env.nested(&graph, &config, scope, env.effect(format_args!("{name}-")).to_string());
        let mut engine = begin(&inside, input, context);
        match drive(&inside, &mut engine).await? {
            Ended::Finished(value) => Ok(value),
            Ended::Interrupted | Ended::Moves => Err(RunError::Function {
                function: format!("guardrail agent {:?}", judge.name),
                agent: judge.name.clone(),
                source: "the agent waits for an approval, and a guardrail cannot wait".into(),
            }),
        }
    }
    .boxed_local()
}
