use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::json;
use temporal_agents_core::wire::EventKind;

use super::EventPublisher;

fn emitted(name: &str) -> EventKind {
    EventKind::EmittedDelta { call_id: "c".to_owned(), attempt: 1, name: name.to_owned(), value: json!(1) }
}

#[test]
fn a_subscriber_may_cause_events_and_may_panic() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let itself: Arc<OnceLock<Arc<EventPublisher>>> = Arc::default();
    let (names, publisher) = (Arc::clone(&seen), Arc::clone(&itself));
    let sink = Arc::new(move |event: &temporal_agents_core::wire::RunEvent| {
        let EventKind::EmittedDelta { name, .. } = &event.kind else { return };
        names.lock().unwrap_or_else(PoisonError::into_inner).push(name.clone());
        match &**name {
            "first" => {
                publisher.get().expect("it is set below").delta("", "a", 1, emitted("caused"));
                names.lock().unwrap_or_else(PoisonError::into_inner).push("after".to_owned());
            }
            "bad" => panic!("the subscriber fell"),
            _ => {}
        }
    });
    let publisher = Arc::new(EventPublisher::of_both("run", Some(sink), None).expect("there is a subscriber"));
    assert!(itself.set(Arc::clone(&publisher)).is_ok());
    for name in ["first", "bad", "last"] {
        publisher.delta("", "a", 1, emitted(name));
    }
    assert_eq!(*seen.lock().unwrap_or_else(PoisonError::into_inner), ["first", "after", "caused", "bad", "last"]);
}
