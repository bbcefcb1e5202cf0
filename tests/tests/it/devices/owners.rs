//! Devices of several users in one system.

use serde_json::json;
use temporal_agents::{
    gate::GateMode,
    remote::{device::DeviceGateway, transport::MemoryTransport},
    tool::OUTCOME_UNKNOWN,
    workflow::AgentWorkflow,
};

use super::support::{Laptop, Setting, environment, model, request, told};

#[tokio::test]
async fn two_users_may_have_a_device_of_one_name() -> anyhow::Result<()> {
    let channels = MemoryTransport::new();
    let holder = DeviceGateway::new(channels.clone());
    let of_ada = Laptop::default();
    let of_bob = Laptop::default();
    let ada_works = of_ada.connect_for("ada", &holder, Some(GateMode::Autonomous)).await?;
    let bob_works = of_bob.connect_for("bob", &holder, Some(GateMode::Autonomous)).await?;
    let model = model(&[("dev_laptop_run_command", json!({"command": "ls"}))]);
    let env = environment(&model, channels, Setting::default()).await?;
    for (user, effects) in [("ada", [1, 0]), ("bob", [1, 1]), ("ada", [2, 1])] {
        let run = env.run(AgentWorkflow::run, request(user)).await?;
        env.replay(&run.history).await?;
        assert_eq!(run.output()?, json!("done"));
        assert_eq!(told(&model), ["ran ls"]);
        assert_eq!([of_ada.effects(), of_bob.effects()], effects, "after a run of {user}");
    }
    let of_eve = env.run(AgentWorkflow::run, request("eve")).await?;
    let failures = of_eve.failure_chain();
    assert!(failures[0].1.contains("not there for user \"eve\""), "{failures:?}");
    env.finish().await?;
    ada_works.abort();
    bob_works.abort();
    Ok(())
}

#[tokio::test]
async fn a_user_whose_device_leaves_does_not_get_another_one() -> anyhow::Result<()> {
    let channels = MemoryTransport::new();
    let holder = DeviceGateway::new(channels.clone());
    let of_ada = Laptop::default();
    let of_bob = Laptop::default();
    let ada_works = of_ada.connect_for("ada", &holder, Some(GateMode::Autonomous)).await?;
    let bob_works = of_bob.connect_for("bob", &holder, Some(GateMode::Autonomous)).await?;
    let model = model(&[("dev_laptop_held", json!({})), ("dev_laptop_read", json!({}))]);
    let env = environment(&model, channels, Setting::default()).await?;
    let started = env.start_workflow(AgentWorkflow::run, request("bob")).await?;
    of_bob.begun.notified().await;
    bob_works.abort();
    let run = env.await_run(&started).await?;
    assert_eq!(run.output()?, json!("done"));
    let told = told(&model);
    assert_eq!(told[0], OUTCOME_UNKNOWN);
    assert!(told[1].contains("device 'laptop' is offline"), "{}", told[1]);
    assert_eq!([of_ada.effects(), of_bob.effects()], [0, 1]);
    env.finish().await?;
    ada_works.abort();
    Ok(())
}
