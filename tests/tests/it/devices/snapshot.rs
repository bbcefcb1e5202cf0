//! The snapshot of a run: frozen when the run begins, and carried with it.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    gate::GateMode,
    remote::{device::DeviceGateway, transport::MemoryTransport},
    workflow::{AgentWorkflow, ContinueOptions},
};

use crate::examples::executions_of;

use super::support::{Laptop, Setting, environment, model, request, told};

#[rstest]
#[tokio::test]
async fn a_run_that_continues_as_new_has_its_device_there_and_replays_without_it(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let channels = MemoryTransport::new();
    let holder = DeviceGateway::new(channels.clone());
    let laptop = Laptop::default();
    let working = laptop.connect(&holder, Some(GateMode::Autonomous)).await?;
    let call = ("dev_laptop_run_command", json!({"command": "ls"}));
    let model = model(&[call.clone(), call.clone(), call]);
    let continues = Some(ContinueOptions::builder().new_events(0).build());
    let env = environment(&model, channels.clone(), Setting { cached, continues, ..Setting::default() }).await?;
    let started = env.start_workflow(AgentWorkflow::run, request("ada")).await?;
    let run = env.await_run(&started).await?;
    let id = run.workflow_id.clone();
    assert_eq!(told(&model), ["ran ls", "ran ls", "ran ls"]);
    working.abort();
    // Nobody is there any more.
    channels.clear();
    let histories = executions_of(env.client(), &id).await?;
    for history in &histories {
        env.replay(history).await?;
    }
    assert!(histories.len() > 1, "it has continued as new");
    let searches = histories
        .iter()
        .flat_map(temporal_agents_testing::environment::activities)
        .filter(|activity| activity.activity_type == "agents.find_toolsets")
        .count();
    assert_eq!(searches, 1, "it was asked once");
    env.finish().await?;
    Ok(())
}
