//! What the workflow that waits for a person's decision is asked, and what it answers.

use serde_json::json;

use crate::wire::{AgentInterruption, ApprovalRequest, ApprovalRuling, Decision, RunStatus, WIRE_VERSION};

use super::{agent_states, object};

pub(in crate::wire::tests) fn approval_requests() -> Vec<(&'static str, ApprovalRequest)> {
    let waiting = agent_states().into_iter().filter(|(_, state)| state.status == RunStatus::Waiting);
    let calls: Vec<AgentInterruption> = waiting.flat_map(|(_, state)| state.interruptions).collect();
    let request = |id: &str| {
        let call = calls.iter().find(|call| call.id == id).expect("it waits").clone();
        ApprovalRequest { version: WIRE_VERSION, call, timeout_seconds: 86_400 }
    };
    vec![("minimal", request("call_1")), ("output", request("call_1#2")), ("server", request("mcpr_1"))]
}

pub(in crate::wire::tests) fn approval_rulings() -> Vec<(&'static str, ApprovalRuling)> {
    let always = ApprovalRuling { always: true, ..Decision::approve().into() };
    vec![
        ("approve", Decision::approve().into()),
        ("approve_with", Decision::approve_with(object(json!({"amount": 1}))).into()),
        ("approve_always", always),
        ("reject", Decision::reject().into()),
        ("reject_with_a_message", Decision::reject_with("too much").into()),
        ("supply_output", Decision::supply("paid by hand").into()),
        ("reject_by", Decision::reject_with("too much").by("ann@shop.test").into()),
    ]
}
