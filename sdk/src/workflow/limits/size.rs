//! Checks of the size of content before it is scheduled.
//!
//! Only content from author, model and history is measured, not the message around it, so that a
//! release that encodes its messages differently makes the same decision on replay.

pub(in crate::workflow) use temporal_agents_core::wire::size::{MOST_BYTES, encoded_len};
use temporal_agents_core::{
    tool::BoxError,
    wire::{Item, RunState, size::encoded_len_in_json_string},
};

/// Bytes of history that a state holds around an item: its kind and its agent.
const ITEM_OVERHEAD_BYTES: usize = 100;

/// A value is larger than the server accepts.
#[derive(Debug, thiserror::Error)]
#[error("{what} is {bytes} bytes of JSON, the limit is {MOST_BYTES}")]
struct TooLarge {
    what: &'static str,
    bytes: usize,
}

/// Checks that a value fits into a request, and returns its size in bytes; `what` names it in the
/// error.
///
/// # Errors
/// [`TooLarge`], or the error of serde.
pub(in crate::workflow) fn check(what: &'static str, value: &impl serde::Serialize) -> Result<usize, BoxError> {
    let bytes = encoded_len(value)?;
    if bytes > MOST_BYTES { Err(TooLarge { what, bytes }.into()) } else { Ok(bytes) }
}

/// Returns the size in bytes of a state's content: its items and its context. The state around them
/// does not count: another release may encode it differently, and would then make another decision
/// on replay.
pub(in crate::workflow) fn content_of(state: &RunState) -> Result<usize, serde_json::Error> {
    let items: usize = state.items_in_order().into_iter().map(Item::json_len).sum();
    Ok(items + encoded_len(&state.context)?)
}

/// Returns the bytes of history that a state takes that is kept there, or loaded: its content as
/// JSON inside of a JSON string, where quotes count twice. Like [`content_of`] the result does not
/// depend on the encoding of the state around the content.
pub(in crate::workflow) fn kept_len(state: &RunState) -> Result<usize, serde_json::Error> {
    let mut bytes = encoded_len_in_json_string(&state.context)?;
    for item in state.items_in_order() {
        bytes += encoded_len_in_json_string(item)? + ITEM_OVERHEAD_BYTES;
    }
    Ok(bytes)
}
