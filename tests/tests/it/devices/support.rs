//! A device, the process that holds it, and runs that select it.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources, RunConfig,
    gate::{Gate, GateMode},
    inline::InlineRunner,
    remote::{
        device::{Device, DeviceConnection, DeviceGateway, FromDevice, ToDevice},
        message::{CallMessage, ToolOutputDeltaMessage, ToolResultMessage},
        transport::Channels,
    },
    tool::ToolOutputGuardrail,
    wire::{AgentRequest, Item, ModelCall, RemoteTool},
    worker::{ConversationCache, HeartbeatDeltas},
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{Reply, text, tool_calls},
};
use tokio::{sync::Notify, task::JoinHandle};

/// A device that counts its effects.
#[derive(Clone, Default)]
pub(super) struct Laptop {
    /// The calls that took effect, by id.
    pub(super) effects: Arc<Mutex<Vec<String>>>,
    /// The sessions that the calls belong to.
    pub(super) sessions: Arc<Mutex<Vec<String>>>,
    /// Tells that a call of `held` has begun.
    pub(super) begun: Arc<Notify>,
    /// Lets a call of `held` end.
    pub(super) ends: Arc<Notify>,
}

pub(super) fn tools() -> Vec<RemoteTool> {
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]});
    let nothing = json!({"type": "object", "properties": {}});
    vec![
        RemoteTool::new("run_command", "Runs a command.", schema),
        RemoteTool::new("read", "Reads.", nothing.clone()).read_only(),
        RemoteTool::new("held", "Waits until it may end.", nothing),
    ]
}

pub(super) fn hello(mode: Option<GateMode>) -> String {
    json!(FromDevice::Hello { device: "laptop".to_owned(), tools: tools(), mode }).to_string()
}

impl Laptop {
    /// Connects the device of Ada to this gateway, and lets it work until its task is aborted.
    pub(super) async fn connect(
        &self,
        gateway: &DeviceGateway,
        mode: Option<GateMode>,
    ) -> anyhow::Result<JoinHandle<()>> {
        self.connect_for("ada", gateway, mode).await
    }

    /// Connects the device of this user.
    pub(super) async fn connect_for(
        &self,
        owner: &str,
        gateway: &DeviceGateway,
        mode: Option<GateMode>,
    ) -> anyhow::Result<JoinHandle<()>> {
        let connection = gateway.connect(Device::announced(&hello(mode), owner)?).await?;
        Ok(tokio::spawn(self.clone().work(connection)))
    }

    async fn work(self, mut connection: DeviceConnection) {
        while let Some(text) = connection.next().await {
            let Ok(ToDevice::Call(call)) = serde_json::from_str(&text) else { continue };
            self.effects.lock().expect("not poisoned").push(call.tool_use_id.clone());
            self.sessions.lock().expect("not poisoned").push(session_of(&call));
            let result = match &*call.tool {
                "held" => {
                    self.begun.notify_one();
                    self.ends.notified().await;
                    json!("ended")
                }
                "read" => json!({"lines": 3}),
                _ => {
                    let delta = ToolOutputDeltaMessage::new(&*call.tool_use_id, "stdout", "50 %");
                    let _ = connection.receive(&json!(FromDevice::OutputDelta(delta)).to_string());
                    json!(format!("ran {}", argument(&call)))
                }
            };
            let result = FromDevice::Result(ToolResultMessage::new(&*call.tool_use_id, result));
            let _ = connection.receive(&json!(result).to_string());
        }
    }

    pub(super) fn effects(&self) -> usize {
        self.effects.lock().expect("not poisoned").len()
    }
}

fn session_of(call: &CallMessage) -> String {
    call.meta.as_ref().map(|meta| meta.session_id.clone()).unwrap_or_default()
}

fn argument(call: &CallMessage) -> &str {
    call.payload.as_ref().and_then(|payload| payload["command"].as_str()).unwrap_or_default()
}

pub(super) fn agent() -> Agent {
    Agent::new("assistant").model("gpt-5")
}

/// A model that makes these calls, one response each, and then ends.
pub(super) fn model(calls: &[(&str, Value)]) -> FakeModel {
    let calls: Vec<(String, Value)> =
        calls.iter().map(|(name, arguments)| ((*name).to_owned(), arguments.clone())).collect();
    FakeModel::function(move |call: &ModelCall, _| -> Reply {
        let made = call.input.iter().filter(|item| item.get("output").is_some()).count();
        match calls.get(made) {
            Some((name, arguments)) => tool_calls([(&**name, arguments.clone())]),
            None => text("done"),
        }
    })
}

/// The outputs in the last call of the model.
pub(super) fn told(model: &FakeModel) -> Vec<String> {
    let last = model.calls().pop().expect("the model was asked");
    let output = |item: &Item| Some(item.get("output")?.as_str()?.to_owned());
    last.input.iter().filter_map(output).collect()
}

/// Settings of an environment.
pub(super) struct Setting {
    pub(super) gate: Option<Gate>,
    pub(super) cached: bool,
    pub(super) continues: Option<ContinueOptions>,
    pub(super) guardrails: Vec<ToolOutputGuardrail>,
}

impl Default for Setting {
    fn default() -> Self {
        Self { gate: None, cached: true, continues: None, guardrails: Vec::new() }
    }
}

/// An environment whose worker holds no devices, and reaches them over these channels.
pub(super) async fn environment(
    model: &FakeModel,
    channels: impl Channels,
    Setting { gate, cached, continues, guardrails }: Setting,
) -> anyhow::Result<AgentEnvironment> {
    let config = RunConfig::builder().maybe_gate(gate).tool_output_guardrails(guardrails).build();
    let agents = AgentSet::new((agent(),)).allow_toolsets(["laptop"]).config(config);
    let agents = match continues {
        Some(continues) => agents.continue_when(continues),
        None => agents,
    };
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(agents))?
        .agents((agent(),))
        .resources(|resources| resources.devices(DeviceGateway::new(channels)))
        .plugin(|plugin| plugin.deltas(HeartbeatDeltas::new()))
        .model(model);
    let builder = if cached {
        builder
    } else {
        builder.without_workflow_cache().conversation_cache(ConversationCache::with_bytes(0))
    };
    Ok(builder.start().await?)
}

/// The request of a run that selects the device, for this user.
pub(super) fn request(user: &str) -> AgentRequest {
    let mut request = AgentRequest::new("assistant", "Work.");
    (request.toolsets, request.user) = (vec!["laptop".to_owned()], Some(user.to_owned()));
    request
}

/// A runner without Temporal that reaches devices through this gateway, and selects one.
pub(super) fn runner(model: &FakeModel, gateway: DeviceGateway) -> InlineRunner {
    let resources = Resources::new().model_provider(model.clone()).devices(gateway);
    InlineRunner::new(resources).toolsets(["laptop"]).user("ada")
}
