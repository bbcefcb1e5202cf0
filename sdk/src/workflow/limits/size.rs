//! Checks what is given to the server before it is scheduled.
//!
//! What is measured is what author, model and history give, not the message around it: a release that writes its messages in
//! other words decides the same when it replays.

pub(in crate::workflow) use crate::wire::size::{MOST_BYTES, encoded_len};
use crate::{
    engine::EffectError,
    wire::{Item, RunState, size::encoded_len_in_text},
};

/// What a state holds around an item, in bytes of history: its kind and its agent.
const AROUND_AN_ITEM: usize = 100;

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
pub(in crate::workflow) fn check(what: &'static str, value: &impl serde::Serialize) -> Result<usize, EffectError> {
    let bytes = encoded_len(value)?;
    if bytes > MOST_BYTES { Err(TooLarge { what, bytes }.into()) } else { Ok(bytes) }
}

/// How large what a state holds is: its items and its context. Not the state around them, which another release may write in other
/// words, and would then decide differently when it replays.
pub(in crate::workflow) fn content_of(state: &RunState) -> Result<usize, serde_json::Error> {
    let items: usize = state.items_in_order().into_iter().map(Item::json_len).sum();
    Ok(items + encoded_len(&state.context)?)
}

/// How much history a state takes that is kept there, or loaded: its content as JSON text in JSON, where quotes count twice. Like
/// [`content_of`] it does not depend on the words of the state around it.
pub(in crate::workflow) fn kept_len(state: &RunState) -> Result<usize, serde_json::Error> {
    let mut bytes = encoded_len_in_text(&state.context)?;
    for item in state.items_in_order() {
        bytes += encoded_len_in_text(item)? + AROUND_AN_ITEM;
    }
    Ok(bytes)
}
