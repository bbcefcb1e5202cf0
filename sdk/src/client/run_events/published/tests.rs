use temporal_agents_core::wire::EventKind;

use super::*;

fn text(attempt: u32, number: u32) -> RunEvent {
    let (message_id, delta) = ("k3x9q2ab/1-model/0".to_owned(), format!("{attempt}.{number}"));
    let mut event = RunEvent::new(EventKind::TextDelta { message_id, attempt, delta });
    (event.run, event.id) = ("k3x9q2ab".to_owned(), format!("k3x9q2ab/1-model#{attempt}.{number}"));
    event
}

/// Publishes a batch with one delta, and returns whether it is passed on.
fn passes(deltas: &mut PublishedDeltas, publisher: &str, sequence: u64, delta: RunEvent) -> bool {
    deltas.batch(publisher.to_owned(), sequence, vec![delta]);
    !deltas.take().is_empty()
}

#[test]
fn a_delta_is_passed_on_while_its_call_is_open() {
    let mut published = PublishedDeltas::default();
    assert!(!passes(&mut published, "p", 1, text(1, 0)), "before the call");
    published.begun("k3x9q2ab-1-model", "");
    assert!(passes(&mut published, "p", 2, text(1, 1)));
    let mut of_other = text(1, 2);
    of_other.id = "k3x9q2ab/2-model#1.0".to_owned();
    assert!(!passes(&mut published, "p", 3, of_other));
    published.ended("k3x9q2ab-1-model");
    assert!(!passes(&mut published, "p", 4, text(1, 2)), "after the answer");
}

#[test]
fn a_batch_counts_once_and_an_attempt_that_was_given_up_not_at_all() {
    let mut published = PublishedDeltas::default();
    published.begun("k3x9q2ab-1-model", "");
    assert!(passes(&mut published, "p", 1, text(1, 0)));
    assert!(!passes(&mut published, "p", 1, text(1, 0)), "sent twice");
    assert!(passes(&mut published, "q", 1, text(2, 0)));
    assert!(!passes(&mut published, "p", 2, text(1, 1)), "of the attempt before");
    assert!(passes(&mut published, "q", 2, text(2, 1)));
}

#[test]
fn a_forged_delta_changes_no_other_item_and_stops_no_true_one() {
    let mut published = PublishedDeltas::default();
    published.begun("k3x9q2ab-1-model", "");
    assert!(!passes(&mut published, "x", 1, text(u32::MAX, 0)), "an attempt that cannot be");
    let mut of_other = text(1, 0);
    if let EventKind::TextDelta { message_id, .. } = &mut of_other.kind {
        *message_id = "k3x9q2ab/2-model/0".to_owned();
    }
    assert!(!passes(&mut published, "x", 2, of_other), "an item of another call");
    let failure = temporal_agents_core::wire::RecordedFailure {
        type_name: String::new(),
        message: "forged".to_owned(),
        cause: None,
    };
    let kind =
        EventKind::AttemptDelta { effect: "1-model".to_owned(), attempt: 1, failure: Some(failure), next_at: None };
    let failed = RunEvent { kind, ..text(1, 0) };
    assert!(!passes(&mut published, "x", 3, failed), "Temporal reports failures");
    let mut elsewhere = text(1, 0);
    (elsewhere.run, elsewhere.turn, elsewhere.workflow) = ("other".to_owned(), 7, Some("other".to_owned()));
    published.batch("x".to_owned(), 4, vec![elsewhere]);
    assert_eq!(published.take(), [RunEvent { turn: 1, ..text(1, 0) }]);
    assert!(passes(&mut published, "p", 1, text(1, 1)));
}

#[test]
fn after_a_reset_ids_have_the_suffix_of_the_facts() {
    let mut published = PublishedDeltas::default();
    published.after_reset("~1f2e3d4c".to_owned());
    published.begun("k3x9q2ab-1-model", "");
    published.batch("p".to_owned(), 1, vec![text(1, 0)]);
    let ids: Vec<_> = published.take().into_iter().map(|delta| delta.id).collect();
    assert_eq!(ids, ["k3x9q2ab~1f2e3d4c/1-model#1.0"]);
}
