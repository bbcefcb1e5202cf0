//! Decisions that hold beyond their run.

use serde_json::json;

use crate::wire::{
    Decision, WIRE_VERSION,
    kept_decision::{KeptDecision, KeptDecisionsReply, KeptDecisionsRequest, NewDecision},
};

pub(super) fn kept_decisions() -> Vec<KeptDecision> {
    let run = KeptDecision::on_tool("coder", "dev_laptop_run", "laptop", Decision::approve().by("ada"));
    let refund = KeptDecision::on_tool("coder", "refund", "", Decision::reject_with("never"));
    vec![run.with_arguments(&json!({"command": "ls"})), refund]
}

pub(in crate::wire::tests) fn kept_decisions_requests() -> Vec<(&'static str, KeptDecisionsRequest)> {
    let read = KeptDecisionsRequest { version: WIRE_VERSION, user: "ada".to_owned(), keep: None };
    let keep = kept_decisions().remove(0);
    let keep = Some(NewDecision { decision: keep, arguments: r#"{"command":"ls"}"#.to_owned() });
    vec![("read", read.clone()), ("keep", KeptDecisionsRequest { keep, ..read })]
}

pub(in crate::wire::tests) fn kept_decisions_replies() -> Vec<(&'static str, KeptDecisionsReply)> {
    let none = KeptDecisionsReply { version: WIRE_VERSION, decisions: Vec::new() };
    vec![("none", none.clone()), ("read", KeptDecisionsReply { decisions: kept_decisions(), ..none })]
}
