//! Model requests refer to what history holds: histories grow with the turns, and models get what they would get in full.

pub(crate) mod deploys;
pub(crate) mod large;
mod requests;
mod runs;
mod workers;

use serde_json::Value;
use temporal_agents::wire::{Item, MODEL_ACTIVITY, ModelCall};
use temporal_agents_testing::{environment::ActivityRecord, history::History};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;

/// What is kept as golden histories.
pub(crate) struct Recorded {
    pub(crate) histories: Vec<History>,
}

/// The inputs of the model activities, in bytes.
fn request_bytes(history: &History) -> Vec<usize> {
    requests(history).iter().map(|request| serde_json::to_string(request).expect("JSON").len()).collect()
}

/// The inputs of the model activities.
pub(crate) fn requests(history: &History) -> Vec<Value> {
    let scheduled = history.events.iter().filter_map(|event| match &event.attributes {
        Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => Some(scheduled),
        _ => None,
    });
    let models =
        scheduled.filter(|scheduled| scheduled.activity_type.as_ref().is_some_and(|kind| kind.name == MODEL_ACTIVITY));
    let payloads = models.flat_map(|scheduled| scheduled.input.iter().flat_map(|input| &input.payloads));
    payloads.map(|payload| serde_json::from_slice(&payload.data).expect("requests are JSON")).collect()
}

/// The segments of an input: `items N` for what travels itself, else kind, part and range.
pub(crate) fn segments(request: &Value) -> Vec<String> {
    let of = |segment: &Value| match segment["kind"].as_str().expect("a kind") {
        "items" => format!("items {}", segment["items"].as_array().map_or(0, Vec::len)),
        "tool_result" => "tool result".to_owned(),
        "recorded" => format!("recorded {}..{}", segment["start"], segment["end"]),
        "state" => format!("state {}..{}", segment["start"], segment["end"]),
        _ => {
            let range = format!("call {}..{}", segment["start"].as_u64().unwrap_or(0), segment["end"]);
            let results = segment["results"].as_u64().unwrap_or(0);
            if results == 0 { range } else { format!("{range} and {results} results") }
        }
    };
    request["input"]["segments"].as_array().expect("segments").iter().map(of).collect()
}

/// The model calls of a run: how their activity ids end, and their outcome.
fn model_calls(activities: Vec<ActivityRecord>) -> Vec<(String, String)> {
    let models = activities.into_iter().filter(|activity| activity.activity_type == MODEL_ACTIVITY);
    models
        .map(|model| {
            let after = model.activity_id.split_once('-').map_or("", |(_, after)| after);
            (after.to_owned(), format!("{:?}", model.outcome))
        })
        .collect()
}

/// What a model got, as text, so that the order of members counts.
pub(crate) fn as_text(calls: &[ModelCall]) -> Vec<(Vec<String>, Value)> {
    let one = |call: &ModelCall| {
        let definitions = serde_json::to_value(&call.definitions).expect("definitions are JSON");
        (call.input.iter().map(Item::json).collect(), definitions)
    };
    calls.iter().map(one).collect()
}
