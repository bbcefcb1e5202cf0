//! Agents as data: runs and chats of specs, on a real server.

mod chats;
mod records;
mod refused;
mod runs;

use serde_json::{Value, json};
use temporal_agents::{
    Agent,
    agent::{GuardrailOutput, InputGuardrail, SpecParts},
    tool,
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, MemoryAgentStore,
    environment::AgentEnvironmentBuilder,
    fake_model::{text, tool_call},
};

/// Finds an order.
#[tool]
async fn find_order(number: u32) -> String {
    format!("order {number} is on its way")
}

/// Pays money back.
#[tool(idempotent = false, needs_approval)]
async fn refund(order: u32) -> String {
    format!("order {order} is refunded")
}

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").tool(refund)
}

fn parts() -> SpecParts {
    let no_homework = InputGuardrail::new("no_homework", |_ctx, input| {
        Ok(GuardrailOutput::trip_if(input.text().contains("homework")))
    });
    SpecParts::new().tool(find_order).tool(refund).input_guardrail(no_homework)
}

/// The set of both workflows; with `new_events` 0 they continue as new whenever they may.
fn set(new_events: u32) -> AgentSet {
    let options = ContinueOptions::builder().new_events(new_events).build();
    AgentSet::new((clerk,)).specs(parts()).continue_when(options)
}

/// Both workflows of this set, with this store.
fn environment(set: &AgentSet, store: &MemoryAgentStore, cached: bool) -> anyhow::Result<AgentEnvironmentBuilder> {
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set.clone()))?
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set.clone()))?
        .agents(set)
        .agent_store(store.clone());
    Ok(if cached { builder } else { builder.without_workflow_cache() })
}

/// A store with a desk that hands off to a billing agent, whose calls all wait for a person.
fn store() -> MemoryAgentStore {
    let store = MemoryAgentStore::new();
    store.add("desk", desk("You sort requests."));
    let find = json!({"name": "find_order", "needs_approval": true});
    let answer = json!({"type": "object", "properties": {"answer": {"type": "string"}}});
    let billing = json!({
        "name": "billing", "model": "gpt-5-mini", "instructions": "You know bills.", "tools": [find],
        "output": {"schema": answer},
    });
    store.add("billing", billing);
    store
}

fn desk(instructions: &str) -> Value {
    json!({"name": "desk", "model": "gpt-5", "instructions": instructions, "handoffs": ["billing"]})
}

/// A model that hands off, looks an order up, and answers.
fn model() -> FakeModel {
    FakeModel::script([
        tool_call("transfer_to_billing", json!({})),
        tool_call("find_order", json!({"number": 7})),
        text(r#"{"answer": "It is on its way."}"#),
    ])
}

/// The instructions of all calls of a model.
fn instructions(model: &FakeModel) -> Vec<String> {
    model.calls().into_iter().filter_map(|call| call.definitions.instructions).collect()
}
