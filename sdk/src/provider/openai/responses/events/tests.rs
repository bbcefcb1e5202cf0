use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;

/// Reads events; returns the body and the deltas.
fn read(events: &[Value]) -> (Option<Map<String, Value>>, Vec<ModelDelta>) {
    let sent: Arc<Mutex<Vec<ModelDelta>>> = Arc::default();
    let sink = Arc::clone(&sent);
    let deltas = ModelDeltas::new(move |delta| sink.lock().expect("not poisoned").push(delta));
    let mut reading = ResponseEvents::default();
    for data in events {
        let event = Event { name: String::new(), data: data.to_string() };
        reading.read(&event, &deltas).expect("an event of the API");
    }
    let sent = std::mem::take(&mut *sent.lock().expect("not poisoned"));
    (reading.body(), sent)
}

fn done(index: u64, id: &str) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": {"type": "message", "id": id}})
}

fn completed(output: &Value) -> Value {
    json!({"type": "response.completed", "response": {"id": "r1", "status": "completed", "output": output}})
}

fn output(events: &[Value]) -> Value {
    read(events).0.expect("a body")["output"].clone()
}

#[test]
fn items_that_the_last_event_lacks_are_those_of_their_own_events() {
    let own = json!([{"type": "message", "id": "a"}, {"type": "message", "id": "b"}]);
    let events = [done(1, "b"), done(0, "a")];
    for lacking in [json!([]), json!([{"type": "message", "id": "a"}]), Value::Null] {
        assert_eq!(output(&[&events[..], &[completed(&lacking)]].concat()), own);
    }
    // Some gateways write new ids into each event.
    let renamed = json!([{"type": "message", "id": "x"}, {"type": "message", "id": "y"}]);
    assert_eq!(output(&[&events[..], &[completed(&renamed)]].concat()), renamed);
}

#[test]
fn items_without_a_position_are_in_the_order_of_their_events() {
    let unnumbered = |id: &str| json!({"type": "response.output_item.done", "item": {"id": id}});
    assert_eq!(output(&[unnumbered("a"), unnumbered("b"), completed(&json!([]))]), json!([{"id": "a"}, {"id": "b"}]));
}

#[test]
fn a_delta_without_a_position_or_text_is_not_sent() {
    let events = [
        json!({"type": "response.output_text.delta", "delta": "lost"}),
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": ""}),
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": {"a": 1}}),
        json!({"type": "response.hologram.delta", "output_index": 0, "delta": "beam"}),
        json!({"type": "response.output_text.delta", "output_index": 4_294_967_296_u64, "delta": "far"}),
        json!({"type": "response.refusal.delta", "output_index": 2, "delta": "no"}),
    ];
    assert_eq!(read(&events), (None, vec![ModelDelta::Refusal { index: 2, delta: "no".into() }]));
}

#[test]
fn what_is_kept_is_counted() {
    let mut reading = ResponseEvents::default();
    let event = Event { name: String::new(), data: done(0, "a").to_string() };
    reading.read(&event, &ModelDeltas::new(drop)).expect("an event of the API");
    assert_eq!(reading.kept(), ITEM + r#"{"type":"message","id":"a"}"#.len());
}
