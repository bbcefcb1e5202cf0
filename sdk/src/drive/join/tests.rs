use std::{
    cell::RefCell,
    rc::Rc,
    task::{Context, Waker},
};

use super::*;

/// Ready at its n-th poll, with its own index.
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

/// Polls the join until it is done; gives its output and which futures were polled in each round.
fn join(polls_needed: impl IntoIterator<Item = usize>) -> (Vec<usize>, Vec<Vec<usize>>) {
    let log = Rc::new(RefCell::new(Vec::new()));
    let ready_at = |(index, polls_left)| ReadyAt { index, polls_left, log: Rc::clone(&log) };
    let mut joined = Box::pin(join_in_order(polls_needed.into_iter().enumerate().map(ready_at).collect()));
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
