//! The model's part: it calls the tool of the cell, and is done when it has an answer.

use std::time::Duration;

use serde_json::{Value, json};
use temporal_agents::wire::{Item, ModelCall, ModelFailureKind};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{Reply, failure, item, text, tool_call},
};

use super::{
    agents::{FAR_HELPER, HELPER},
    bodies::{LARGE, begins},
    cells::{Binding, Cell, Outcome},
};

pub(super) fn model() -> FakeModel {
    FakeModel::function(|call, _| match &*call.agent {
        HELPER | FAR_HELPER => of_helper(call),
        agent => Cell::of_agent(agent).map_or_else(|| text("who are you?"), |cell| of_cell(cell, call)),
    })
}

/// What a call of the model is told that tools have given, or people decided.
pub(super) fn told(call: &ModelCall) -> Option<String> {
    call.input.iter().rev().find_map(|item| match item.kind() {
        "function_call_output" => Some(match item.get("output") {
            Some(Value::String(text)) => text.clone(),
            output => output.cloned().unwrap_or_default().to_string(),
        }),
        "mcp_approval_response" => Some(item.to_value().to_string()),
        _ => None,
    })
}

fn of_cell(cell: Cell, asked: &ModelCall) -> Reply {
    if told(asked).is_some() {
        return text("done");
    }
    if cell.binding == Binding::Hosted {
        return item(json!({
            "type": "mcp_approval_request", "id": "mcpr_1", "server_label": "crm", "name": "delete", "arguments": "{}",
        }));
    }
    let argument = match cell.binding {
        Binding::Agent | Binding::ChildAgent => "input",
        _ => "how",
    };
    let value = match cell.outcome {
        Outcome::BadArguments => json!(7),
        outcome => json!(outcome.name()),
    };
    let mut arguments = json!({argument: value});
    if matches!(cell.binding, Binding::Remote | Binding::RemoteOnce) {
        arguments["tool"] = json!(cell.tool());
    }
    tool_call(&cell.tool(), arguments)
}

fn of_helper(call: &ModelCall) -> Reply {
    match call.input.first().and_then(Item::text).unwrap_or_default().as_str() {
        "error" => failure(ModelFailureKind::Authentication, "the key at 10.0.0.7 is wrong"),
        "oversized" => text("x".repeat(LARGE)),
        "timeout" | "cancelled" | "cancelled elsewhere" => {
            begins(&call.agent);
            text("an hour later").delayed(Duration::from_hours(1))
        }
        _ => text("fine"),
    }
}
