use serde_json::{Value, json};

use super::{EventKind, RunEvent};

fn read(json: &Value) -> RunEvent {
    serde_json::from_value(json.clone()).expect("an event")
}

#[test]
fn unknown_kinds_members_and_values_are_kept() {
    let common = |kind: Value| {
        let mut event =
            json!({"version": "1.9", "id": "k/1", "run": "k", "agent": "a", "time": "2026-11-23T12:00:00Z"});
        event.as_object_mut().expect("an object").extend(kind.as_object().expect("an object").clone());
        event
    };
    for kind in [
        json!({"kind": "run_teleported", "to": {"planet": "mars"}}),
        json!({"kind": "turn_started", "budget": 7}),
        json!({"kind": "message", "text": "hi", "item": {"type": "message"}, "mood": ["glad"]}),
        // A value that this build cannot read.
        json!({"kind": "model_call_answered", "attempts": "two"}),
    ] {
        let event = common(kind);
        assert_eq!(serde_json::to_value(read(&event)).expect("JSON"), event);
    }
    let unknown = read(&common(json!({"kind": "run_teleported", "to": 1})));
    assert_eq!(unknown.kind.name(), "run_teleported");
    assert!(matches!(unknown.kind, EventKind::Other { .. }));
}

#[test]
fn an_event_without_a_kind_or_an_id_is_an_error() {
    for event in [json!({}), json!({"version": "1.2", "id": "k/1", "run": "k", "time": ""}), json!([])] {
        assert!(serde_json::from_value::<RunEvent>(event).is_err());
    }
}

#[test]
fn kinds_that_end_in_delta_are_deltas() {
    for (name, event) in crate::wire::tests::values::event::run_events() {
        let kind = name.split_once('-').map_or(name, |(kind, _)| kind);
        if kind != "nested" {
            assert_eq!(event.kind.name(), kind);
        }
        assert_eq!(event.is_delta(), kind.ends_with("delta"), "{kind}");
    }
}
