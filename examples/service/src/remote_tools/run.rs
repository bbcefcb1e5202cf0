//! A durable run that calls one tool of a provider.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, ensure};
use serde_json::{Map, Value};
use temporal_agents::{
    Agent,
    client::{event_lines::RunPrinter, transcript::Transcript},
    remote::transport::RedisTransport,
    tool::{RemoteToolset, ToolDef},
    wire::{AgentRequest, RemoteTool},
    worker::HeartbeatDeltas,
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call},
};

use super::Run;

/// Name of the agent.
const AGENT: &str = "caller";

/// Runs the agent, and prints its events, what its model was told, and its transcript.
pub(super) async fn run(run: Run) -> anyhow::Result<()> {
    let listed = tools_of(&run.schema)?;
    let arguments: Map<String, Value> =
        serde_json::from_str(&run.args).context("--args is not a JSON object, such as '{\"text\": \"hello\"}'")?;
    let toolset = RemoteToolset::named(&*run.toolset).timeout(Duration::from_secs(run.timeout.max(1)));
    let name = shown_name(&toolset, &listed, &run)?;
    let tools = toolset.tools(listed);
    let transport = RedisTransport::new(&run.redis)?;
    Box::pin(call(tools, transport, &name, arguments)).await
}

/// Makes one call in a durable run on a dev server of its own.
pub(super) async fn call(
    tools: Vec<ToolDef>,
    transport: RedisTransport,
    name: &str,
    arguments: Map<String, Value>,
) -> anyhow::Result<()> {
    let agent: Agent = Agent::new(AGENT).model("scripted").tools(tools);
    let model = FakeModel::script([tool_call(name, Value::Object(arguments)), text("The tool has answered.")]);
    let set = AgentSet::new((agent.clone(),));
    eprintln!("Starting a Temporal dev server ...");
    let env = AgentEnvironment::builder()
        .agent(agent)
        .model(&model)
        .resources(|resources| resources.tool_streams(transport))
        .plugin(|plugin| plugin.deltas(HeartbeatDeltas::new()))
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .start()
        .await?;
    let request = AgentRequest::new(AGENT, "Call the tool.");
    let started = env.start_workflow(AgentWorkflow::run, request).await?;
    let mut printer = RunPrinter::new(env.client(), &*started.info().workflow_id);
    printer.print_to_end().await?;
    let finished = env.await_run(&started).await?;
    println!("model: {}", told(&model).unwrap_or_else(|| "nothing: the run ended before".to_owned()));
    println!("\n{}", Transcript::of_workflow(env.client(), &finished.workflow_id, None).await?.to_markdown());
    env.finish().await?;
    Ok(())
}

/// Returns the output that the model was told, on one line.
fn told(model: &FakeModel) -> Option<String> {
    let calls = model.calls();
    let output = calls.get(1)?.input.iter().rev().find_map(|item| item.get("output").cloned())?;
    Some(match output {
        Value::String(text) => text.replace('\n', "\\n"),
        other => other.to_string(),
    })
}

/// Reads the list of tools.
fn tools_of(path: &Path) -> anyhow::Result<Vec<RemoteTool>> {
    let json = fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let tools: Vec<RemoteTool> = serde_json::from_str(&json)
        .with_context(|| format!("{} is not a JSON list of {{name, description, payload_schema}}", path.display()))?;
    ensure!(!tools.is_empty(), "{} lists no tools", path.display());
    Ok(tools)
}

/// Returns the name for the model of the tool that `--call` names.
fn shown_name(toolset: &RemoteToolset, tools: &[RemoteTool], run: &Run) -> anyhow::Result<String> {
    let name = &run.call;
    let prefixed = format!("{}.{name}", run.toolset);
    let called = tools.iter().position(|tool| tool.name == *name || tool.name == prefixed);
    let mut shown = toolset.shown_names(tools);
    let called = called.with_context(|| format!("--call {name}: the list of tools has {}", shown.join(", ")))?;
    Ok(shown.swap_remove(called))
}
