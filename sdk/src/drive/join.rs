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
    join_capped(futures, usize::MAX, || false).await
}

/// Awaits all futures, at most `cap` of them (and at least one) at a time: the next one begins, in order, when one is complete.
///
/// After each pass over the futures `look` is called; when it says so (because it has cancelled something), there is another
/// pass at once.
pub async fn join_capped<F>(futures: Vec<F>, cap: usize, mut look: impl FnMut() -> bool) -> Vec<F::Output>
where
    F: Future + Unpin,
{
    let cap = cap.max(1);
    let mut slots: Vec<Result<F::Output, F>> = futures.into_iter().map(Err).collect();
    poll_fn(move |cx| {
        loop {
            let mut pending = 0;
            for slot in &mut slots {
                let Err(future) = slot else { continue };
                if pending == cap {
                    break;
                }
                match Pin::new(future).poll(cx) {
                    Poll::Ready(output) => *slot = Ok(output),
                    Poll::Pending => pending += 1,
                }
            }
            if pending == 0 {
                break;
            }
            if !look() {
                return Poll::Pending;
            }
        }
        Poll::Ready(std::mem::take(&mut slots).into_iter().filter_map(Result::ok).collect())
    })
    .await
}

#[cfg(test)]
mod tests;
