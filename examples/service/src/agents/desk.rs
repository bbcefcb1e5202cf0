//! `desk`: answers everything, calls a tool for the weather, and hands questions about parcels off.

use serde_json::json;
use temporal_agents::{Agent, Handoff, tool, wire::ModelCall};
use temporal_agents_testing::fake_model::{Reply, handoff, tool_call};

use super::script::{latest, say};

/// Current weather for one city.
///
/// # Arguments
/// * `city` - city name, e.g. "Oslo"
#[tool(start_to_close = "20s")]
async fn get_weather(city: String) -> String {
    format!("{city}: 12 degrees, clear")
}

/// Place of a parcel.
///
/// # Arguments
/// * `number` - number of the parcel
#[tool(start_to_close = "20s")]
async fn track_parcel(number: String) -> String {
    format!("parcel {number} is on the ferry")
}

fn parcels() -> Agent {
    Agent::new("parcels").model("scripted").instructions("You find parcels.").tool(track_parcel)
}

/// Returns the desk.
pub fn desk() -> Agent {
    let agent = Agent::new("desk").model("scripted").instructions("You help visitors.");
    agent.tool(get_weather).handoff(Handoff::from(parcels()))
}

pub(super) fn reply(call: &ModelCall) -> Reply {
    let (message, outputs) = latest(call);
    if let Some(output) = outputs.last() {
        return say(format!("I have looked it up for you, and the answer is: {output}. Is there anything else?"));
    }
    if message.contains("weather") {
        return tool_call("get_weather", json!({"city": "Oslo"}));
    }
    if message.contains("parcel") {
        return handoff("parcels");
    }
    let greeting = say(
        "Good day, and welcome to the desk! Ask me about the weather, or about a parcel, and I will find out for you.",
    );
    // The first attempt breaks half-way; the model is called again.
    if message.contains("break") { greeting.breaking_after(6) } else { greeting }
}

pub(super) fn reply_of_parcels(call: &ModelCall) -> Reply {
    let (_, outputs) = latest(call);
    match outputs.iter().find(|output| output.contains("ferry")) {
        Some(place) => {
            say(format!("Thank you for waiting. I have asked the harbour, and {place}. It arrives tomorrow."))
        }
        None => tool_call("track_parcel", json!({"number": "4711"})),
    }
}
