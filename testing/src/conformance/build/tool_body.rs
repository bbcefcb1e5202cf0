//! The behaviour of a function tool when it is called, on a worker or inline.

use std::{collections::BTreeSet, sync::Arc};

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use temporal_agents::{RunContext, State, ToolContext, ToolDef, ToolError, tool::FromToolContext, wire::ToolOutput};
use temporal_agents_core::tool::{ActivityBody, ToolBinding};
use tokio::time::sleep;

use super::{text::compact, tools::once};
use crate::conformance::{
    format::{Behavior, Condition, Enabled, FunctionTool, Scenario},
    recorder::{Invocation, Recorder},
};

/// A function tool of a scenario: the key of its agent, its index among the agent's tools, and its
/// behaviour.
#[derive(Clone)]
struct Function {
    agent: String,
    place: usize,
    name: String,
    behavior: Behavior,
    enabled: Option<Enabled>,
}

/// Builds the body of the tool at index `place` of the agent with this key.
pub(super) fn body(agent: &str, place: usize, spec: &FunctionTool) -> ActivityBody {
    let function = Arc::new(Function::new(agent, place, spec));
    activity_body(move |_agent, _run| Some(Arc::clone(&function)))
}

/// Returns the keys of the run context that a body reads or sets, or that decide whether the tool
/// is enabled.
pub(super) fn context_keys(spec: &FunctionTool) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for step in spec.behavior.steps() {
        keys.extend(step.returns_context.clone());
        keys.extend(step.set_context.iter().flat_map(Map::keys).cloned());
    }
    if let Some(Enabled::While(Condition { context_key, equals: _ })) = &spec.is_enabled {
        keys.insert(context_key.clone());
    }
    keys
}

/// Builds the function tools of a scenario as a worker registers them: one per name.
///
/// Agents may have different tools of the same name, and a worker has one activity per name. So the
/// activity itself selects the tool: by the agent that calls, and, among tools that replace one
/// another, the last enabled one.
pub(crate) fn dispatchers(scenario: &Scenario) -> Vec<ToolDef> {
    let all: Vec<(String, Arc<Function>)> = scenario
        .agents
        .iter()
        .flat_map(|(key, agent)| {
            let tools = agent.tools.iter().flatten().enumerate();
            tools.map(|(place, tool)| (agent.name.clone(), Arc::new(Function::new(key, place, tool))))
        })
        .collect();
    let names: BTreeSet<&str> = all.iter().map(|(_, function)| &*function.name).collect();
    let dispatcher = |name: &str| {
        let candidates: Vec<_> = all.iter().filter(|(_, function)| function.name == name).cloned().collect();
        let body = activity_body(move |agent, run| {
            let of_agent =
                || candidates.iter().rev().filter(|(caller, _)| caller == agent).map(|(_, function)| function);
            let on_offer = |function: &&Arc<Function>| function.enabled.as_ref().is_none_or(|rule| rule.holds(run));
            of_agent().find(on_offer).or_else(|| of_agent().next()).cloned()
        });
        ToolDef::new(name, "", json!({"type": "object"}), ToolBinding::Activity { body, options: once() })
            .requires(State::<Recorder>::requirement())
    };
    names.into_iter().map(dispatcher).collect()
}

/// Builds a body that behaves as the function that `find` returns for the agent's name and the run
/// context.
fn activity_body(find: impl Fn(&str, &RunContext) -> Option<Arc<Function>> + Send + Sync + 'static) -> ActivityBody {
    Arc::new(move |ctx: &mut ToolContext, arguments| -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let function = find(&ctx.info().agent, ctx.run());
        Box::pin(async move {
            let function = function.ok_or_else(|| ToolError::failed("the scenario has no such tool"))?;
            function.act(ctx, arguments).await
        })
    })
}

impl Function {
    fn new(agent: &str, place: usize, spec: &FunctionTool) -> Self {
        Self {
            agent: agent.to_owned(),
            place,
            name: spec.name.clone(),
            behavior: spec.behavior.clone(),
            enabled: spec.is_enabled.clone(),
        }
    }

    /// Records the call and behaves as the scenario specifies.
    async fn act(&self, ctx: &mut ToolContext, arguments: Map<String, Value>) -> Result<ToolOutput, ToolError> {
        let State(recorder) = State::<Recorder>::from_context(ctx)?;
        recorder.tool_is_due(ctx.info()).await.map_err(|over| ToolError::failed(over.to_string()))?;
        if self.behavior.sequence.is_some() {
            recorder.wait_for_earlier_siblings(&self.name, &ctx.info().call_id).await;
        }
        let Invocation { arguments, before } = recorder.invoked(&self.agent, self.place, ctx.info(), arguments);
        let step = self.behavior.at(before);
        for (key, value) in step.set_context.iter().flatten() {
            ctx.run_mut().set(key, value)?;
        }
        if let Some(delay) = step.delay_ms {
            sleep(recorder.pause(delay)).await;
        }
        output_of(&step, ctx.run(), arguments)
    }
}

fn output_of(step: &Behavior, run: &RunContext, arguments: String) -> Result<ToolOutput, ToolError> {
    let Behavior {
        raises,
        returns,
        returns_json,
        echo,
        returns_content,
        returns_context,
        repeat,
        sequence: _,
        set_context: _,
        delay_ms: _,
    } = step;
    if let Some(text) = raises {
        return Err(ToolError::failed(text));
    }
    if let Some(text) = returns {
        return Ok(text.clone().into());
    }
    if let Some(value) = returns_json {
        return Ok(compact(value).into());
    }
    if *echo == Some(true) {
        return Ok(arguments.into());
    }
    match returns_content.as_deref() {
        None => {}
        // An empty list is not structured content, but a value like any other.
        Some([]) => return Ok("[]".into()),
        Some(parts) => return Ok(ToolOutput::Content(parts.iter().cloned().map(content_part).collect())),
    }
    if let Some(key) = returns_context {
        return Ok(compact(run.values().get(key).unwrap_or(&Value::Null)).into());
    }
    match repeat {
        Some(repeat) => Ok(repeat.text.repeat(repeat.times).into()),
        None => Err(ToolError::failed("the scenario does not say what the tool does")),
    }
}

/// Converts a part of structured content to the form of the Responses API: `input_text`,
/// `input_image`, `input_file`.
fn content_part(mut part: Map<String, Value>) -> Value {
    if let Some(Value::String(kind)) = part.get_mut("type") {
        *kind = format!("input_{kind}");
    }
    Value::Object(part)
}
