//! Polls what is not `Send` on a thread of its own, so that those who wait for it may be anywhere.

use std::future::Future;

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

/// What the future of `start` gives; nothing where the runtime shuts down. The token is cancelled when nobody waits any more.
///
/// # Panics
/// As the future does, and outside of a tokio runtime.
pub(super) async fn on_own_thread<T, F>(start: impl FnOnce(CancellationToken) -> F + Send + 'static) -> Option<T>
where
    T: Send + 'static,
    F: Future<Output = T>,
{
    let cancelled = CancellationToken::new();
    let _cancels_when_dropped = cancelled.clone().drop_guard();
    let runtime = tokio::runtime::Handle::current();
    match spawn_blocking(move || runtime.block_on(start(cancelled))).await {
        Ok(given) => Some(given),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => None,
        },
    }
}
