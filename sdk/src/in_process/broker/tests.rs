use temporal_agents_core::wire::{EventKind, RunEvent};
use tokio::sync::mpsc::{Receiver, channel};

use super::{CallOrders, DeltaFilter, DeltaPublisher, Queued, group_by_fact};

fn text(message: &str, attempt: u32, delta: &str) -> RunEvent {
    let (message_id, delta) = (message.to_owned(), delta.to_owned());
    RunEvent { run: "r".to_owned(), ..RunEvent::new(EventKind::TextDelta { message_id, attempt, delta }) }
}

/// A publisher whose queue has this length.
fn publisher(length: usize) -> (DeltaPublisher, Receiver<Queued>) {
    let (queue, queued) = channel(length);
    (DeltaPublisher { queue, orders: CallOrders::default() }, queued)
}

fn deltas_of(mut queued: Receiver<Queued>) -> Vec<RunEvent> {
    std::iter::from_fn(|| queued.try_recv().ok()).filter_map(|queued| queued.delta).map(|delta| *delta).collect()
}

#[test]
fn a_text_ends_where_a_delta_was_lost() {
    let (mut publisher, mut queued) = publisher(2);
    publisher.delta(1, text("r/1-model/0", 1, "one"));
    publisher.delta(1, text("r/1-model/0", 1, "two"));
    publisher.delta(1, text("r/1-model/0", 1, "lost"));
    let mut sent: Vec<RunEvent> =
        [queued.try_recv(), queued.try_recv()].map(|queued| *queued.unwrap().delta.unwrap()).into();
    publisher.delta(1, text("r/1-model/0", 1, "four"));
    publisher.delta(1, text("r/1-model/0", 2, "again"));
    sent.extend(deltas_of(queued));
    let mut filter = DeltaFilter::default();
    let passed: Vec<RunEvent> = sent.into_iter().filter_map(|delta| filter.pass(delta)).collect();
    let expected = [(1, "one"), (1, "two"), (2, "again")];
    assert_eq!(passed, expected.map(|(attempt, delta)| text("r/1-model/0", attempt, delta)));
}

#[test]
fn a_batch_that_came_twice_is_passed_on_once() {
    let (mut publisher, queued) = publisher(9);
    publisher.delta(1, text("r/1-model/0", 1, "one"));
    publisher.delta(1, text("r/1-tool-0/0", 1, "other"));
    let sent = deltas_of(queued);
    let mut filter = DeltaFilter::default();
    let passed = sent.iter().chain(&sent).filter_map(|delta| filter.pass(delta.clone())).count();
    assert_eq!(passed, 2);
}

#[test]
fn a_batch_has_the_latest_fact_of_a_row_of_facts() {
    let delta = |fact| Queued { fact, delta: Some(Box::new(text("r/1-model/0", 1, "x"))) };
    let fact = |fact| Queued { fact, delta: None };
    let parts = group_by_fact([fact(1), fact(2), delta(2), delta(2), fact(3), fact(4), delta(5), fact(6)].into_iter());
    let parts: Vec<_> = parts.iter().map(|part| (part.fact, part.deltas.len())).collect();
    assert_eq!(parts, [(2, 2), (5, 1), (6, 0)]);
}
