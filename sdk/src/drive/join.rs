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
    let mut slots: Vec<Result<F::Output, F>> = futures.into_iter().map(Err).collect();
    poll_fn(move |cx| {
        let mut pending = false;
        for slot in &mut slots {
            if let Err(future) = slot {
                match Pin::new(future).poll(cx) {
                    Poll::Ready(output) => *slot = Ok(output),
                    Poll::Pending => pending = true,
                }
            }
        }
        if pending {
            return Poll::Pending;
        }
        Poll::Ready(std::mem::take(&mut slots).into_iter().filter_map(Result::ok).collect())
    })
    .await
}

#[cfg(test)]
mod tests;
