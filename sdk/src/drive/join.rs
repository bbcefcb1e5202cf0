//! Awaits many futures, polling them in index order.
//!
//! `futures::join_all` switches to `FuturesUnordered` above 30 futures, whose own wakers a workflow's detector takes for
//! nondeterminism. This one has no wakers of its own: whenever it is polled, it polls what is pending, first to last.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

/// Awaits all futures; the results stand in the order of the futures, whatever the order of completion.
pub async fn join_in_order<F>(futures: Vec<F>) -> Vec<F::Output>
where
    F: Future + Unpin,
{
    join_within(futures, &Limits::default(), || false).await
}

/// Which futures may be pending at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most of all; at least one.
    pub all: usize,
    /// The lanes that each future is in, by index; none for those beyond the end.
    pub lanes: Vec<Vec<usize>>,
    /// Most of each lane; at least one. A lane is served first to last: a future that waits keeps its place.
    pub of_lane: Vec<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { all: usize::MAX, lanes: Vec::new(), of_lane: Vec::new() }
    }
}

impl Limits {
    /// Whether this future may have to wait for others.
    pub fn may_hold(&self, index: usize) -> bool {
        self.all != usize::MAX || !self.of(index).is_empty()
    }

    fn of(&self, index: usize) -> &[usize] {
        self.lanes.get(index).map_or(&[], |lanes| lanes)
    }
}

/// How far the lanes are taken by the futures up to some place, those that wait included.
struct Line<'l> {
    limits: &'l Limits,
    taken: Vec<usize>,
}

impl<'l> Line<'l> {
    fn new(limits: &'l Limits) -> Self {
        Self { limits, taken: vec![0; limits.of_lane.len()] }
    }

    fn has_room(&self, index: usize) -> bool {
        self.limits.of(index).iter().all(|lane| self.taken[*lane] < self.limits.of_lane[*lane].max(1))
    }

    fn join(&mut self, index: usize) {
        for lane in self.limits.of(index) {
            self.taken[*lane] += 1;
        }
    }
}

/// Awaits all futures, as many at a time as the limits let: the next one begins, in order, when there is room.
///
/// After each pass over the futures `look` is called; when it says so (because it has cancelled something), there is another
/// pass at once.
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
            // What has ended may have made room for one that stands before it.
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
