//! The script of the model.

use serde_json::{Value, json};
use temporal_agents::wire::{ItemView, ModelCall};
use temporal_agents_testing::fake_model::{FakeModel, text, tool_call, tool_calls};

/// Returns a dispatcher who requests three quotes, and takes the cheapest.
pub fn scripted() -> FakeModel {
    const CITIES: [&str; 3] = ["Oslo", "Narvik", "Atlantis"];
    FakeModel::function(|call: &ModelCall, _number| {
        let told: Vec<&str> = call.input.iter().filter_map(output).collect();
        match &*told {
            [] => tool_calls(CITIES.map(|city| ("quote", freight(city)))),
            quotes if quotes.len() == CITIES.len() => {
                let euros = |quote: &&str| serde_json::from_str::<Value>(quote).ok()?["euros"].as_u64();
                let priced = CITIES.iter().zip(quotes).filter_map(|(city, quote)| Some((euros(quote)?, *city)));
                match priced.min() {
                    Some((_, city)) => tool_call("carry", freight(city)),
                    None => text("Nobody goes anywhere."),
                }
            }
            [.., waybill] => text(format!("Sent: {waybill}")),
        }
    })
}

fn freight(to: &str) -> Value {
    json!({"to": to, "pallets": 2})
}

fn output(item: &temporal_agents::wire::Item) -> Option<&str> {
    match item.view() {
        ItemView::FunctionCallOutput { output, .. } => output.as_str(),
        _ => None,
    }
}
