//! The size limit of the message that a model receives for a call without an output of its own:
//! after a failure, a rejection, or from a guardrail.
//!
//! An output has the limit of its tool, and a call with a larger output fails. A message about a
//! call is truncated instead: otherwise it would fail the run at its next model call, because it
//! makes the request too large.

use crate::{
    drive::{env::Env, host::Host},
    tool::{MAX_FAILURE_BYTES, truncated},
    wire::{ToolOutput, size::encoded_len},
};

/// The patch of runs that truncate the message for the model. Queried only if the message is too
/// long, because the size of items determines the activities that record them.
const MESSAGES_TRUNCATED: &str = "temporal-agents/told-in-short";

/// Returns the message, truncated if it exceeds the limit of a failure message.
pub(super) fn told<H: Host>(env: &Env<'_, H>, message: ToolOutput) -> ToolOutput {
    // A message that cannot be written as JSON fails later, where it is sent.
    let is_long = encoded_len(&message).unwrap_or_default() > MAX_FAILURE_BYTES;
    if is_long && env.host.patched(MESSAGES_TRUNCATED) { truncated(message, MAX_FAILURE_BYTES) } else { message }
}
