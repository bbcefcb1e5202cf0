//! Mistakes that a worker warns of when it starts, because only some runs fail by them.

use schemars::JsonSchema;
use serde::Deserialize;
use temporal_agents::{Agent, AgentsPlugin, agent::AgentSources, workflow::AgentSet};
use temporal_agents_testing::FakeModel;
use temporalio_sdk::WorkerOptions;

use crate::logs;

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "no run reads it")]
struct Ruling {
    paid: bool,
}

fn desk(name: &str) -> Agent {
    let payout = Agent::new(format!("{name}_payout")).model("gpt-5").output::<Ruling>();
    Agent::new(name).model("gpt-5").handoff(payout)
}

fn install(agents: impl AgentSources) -> anyhow::Result<()> {
    logs::keep();
    AgentsPlugin::new(FakeModel::script([])).agents(agents).install(&mut WorkerOptions::new("desk").build())?;
    Ok(())
}

#[test]
fn differing_output_types_warn_at_install() -> anyhow::Result<()> {
    install((desk("differing"),))?;
    let lines = logs::with("differing_payout");
    assert_eq!(lines.len(), 1, "{lines:?}");
    let told = "a typed run that starts with this agent fails before its first model call agent=\"differing\" issue=agent \
                \"differing_payout\" answers with Ruling, but the run of \"differing\" with text; give both one output \
                type, or run it with .untyped()";
    assert!(lines[0].contains("WARN") && lines[0].contains(told), "{lines:?}");
    Ok(())
}

#[test]
fn ready_made_workflows_may_differ_in_output_types() -> anyhow::Result<()> {
    install(&AgentSet::new((desk("untyped"),)))?;
    assert_eq!(logs::with("untyped_payout"), [""; 0]);
    Ok(())
}
