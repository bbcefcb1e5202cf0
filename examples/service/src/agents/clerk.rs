//! `clerk`: pays a refund, after a person has approved it.

use serde_json::json;
use temporal_agents::{Agent, Tool, tool, wire::ModelCall};
use temporal_agents_testing::fake_model::{Reply, tool_call};

use super::script::{latest, say};

/// Pays money back.
///
/// # Arguments
/// * `order` - number of the order
/// * `amount` - amount in euros
#[tool(start_to_close = "20s", idempotent = false)]
async fn issue_refund(order: String, amount: u32) -> String {
    format!("refunded {amount} euros for order {order}")
}

/// Returns the clerk.
pub fn clerk() -> Agent {
    let agent = Agent::new("clerk").model("scripted").instructions("You handle refunds.");
    agent.tool(issue_refund.needs_approval())
}

pub(super) fn reply(call: &ModelCall) -> Reply {
    let (message, outputs) = latest(call);
    if let Some(output) = outputs.last() {
        return say(format!("This is what has become of your refund: {output}. Thank you for your patience today."));
    }
    if message.contains("refund") {
        return tool_call("issue_refund", json!({"order": "A-17", "amount": 40}));
    }
    say("Hello, this is the clerk. Tell me that you want a refund, and I will ask a colleague to approve it for you.")
}
