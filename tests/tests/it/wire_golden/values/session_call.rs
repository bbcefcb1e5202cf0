//! Reads and writes of sessions.

use temporal_agents::{
    internal::wire::{
        digest::Digest,
        session_call::{SessionOperation, SessionPosition, SessionReply, SessionRequest},
    },
    wire::WIRE_VERSION,
};

use super::items;

fn request(operation: SessionOperation) -> SessionRequest {
    SessionRequest { version: WIRE_VERSION, session_id: "customer 7".to_owned(), operation }
}

pub(in crate::wire_golden) fn session_requests() -> Vec<(&'static str, SessionRequest)> {
    let key = "r1-input".to_owned();
    vec![
        ("read", request(SessionOperation::Read { limit: None })),
        ("read_latest", request(SessionOperation::Read { limit: Some(20) })),
        ("read_on", request(SessionOperation::ReadOn { limit: Some(20), after: place() })),
        ("add", request(SessionOperation::Add { items: items().into_iter().take(1).collect(), key })),
    ]
}

pub(in crate::wire_golden) fn session_replies() -> Vec<(&'static str, SessionReply)> {
    let reply = |items| SessionReply { version: WIRE_VERSION, items, more: None };
    let some = || items().into_iter().take(1).collect();
    let portion = SessionReply { more: Some(place()), ..reply(some()) };
    vec![("items", reply(some())), ("empty", reply(Vec::new())), ("portion", portion)]
}

fn place() -> SessionPosition {
    SessionPosition { given: 1, of: 3, digest: Digest::of_text("the items") }
}
