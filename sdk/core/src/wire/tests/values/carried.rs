//! What a run leaves to the next execution of its workflow.

use serde_json::json;

use crate::wire::{
    Carried, WIRE_VERSION,
    carried::{CarriedState, KeepStateReply, KeepStateRequest, KeptState, LoadStateReply, LoadStateRequest, StateText},
    digest::Digest,
};

use super::run_states;

const RUN_ID: &str = "0193b5a2-7c11-7d3e-9a00-5a6b7c8d9e0f";

pub(in crate::wire::tests) fn carried() -> Vec<(&'static str, Carried)> {
    let state = run_states().into_iter().find(|(kind, _)| *kind == "turn_due").expect("there is one in each phase").1;
    let kept = KeptState {
        run_id: RUN_ID.to_owned(),
        activity_ids: vec!["dcm3842z-keep-0".to_owned(), "dcm3842z-keep-1".to_owned()],
        bytes: 1_500_000,
        digest: Digest::of_text("{}"),
    };
    let inbox = json!({"version": {"major": 1, "minor": 0}, "agent": "triage", "turn": 3});
    vec![
        ("inline", Carried::new(1, CarriedState::Inline { state: Box::new(state) }, None)),
        ("kept", Carried::new(7, CarriedState::Kept(kept), Some(inbox))),
    ]
}

fn state_text() -> StateText {
    StateText { bytes: 1_500_000, digest: Digest::of_text("{}"), chunks: 2 }
}

pub(in crate::wire::tests) fn keep_state_request() -> KeepStateRequest {
    KeepStateRequest { version: WIRE_VERSION, chunk: "{\"version\":{\"major\"".to_owned(), of: state_text() }
}

pub(in crate::wire::tests) fn keep_state_reply() -> KeepStateReply {
    KeepStateReply { version: WIRE_VERSION, of: state_text() }
}

pub(in crate::wire::tests) fn load_state_request() -> LoadStateRequest {
    let activity_id = "dcm3842z-keep-0".to_owned();
    LoadStateRequest { version: WIRE_VERSION, run_id: RUN_ID.to_owned(), activity_id }
}

pub(in crate::wire::tests) fn load_state_reply() -> LoadStateReply {
    LoadStateReply { version: WIRE_VERSION, chunk: "{\"version\":{\"major\"".to_owned() }
}
