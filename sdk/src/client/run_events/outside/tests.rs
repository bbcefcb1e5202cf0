use temporal_agents_core::wire::{EventKind, RunEvent};

use super::{HeldDeltas, MAX_HELD_BYTES};

const CALL: &str = "r/1-model";

fn delta(attempt: u32, number: u64, text: &str) -> RunEvent {
    let (message_id, delta) = (format!("{CALL}/0"), text.to_owned());
    let id = format!("{CALL}#{attempt}.{number}");
    RunEvent { id, ..RunEvent::new(EventKind::TextDelta { message_id, attempt, delta }) }
}

/// The numbers of the deltas that are held, and their texts.
fn held(deltas: &HeldDeltas) -> Vec<(u64, String)> {
    let text = |event: &RunEvent| match &event.kind {
        EventKind::TextDelta { delta, .. } => delta.clone(),
        other => other.name().to_owned(),
    };
    deltas.since(deltas.first()).map(|(number, event)| (number, text(event))).collect()
}

fn pairs(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
    expected.iter().map(|(number, text)| (*number, (*text).to_owned())).collect()
}

#[test]
fn each_delta_is_held_once_and_a_new_attempt_replaces_the_one_before() {
    let mut deltas = HeldDeltas::default();
    deltas.add(CALL, vec![delta(1, 0, "a"), delta(1, 1, "b")]);
    deltas.add(CALL, vec![delta(1, 1, "b"), delta(1, 2, "c")]);
    assert_eq!((deltas.attempt, held(&deltas)), (1, pairs(&[(0, "a"), (1, "b"), (2, "c")])));
    deltas.add(CALL, vec![delta(2, 0, "x")]);
    deltas.add(CALL, vec![delta(1, 3, "of a process that was given up")]);
    assert_eq!((deltas.attempt, held(&deltas)), (2, pairs(&[(0, "x")])));
}

#[test]
fn what_comes_before_a_hole_is_not_held() {
    let mut deltas = HeldDeltas::default();
    deltas.add(CALL, vec![delta(1, 0, "a"), delta(1, 2, "c"), delta(1, 3, "d")]);
    assert_eq!(held(&deltas), pairs(&[(2, "c"), (3, "d")]));
    deltas.add(CALL, vec![delta(1, 9, "j")]);
    assert_eq!(held(&deltas), pairs(&[(9, "j")]));
}

#[test]
fn a_delta_of_another_call_and_one_that_is_no_delta_are_skipped() {
    let mut deltas = HeldDeltas::default();
    let fact = RunEvent { id: format!("{CALL}#1.0"), ..RunEvent::new(EventKind::RunPaused {}) };
    let nameless = RunEvent { id: "no delta".to_owned(), ..delta(1, 0, "a") };
    deltas.add("r/2-model", vec![delta(1, 0, "a")]);
    deltas.add(CALL, vec![fact, nameless]);
    assert_eq!((deltas.attempt, held(&deltas)), (0, Vec::new()));
}

#[test]
fn the_oldest_deltas_of_a_long_call_are_released() {
    let mut deltas = HeldDeltas::default();
    let text = "x".repeat(MAX_HELD_BYTES / 4);
    (0..20).for_each(|number| deltas.add(CALL, vec![delta(1, number, &text)]));
    assert_eq!(deltas.first(), 17);
    assert_eq!(held(&deltas).len(), 3);
    assert!(deltas.bytes <= MAX_HELD_BYTES);
}
