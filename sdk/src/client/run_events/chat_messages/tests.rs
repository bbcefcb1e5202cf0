use serde_json::json;

use super::{CarriedMessages, ChatMessages};

#[test]
fn a_message_without_an_id_has_the_one_that_the_chat_assigns() {
    let mut chat = ChatMessages::default();
    assert_eq!(chat.received(5, None), "#1");
    assert_eq!(chat.received(9, Some("m".to_owned())), "m");
    // Sent again, it is the same message.
    assert_eq!(chat.received(12, Some("m".to_owned())), "m");
    assert_eq!(chat.received(15, None), "#3");
    // A refused one has no number.
    assert_eq!(chat.refused(15).as_deref(), Some("#3"));
    assert_eq!(chat.refused(12).as_deref(), Some("m"));
    assert_eq!(chat.received(18, None), "#3");
}

#[test]
fn the_next_execution_counts_on() {
    let carried = CarriedMessages::of_input(&json!({"carried": {
        "current": {"id": "#3", "text": "c"},
        "waiting": [{"id": "m", "text": "d"}],
        "answered": [{"version": "1.2", "message": "old", "outcome": {"kind": "answered", "output": "b"}}],
        "messages": 4,
    }}));
    assert_eq!(carried.current.as_ref().and_then(|message| message.id.as_deref()), Some("#3"));
    let mut chat = ChatMessages::of(&carried);
    assert_eq!(chat.received(5, Some("old".to_owned())), "old");
    assert_eq!(chat.received(7, None), "#5");
}
