use temporal_agents_core::wire::{EventKind, RunEvent};

use super::{Hub, MAX_HELD_EVENTS, Next};

fn fact() -> RunEvent {
    RunEvent::new(EventKind::TurnStarted {})
}

fn delta() -> RunEvent {
    RunEvent::new(EventKind::TextDelta { message_id: String::new(), attempt: 1, delta: String::new() })
}

#[test]
fn a_reader_continues_with_the_deltas_after_its_fact() {
    let hub = Hub::new(0);
    hub.push(1, fact());
    hub.push(1, delta());
    hub.push(2, fact());
    assert_eq!(hub.number_after(0), Some((0, false)));
    assert_eq!(hub.number_after(1), Some((1, false)));
    assert_eq!(hub.number_after(2), Some((3, false)));
    assert_eq!(hub.number_after(3), None);
}

#[tokio::test]
async fn a_hub_holds_the_latest_events_and_says_what_it_has_dropped() {
    let hub = Hub::new(7);
    hub.push(8, fact());
    (0..MAX_HELD_EVENTS).for_each(|_| hub.push(8, delta()));
    // Only the fact was dropped: all its deltas are held.
    assert_eq!(hub.number_after(8), Some((1, false)));
    assert_eq!(hub.number_after(7), None);
    hub.push(8, delta());
    assert_eq!(hub.number_after(8), Some((2, true)));
    assert!(matches!(hub.event(1).await, Next::NotHeld));
    assert!(matches!(hub.event(2).await, Next::Event(held) if held.fact == 8));
}

#[tokio::test]
async fn a_reader_at_the_end_learns_that_nothing_follows() {
    let hub = Hub::new(0);
    hub.push(1, fact());
    hub.end();
    assert!(matches!(hub.event(0).await, Next::Event(_)));
    assert!(matches!(hub.event(1).await, Next::Ended));
}
