//! How much a model is told of a call that has no output of its own: of a failure, a rejection, by a guardrail.
//!
//! An output has the limit of its tool, and above it the call fails. A message about a call is cut instead: it would fail the run at its next
//! model call, whose request it makes too large.

use crate::{
    drive::{env::Env, host::Host},
    tool::{MOST_OF_A_FAILURE, truncated},
    wire::{ToolOutput, size::encoded_len},
};

/// The patch of runs that cut what a model is told. Asked for only where it is too long: how long items are decides which activities
/// record them.
const TOLD_IN_SHORT: &str = "temporal-agents/told-in-short";

/// The message, its end cut off where it is longer than what is told of a failure may be.
pub(super) fn told<H: Host>(env: &Env<'_, H>, message: ToolOutput) -> ToolOutput {
    // What cannot be written as JSON cannot be sent at all, and says so there.
    let is_long = encoded_len(&message).unwrap_or_default() > MOST_OF_A_FAILURE;
    if is_long && env.host.patched(TOLD_IN_SHORT) { truncated(message, MOST_OF_A_FAILURE) } else { message }
}
