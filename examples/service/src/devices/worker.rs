//! The worker, and its agent. It holds no connections: its calls reach devices over Redis.

use std::pin::pin;

use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Resources, RunConfig,
    gate::{Gate, GateMode, Rule, RuleDecision},
    remote::{device::DeviceGateway, transport::RedisTransport},
    wire::{AgentRequest, ModelCall},
    worker::HeartbeatDeltas,
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{Reply, text, tool_call},
};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, Url};
use temporalio_sdk::{self as sdk, Runtime, WorkerOptions, runtime::RuntimeOptions};

use super::Worker;
use crate::serve::termination;

/// The agent, which has no tools of its own.
pub fn assistant() -> Agent {
    Agent::new("assistant").model("scripted").instructions("Work on the user's machine.")
}

/// A run for this user that selects the device `laptop`, and writes two lines into this file.
pub fn request(user: &str, file: &str) -> AgentRequest {
    let mut request = AgentRequest::new("assistant", format!("Write down what is there, twice, in {file}"));
    (request.toolsets, request.user) = (vec!["laptop".to_owned()], Some(user.to_owned()));
    request
}

/// A model that lists the files, writes two lines, and ends.
fn model() -> FakeModel {
    FakeModel::function(|call: &ModelCall, _| -> Reply {
        match call.input.iter().filter(|item| item.get("output").is_some()).count() {
            0 => tool_call("dev_laptop_list_files", json!({})),
            line @ 1..3 => {
                tool_call("dev_laptop_write_file", json!({"name": file(call), "text": format!("line {line}")}))
            }
            _ => text("It is written."),
        }
    })
}

/// Returns the last word of the request.
fn file(call: &ModelCall) -> &str {
    let request = call.input.first().and_then(|item| item.get("content")?.as_str()).unwrap_or_default();
    request.split_whitespace().last().unwrap_or_default()
}

/// Works until Ctrl-C or SIGTERM.
pub(super) async fn serve(arguments: Worker) -> anyhow::Result<()> {
    let Worker { redis, address, namespace, task_queue } = arguments;
    // What only reads needs no approval; the device asks for one for everything else.
    let mut reads = Rule::new("reads", RuleDecision::Allow);
    reads.tools = vec!["dev_laptop_list_files".to_owned()];
    let gate = Gate::new(GateMode::Autonomous).rules([reads]);
    let agents = AgentSet::new((assistant,))
        .config(RunConfig::builder().gate(gate).build())
        .allow_toolsets(["*"])
        .continue_when(ContinueOptions::builder().new_events(0).build());
    let resources = Resources::new().model_provider(model()).devices(DeviceGateway::new(RedisTransport::new(&redis)?));
    let url: Url = format!("http://{address}").parse()?;
    let connection = Connection::connect(ConnectionOptions::new(url).build()).await?;
    let client = Client::new(connection, ClientOptions::new(namespace).build())?;
    let mut options = WorkerOptions::new(task_queue)
        .register_workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(agents))?
        .build();
    AgentsPlugin::new(resources).agents((assistant,)).deltas(HeartbeatDeltas::new()).install(&mut options)?;
    let runtime = Runtime::from_current_tokio(RuntimeOptions::default())?;
    let mut worker = sdk::Worker::new(&runtime, client, options)?;
    let shut_down = worker.shutdown_handle();
    let mut running = pin!(worker.run());
    let terminated = termination()?;
    println!("READY");
    tokio::select! {
        biased;
        ended = &mut running => return Ok(ended?),
        () = terminated => {}
    }
    shut_down();
    Ok(running.await?)
}
