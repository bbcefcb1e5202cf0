//! Outputs and arguments that are too large, thousands of calls, calls one after another: the run goes on, no workflow task fails.
//!
//! Those that keep a server busy have one of their own.

mod agents;
mod fan_out;
mod many;
mod order;
mod sizes;

use serde_json::Value;
use temporal_agents::wire::ModelCall;
use temporal_agents_testing::FakeModel;

/// What the model was told of its calls, at its last turn.
fn told(model: &FakeModel) -> Vec<Value> {
    let last: ModelCall = model.calls().pop().expect("the model was asked");
    last.input.iter().filter_map(|item| item.get("output").cloned()).collect()
}
