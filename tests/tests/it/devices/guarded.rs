//! Guardrails of a run for all its tools: they see what a device returns before the model does.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Resources, RunConfig, RunError,
    gate::GateMode,
    inline::InlineRunner,
    remote::{device::DeviceGateway, transport::MemoryTransport},
    tool::{ToolGuardrailOutput, ToolInputGuardrail, ToolOutputGuardrail},
    workflow::AgentWorkflow,
};

use super::support::{Laptop, Setting, agent, environment, model, request, told};

fn no_keys() -> ToolOutputGuardrail {
    ToolOutputGuardrail::new("no_keys", |_, output| {
        if output.to_text().contains("sk-") {
            return ToolGuardrailOutput::reject_content("The output has a key in it.");
        }
        ToolGuardrailOutput::allow()
    })
}

#[rstest]
#[tokio::test]
async fn no_secret_of_a_device_reaches_the_model(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let (laptop, transport) = (Laptop::default(), MemoryTransport::new());
    let device = laptop.connect(&DeviceGateway::new(transport.clone()), Some(GateMode::Autonomous)).await?;
    let calls = [
        ("dev_laptop_run_command", json!({"command": "echo sk-1"})),
        ("dev_laptop_run_command", json!({"command": "ls"})),
    ];
    let expected = ["The output has a key in it.", "ran ls"];
    let of_workflow = model(&calls);
    let setting = Setting { cached, guardrails: vec![no_keys()], ..Setting::default() };
    let env = environment(&of_workflow, transport.clone(), setting).await?;
    assert_eq!(env.run(AgentWorkflow::run, request("ada")).await?.output()?, "done");
    assert_eq!(told(&of_workflow), expected);
    env.finish().await?;

    let inline = model(&calls);
    let resources = Resources::new().model_provider(inline.clone()).devices(DeviceGateway::new(transport));
    let config = RunConfig::builder().tool_output_guardrails([no_keys()]).build();
    let runner = InlineRunner::with_config(resources, config).toolsets(["laptop"]).user("ada");
    runner.run(&agent(), "Work.").await?;
    assert_eq!(told(&inline), expected);
    device.abort();
    Ok(())
}

#[tokio::test]
async fn a_runs_guardrail_stops_calls_before_their_device() -> anyhow::Result<()> {
    let (laptop, transport) = (Laptop::default(), MemoryTransport::new());
    let device = laptop.connect(&DeviceGateway::new(transport.clone()), Some(GateMode::Autonomous)).await?;
    let no_rm = ToolInputGuardrail::new("no_rm", |call| {
        if call.arguments.contains("rm ") {
            return ToolGuardrailOutput::raise_exception();
        }
        ToolGuardrailOutput::allow()
    });
    let model = model(&[("dev_laptop_run_command", json!({"command": "rm -r ."}))]);
    let resources = Resources::new().model_provider(model).devices(DeviceGateway::new(transport));
    let config = RunConfig::builder().tool_input_guardrails([no_rm]).build();
    let runner = InlineRunner::with_config(resources, config).toolsets(["laptop"]).user("ada");
    let failure = runner.run(&agent(), "Work.").await.expect_err("the guardrail raises");
    assert!(matches!(failure.error, RunError::ToolInputGuardrailTripped { .. }), "{failure}");
    assert_eq!(laptop.effects(), 0);
    device.abort();
    Ok(())
}
