//! The script of both models: the first one calls a tool and is then unavailable, the second one
//! continues.

use serde_json::json;
use temporal_agents::wire::{Item, ItemView, ModelCall, ModelFailureKind};
use temporal_agents_testing::fake_model::{FakeModel, Reply, failure, text, tool_call};

use super::MODELS;

pub fn scripted() -> FakeModel {
    FakeModel::function(|call, _| play(call))
}

fn play(call: &ModelCall) -> Reply {
    let is_output = |item: &Item| matches!(item.view(), ItemView::FunctionCallOutput { .. });
    match call.input.iter().any(is_output) {
        false => tool_call("locate_parcel", json!({"number": "NO-71"})),
        true if call.model == MODELS[0] => failure(ModelFailureKind::ServerError, "503: not now"),
        true => text("Your parcel waits in Bergen."),
    }
}
