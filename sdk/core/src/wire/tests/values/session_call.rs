//! Reads and writes of sessions.

use crate::wire::{
    WIRE_VERSION,
    digest::Digest,
    session_call::{SessionOperation, SessionPosition, SessionReply, SessionRequest},
};

use super::items;

fn request(operation: SessionOperation) -> SessionRequest {
    SessionRequest { version: WIRE_VERSION, session_id: "customer 7".to_owned(), operation }
}

pub(in crate::wire::tests) fn session_requests() -> Vec<(&'static str, SessionRequest)> {
    let key = "r1-input".to_owned();
    vec![
        ("read", request(SessionOperation::Read { limit: None })),
        ("read_latest", request(SessionOperation::Read { limit: Some(20) })),
        ("read_on", request(SessionOperation::ReadOn { limit: Some(20), after: place() })),
        ("add", request(SessionOperation::Add { items: items().into_iter().take(1).collect(), key })),
    ]
}

pub(in crate::wire::tests) fn session_replies() -> Vec<(&'static str, SessionReply)> {
    let reply = |items| SessionReply { version: WIRE_VERSION, items, more: None };
    let some = || items().into_iter().take(1).collect();
    let portion = SessionReply { more: Some(place()), ..reply(some()) };
    vec![("items", reply(some())), ("empty", reply(Vec::new())), ("portion", portion)]
}

fn place() -> SessionPosition {
    SessionPosition { given: 1, of: 3, digest: Digest::of_text("the items") }
}
