//! How large a payload may be: the server refuses one over 2 MiB, and the workflow task that sends it is retried for ever.
//!
//! What is measured is what author, model and history give, not the message around it: a release that writes its messages in
//! other words decides the same when it replays.

use crate::{
    engine::EffectError,
    wire::{Item, RunState},
};

/// Most bytes of JSON in one request; the message around it has room below the server's limit.
pub(super) const MOST_BYTES: usize = 2_000_000;

/// Something is larger than the server takes.
#[derive(Debug, thiserror::Error)]
#[error("{what} is {bytes} bytes of JSON, the limit is {MOST_BYTES}")]
struct TooLarge {
    what: &'static str,
    bytes: usize,
}

/// Checks that a value fits into a request; `what` names it for the error.
///
/// # Errors
/// [`TooLarge`], or what serde says.
pub(super) fn check(what: &'static str, value: &impl serde::Serialize) -> Result<usize, EffectError> {
    let bytes = encoded_len(value)?;
    if bytes > MOST_BYTES { Err(TooLarge { what, bytes }.into()) } else { Ok(bytes) }
}

/// How large what a state holds is: its items and its context. Not the state around them, which another release may write in other
/// words, and would then decide differently when it replays.
pub(super) fn content_of(state: &RunState) -> Result<usize, serde_json::Error> {
    let items: usize = state.items_in_order().into_iter().map(Item::json_len).sum();
    Ok(items + encoded_len(&state.context)?)
}

/// How long the JSON of a value is, without keeping it.
pub(super) fn encoded_len(value: &impl serde::Serialize) -> Result<usize, serde_json::Error> {
    struct Count(usize);

    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    serde_json::to_writer(&mut count, value)?;
    Ok(count.0)
}
