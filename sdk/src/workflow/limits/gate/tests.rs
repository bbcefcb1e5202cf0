use std::{future::Future, pin::pin, task::Context};

use futures::task::noop_waker_ref;

use super::*;

fn poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.poll(&mut Context::from_waker(noop_waker_ref())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

#[test]
fn what_is_in_flight_is_limited_by_number() {
    let (gate, token) = (Gate::new(Some(1)), WorkflowCancellationToken::new());
    let mut places: Vec<_> = (0..DEFAULT_MAX_CALLS)
        .map(|_| poll(pin!(gate.enter(10, &token))).expect("there is room").expect("it runs"))
        .collect();
    let mut next = pin!(gate.enter(10, &token));
    assert!(poll(next.as_mut()).is_none());
    places.pop();
    assert!(poll(next.as_mut()).is_some());
}

#[test]
fn what_is_in_flight_is_limited_by_bytes_and_nobody_overtakes() {
    let (gate, token) = (Gate::new(Some(1)), WorkflowCancellationToken::new());
    let first = poll(pin!(gate.enter(2_500_000, &token))).expect("there is room").expect("it runs");
    let mut large = pin!(gate.enter(2_000_000, &token));
    let mut small = pin!(gate.enter(10, &token));
    assert!(poll(large.as_mut()).is_none());
    assert!(poll(small.as_mut()).is_none(), "it came later");
    drop(first);
    let large = poll(large.as_mut()).expect("there is room");
    assert!(large.is_ok());
    assert!(poll(small.as_mut()).is_some());
}

#[test]
fn one_that_is_larger_than_all_runs_alone() {
    let (gate, token) = (Gate::new(Some(1)), WorkflowCancellationToken::new());
    let alone = poll(pin!(gate.enter(9_000_000, &token)));
    assert!(alone.is_some());
    assert!(poll(pin!(gate.enter(10, &token))).is_none());
}

#[test]
fn who_waits_before_whom_it_waits_for_is_let_in_by_the_same_poll() {
    let (gate, token) = (Gate::new(Some(1)), WorkflowCancellationToken::new());
    let ends = Cell::new(false);
    let mut first = Some(poll(pin!(gate.enter(2_000_000, &token))).expect("there is room").expect("it runs"));
    let mut waits = pin!(gate.enter(2_000_000, &token));
    let mut is_in = false;
    let mut both = pin!(poll_until_idle(
        || gate.take_wakeup(),
        poll_fn(|_| {
            is_in = is_in || poll(waits.as_mut()).is_some();
            if ends.get() {
                first.take();
            }
            if is_in { Poll::Ready(()) } else { Poll::Pending }
        })
    ));
    assert!(poll(both.as_mut()).is_none());
    ends.set(true);
    assert!(poll(both.as_mut()).is_some());
}

#[test]
fn who_waits_when_the_run_is_cancelled_is_not_let_in() {
    let (gate, token) = (Gate::new(Some(1)), WorkflowCancellationToken::new());
    let first = poll(pin!(gate.enter(9_000_000, &token)));
    let mut next = pin!(gate.enter(10, &token));
    assert!(poll(next.as_mut()).is_none());
    token.cancel();
    assert!(matches!(poll(next.as_mut()), Some(Err(Cancelled))));
    drop(first);
    assert!(poll(pin!(gate.enter(10, &token))).is_some(), "its place in the queue is free");
}

#[test]
fn questions_share_the_bytes_of_calls_and_not_their_number() {
    let (gate, token) = (Gate::new(None), WorkflowCancellationToken::new());
    let calls: Vec<_> = (0..DEFAULT_MAX_CALLS)
        .map(|_| poll(pin!(gate.enter(10, &token))).expect("there is room").expect("it runs"))
        .collect();
    let first = poll(pin!(gate.ask(1_500_000, &token))).expect("there is room").expect("it runs");
    assert!(!first.has_waited());
    let mut second = pin!(gate.ask(1_500_000, &token));
    assert!(poll(second.as_mut()).is_none(), "together they are too large for one message");
    let small = poll(pin!(gate.ask(10, &token)));
    assert!(small.is_some(), "a small one waits for nobody");
    drop(first);
    let second = poll(second.as_mut()).expect("there is room").expect("it runs");
    assert!(second.has_waited());
    drop(calls);
}

#[test]
fn a_question_that_is_larger_than_all_is_asked_alone() {
    let (gate, token) = (Gate::new(None), WorkflowCancellationToken::new());
    let call = poll(pin!(gate.enter(10, &token)));
    let mut large = pin!(gate.ask(9_000_000, &token));
    assert!(poll(large.as_mut()).is_none());
    drop(call);
    assert!(poll(large.as_mut()).is_some());
}

#[test]
fn small_questions_are_limited_by_number_and_by_what_they_are_together() {
    let (gate, token) = (Gate::new(None), WorkflowCancellationToken::new());
    let mut few: Vec<_> = (0..MOST_QUESTIONS)
        .map(|_| poll(pin!(gate.ask(10, &token))).expect("there is room").expect("it runs"))
        .collect();
    let mut next = pin!(gate.ask(10, &token));
    assert!(poll(next.as_mut()).is_none(), "there are enough");
    few.pop();
    assert!(poll(next.as_mut()).is_some());
    drop(few);

    let mut bytes = 0;
    let mut large = Vec::new();
    while let Some(place) = poll(pin!(gate.ask(15_000, &token))) {
        large.push(place);
        bytes += 15_000 + AROUND;
        assert!(bytes <= 3_500_000, "{bytes} bytes do not fit into one message with what is around them");
    }
    assert!(large.len() < MOST_QUESTIONS || bytes <= MAX_BYTES_WITH_SMALL);
}

#[test]
fn what_workflow_tools_start_is_limited_by_number_and_by_bytes() {
    let (gate, token) = (Gate::new(None), WorkflowCancellationToken::new());
    let calls: Vec<_> = (0..DEFAULT_MAX_CALLS)
        .map(|_| poll(pin!(gate.enter(10, &token))).expect("there is room").expect("it runs"))
        .collect();
    let mut effects: Vec<_> = (0..gate.most_effects())
        .map(|_| poll(pin!(gate.start(10, &token))).expect("there is room").expect("it runs"))
        .collect();
    assert!(poll(pin!(gate.start(10, &token))).is_none(), "there are enough");
    assert!(poll(pin!(gate.ask(10, &token))).is_some(), "questions have a number of their own");
    drop(calls);
    effects.truncate(1);
    let large = poll(pin!(gate.start(3_200_000, &token))).expect("there is room").expect("it runs");
    assert!(poll(pin!(gate.start(200_000, &token))).is_none(), "together they are too large for one message");
    drop(large);
    assert!(poll(pin!(gate.start(200_000, &token))).is_some());
}
