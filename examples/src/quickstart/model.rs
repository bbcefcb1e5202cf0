//! The choice of the model: the real provider if there is a key, otherwise a script.

use std::time::Duration;

use serde_json::{Value, json};
use temporal_agents::{
    Resources,
    provider::OpenAi,
    wire::{Item, ItemView, ModelCall},
};
use temporal_agents_testing::fake_model::{FakeModel, Reply, handoff, structured, tool_calls};

use super::trip::Plan;
use crate::stage::model::{CHUNK_PAUSE, has_key};

/// Adds the model provider to the resources; a scripted answer takes `delay`.
///
/// # Errors
/// The environment of the real provider is not usable.
pub fn add_to(resources: Resources, delay: Duration) -> anyhow::Result<Resources> {
    if has_key() {
        return Ok(resources.model_provider(OpenAi::from_env()?));
    }
    Ok(resources.model_provider(scripted(delay)))
}

/// Returns the scripted model; an answer takes `delay`.
///
/// A pure function of the conversation, so that it continues in any process that replaces a crashed
/// one.
pub fn scripted(delay: Duration) -> FakeModel {
    FakeModel::function(move |call, _| play(call).delayed(delay)).chunk_pause(CHUNK_PAUSE)
}

fn play(call: &ModelCall) -> Reply {
    if call.agent == "triage" {
        return handoff("planner");
    }
    let outputs: Vec<Value> = call.input.iter().filter_map(tool_output).collect();
    // The output of the handoff always comes first.
    match outputs.as_slice() {
        [_handoff] => tool_calls([
            ("get_weather", json!({"city": "Oslo"})),
            ("train_fare", json!({"from": "Bergen", "to": "Oslo"})),
            ("cost_of_nights", json!({"nights": 2, "euros_per_night": 80})),
        ]),
        [_handoff, weather, fare, nights, ..] => structured(&Plan {
            city: "Oslo".to_owned(),
            reason: format!(
                "{} and {} degrees tomorrow, and the train goes there directly",
                weather["sky"].as_str().unwrap_or("some weather"),
                weather["celsius"]
            ),
            euros: u32::try_from(fare.as_u64().unwrap_or(0) + nights.as_u64().unwrap_or(0)).unwrap_or(u32::MAX),
        }),
        _ => tool_calls([("get_weather", json!({"city": "Oslo"}))]),
    }
}

fn tool_output(item: &Item) -> Option<Value> {
    match item.view() {
        ItemView::FunctionCallOutput { output, .. } => {
            Some(output.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| output.clone()))
        }
        _ => None,
    }
}
