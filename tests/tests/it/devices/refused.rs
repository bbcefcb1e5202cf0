//! Runs that do not get the device they select.

use serde_json::json;
use temporal_agents::{
    gate::{Gate, GateMode},
    remote::{device::DeviceGateway, transport::MemoryTransport},
    wire::AgentRequest,
    workflow::AgentWorkflow,
};

use super::support::{Laptop, Setting, agent, environment, model, request, runner};

#[tokio::test]
async fn a_run_begins_only_if_the_device_is_there_for_its_user() -> anyhow::Result<()> {
    let channels = MemoryTransport::new();
    let model = model(&[]);
    let setting = Setting { gate: Some(Gate::new(GateMode::Autonomous)), ..Setting::default() };
    let env = environment(&model, channels.clone(), setting).await?;
    let failed = async |request: AgentRequest| -> anyhow::Result<String> {
        let run = env.run(AgentWorkflow::run, request).await?;
        env.replay(&run.history).await?;
        let chain = run.failure_chain();
        assert!(run.output().is_err());
        Ok(chain.into_iter().map(|(_, message)| message).collect::<Vec<_>>().join(": "))
    };
    let offline = failed(request("ada")).await?;
    assert!(offline.contains("not there for user \"ada\": [\"laptop\"]"), "{offline}");

    let holder = DeviceGateway::new(channels);
    let working = Laptop::default().connect(&holder, Some(GateMode::Autonomous)).await?;
    let of_another = failed(request("bob")).await?;
    assert!(of_another.contains("not there for user \"bob\""), "{of_another}");
    let mut of_nobody = request("ada");
    of_nobody.user = None;
    assert!(failed(of_nobody).await?.contains("not there: [\"laptop\"]"));
    let mut untrusted = request("ada");
    untrusted.untrusted = true;
    let untrusted = failed(untrusted).await?;
    assert!(untrusted.contains("untrusted content, which gets no devices"), "{untrusted}");
    let mut closed = request("ada");
    closed.toolsets.push("desktop".to_owned());
    let closed = failed(closed).await?;
    assert!(closed.contains("\"desktop\"") && closed.contains("AgentSet::allow_toolsets"), "{closed}");
    assert!(model.calls().is_empty());

    let run = env.run(AgentWorkflow::run, request("ada")).await?;
    assert_eq!(run.output()?, json!("done"));
    let tools: Vec<String> = model.calls()[0].definitions.tools.iter().map(|tool| tool.name().to_owned()).collect();
    assert_eq!(tools, ["dev_laptop_run_command", "dev_laptop_read", "dev_laptop_held"]);
    env.finish().await?;
    working.abort();
    Ok(())
}

#[tokio::test]
async fn an_agent_s_own_tool_and_a_tool_of_the_device_cannot_share_a_name() -> anyhow::Result<()> {
    let channels = MemoryTransport::new();
    let gateway = DeviceGateway::new(channels);
    let working = Laptop::default().connect(&gateway, Some(GateMode::Autonomous)).await?;
    let own = temporal_agents::ToolDef::inline("dev_laptop_read", "Mine.", |_ctx, (): ()| Ok("mine".into()));
    let failure =
        runner(&model(&[]), gateway).run(&agent().tool(own.not_strict()), "Work.").await.expect_err("it fails");
    assert!(failure.to_string().contains("dev_laptop_read"), "{failure}");
    working.abort();
    Ok(())
}
