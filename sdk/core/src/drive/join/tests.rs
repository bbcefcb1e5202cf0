use std::{
    cell::RefCell,
    rc::Rc,
    task::{Context, Waker},
};

use super::*;

/// A future that is ready at its n-th poll, with its own index.
struct ReadyAt {
    index: usize,
    polls_left: usize,
    log: Rc<RefCell<Vec<usize>>>,
}

impl Future for ReadyAt {
    type Output = usize;

    fn poll(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<usize> {
        self.log.borrow_mut().push(self.index);
        self.polls_left -= 1;
        if self.polls_left == 0 { Poll::Ready(self.index) } else { Poll::Pending }
    }
}

fn join(polls_needed: impl IntoIterator<Item = usize>) -> (Vec<usize>, Vec<Vec<usize>>) {
    within(&Limits::default(), polls_needed)
}

/// Polls the join until it is done. Returns its output, and the futures that each round polled.
fn within(limits: &Limits, polls_needed: impl IntoIterator<Item = usize>) -> (Vec<usize>, Vec<Vec<usize>>) {
    let log = Rc::new(RefCell::new(Vec::new()));
    let ready_at = |(index, polls_left)| ReadyAt { index, polls_left, log: Rc::clone(&log) };
    let futures = polls_needed.into_iter().enumerate().map(ready_at).collect();
    let mut joined = Box::pin(join_within(futures, limits, || false));
    let mut rounds = Vec::new();
    loop {
        let poll = joined.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        rounds.push(std::mem::take(&mut *log.borrow_mut()));
        if let Poll::Ready(outputs) = poll {
            return (outputs, rounds);
        }
    }
}

#[test]
fn a_hundred_futures_that_become_ready_in_reverse_order_keep_their_order() {
    let (outputs, rounds) = join((1..=100).rev());
    assert!(outputs.into_iter().eq(0..100));
    let pending_from_the_first_on: Vec<Vec<usize>> = (1..=100).rev().map(|left| (0..left).collect()).collect();
    assert_eq!(rounds, pending_from_the_first_on, "polled in index order, and not again once ready");
}

#[test]
fn every_round_polls_what_is_pending_first_to_last() {
    let (outputs, rounds) = join([2, 1, 3, 1]);
    assert_eq!(outputs, [0, 1, 2, 3]);
    assert_eq!(rounds, [vec![0, 1, 2, 3], vec![0, 2], vec![2]]);
}

#[test]
fn nothing_to_join_is_ready_at_once() {
    assert_eq!(join([]), (vec![], vec![vec![]]));
}

#[test]
fn no_more_than_the_limit_run_at_a_time_and_the_next_begins_at_once() {
    let (outputs, rounds) = within(&Limits { all: 2, ..Limits::default() }, [3, 1, 1, 2]);
    assert_eq!(outputs, [0, 1, 2, 3]);
    assert_eq!(rounds, [vec![0, 1, 2, 3], vec![0, 3], vec![0]]);
}

#[test]
fn a_lane_is_served_first_to_last_beside_the_others() {
    let limits =
        Limits { lanes: vec![vec![0], vec![0, 1], vec![], vec![1]], per_lane: vec![1, 1], ..Limits::default() };
    let (outputs, rounds) = within(&limits, [2, 2, 1, 1]);
    assert_eq!(outputs, [0, 1, 2, 3]);
    // The last future waits for the second, which waits for the first.
    assert_eq!(rounds, [vec![0, 2], vec![0, 1], vec![1, 3]]);
}

#[test]
fn one_that_has_begun_is_polled_though_others_before_it_begin_later() {
    let limits = Limits { all: 2, lanes: vec![vec![0], vec![0], vec![1], vec![]], per_lane: vec![1, 1] };
    let (outputs, rounds) = within(&limits, [2, 2, 3, 1]);
    assert_eq!(outputs, [0, 1, 2, 3]);
    assert_eq!(rounds, [vec![0, 2], vec![0, 1, 2], vec![1, 2, 3]]);
}

#[test]
fn room_that_is_made_behind_a_waiting_one_is_used_at_once() {
    // When 0 completes, 1 takes its place, and no place is free for 2 until 3, with a higher index,
    // completes.
    let limits = Limits { all: 2, lanes: vec![vec![0, 1], vec![0], vec![1]], per_lane: vec![1, 1] };
    let (outputs, rounds) = within(&limits, [2, 3, 1, 2]);
    assert_eq!(outputs, [0, 1, 2, 3]);
    assert_eq!(rounds, [vec![0, 3], vec![0, 1, 3, 1, 2], vec![1]]);
}
