//! Awaits many futures, polling them in index order.
//!
//! `futures::join_all` switches to `FuturesUnordered` above 30 futures. The wakers of that type
//! look like nondeterminism to the detector of a workflow. The functions here have no wakers of
//! their own: each poll polls the pending futures, first to last.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

/// Awaits all futures. The results are in the order of the futures, whatever the order of
/// completion.
pub async fn join_in_order<F>(futures: Vec<F>) -> Vec<F::Output>
where
    F: Future + Unpin,
{
    join_within(futures, &Limits::default(), || false).await
}

/// Limits on the futures that may be pending at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of pending futures over all lanes; at least 1.
    pub all: usize,
    /// The lanes that each future is in, by index of the future. A future beyond the end is in no
    /// lane.
    pub lanes: Vec<Vec<usize>>,
    /// Maximum number of pending futures of each lane; at least 1. A lane is served first to last:
    /// a future that waits keeps its place.
    pub per_lane: Vec<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { all: usize::MAX, lanes: Vec::new(), per_lane: Vec::new() }
    }
}

impl Limits {
    /// Returns `true` if this future may have to wait for others.
    pub fn may_hold(&self, index: usize) -> bool {
        self.all != usize::MAX || !self.of(index).is_empty()
    }

    fn of(&self, index: usize) -> &[usize] {
        self.lanes.get(index).map_or(&[], |lanes| lanes)
    }
}

/// Occupied places of each lane, counted over the futures before an index, waiting ones included.
struct Line<'l> {
    limits: &'l Limits,
    taken: Vec<usize>,
}

impl<'l> Line<'l> {
    fn new(limits: &'l Limits) -> Self {
        Self { limits, taken: vec![0; limits.per_lane.len()] }
    }

    fn has_room(&self, index: usize) -> bool {
        self.limits.of(index).iter().all(|lane| self.taken[*lane] < self.limits.per_lane[*lane].max(1))
    }

    fn join(&mut self, index: usize) {
        for lane in self.limits.of(index) {
            self.taken[*lane] += 1;
        }
    }
}

/// Awaits all futures, with as many pending at a time as the limits allow: the next one starts, in
/// order, when a place is free.
///
/// `look` is called after each pass over the futures. If it returns `true` (because it has
/// cancelled something), another pass follows at once.
pub async fn join_within<F>(futures: Vec<F>, limits: &Limits, mut look: impl FnMut() -> bool) -> Vec<F::Output>
where
    F: Future + Unpin,
{
    let all = limits.all.max(1);
    let mut has_begun = vec![false; futures.len()];
    let mut slots: Vec<Result<F::Output, F>> = futures.into_iter().map(Err).collect();
    let mut running = 0;
    poll_fn(move |cx| {
        loop {
            let mut line = Line::new(limits);
            for (index, slot) in slots.iter_mut().enumerate() {
                let Err(future) = slot else { continue };
                if !has_begun[index] && running < all && line.has_room(index) {
                    has_begun[index] = true;
                    running += 1;
                }
                if has_begun[index]
                    && let Poll::Ready(output) = Pin::new(future).poll(cx)
                {
                    *slot = Ok(output);
                    running -= 1;
                } else {
                    line.join(index);
                }
            }
            if slots.iter().all(Result::is_ok) {
                break;
            }
            // A future that has completed may have freed a place for one with a lower index.
            let mut line = Line::new(limits);
            let may_begin = running < all
                && slots.iter().enumerate().filter(|(_, slot)| slot.is_err()).any(|(index, _)| {
                    let may_begin = !has_begun[index] && line.has_room(index);
                    line.join(index);
                    may_begin
                });
            if !look() && !may_begin {
                return Poll::Pending;
            }
        }
        Poll::Ready(std::mem::take(&mut slots).into_iter().filter_map(Result::ok).collect())
    })
    .await
}

#[cfg(test)]
mod tests;
