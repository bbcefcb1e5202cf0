//! Checks a value written by a model: against all keywords of a schema, or against the keywords
//! that earlier builds checked.
//!
//! Earlier builds checked fewer keywords. A run whose history holds a value that such a build
//! accepted accepts it again on replay.

use super::host::Host;

/// The patch of runs that check all keywords. Queried only if the earlier keywords alone accept the
/// value.
const ALL_KEYWORDS: &str = "temporal-agents/all-keywords-checked";

/// Returns the result of the check against all keywords. If that fails, returns the value that the
/// earlier keywords accept, for a run whose history was recorded by an earlier build.
pub(super) fn judged<H: Host, T, E>(
    host: &H,
    by_all: Result<T, E>,
    by_earlier: impl FnOnce() -> Option<T>,
) -> Result<T, E> {
    by_all.or_else(|error| match by_earlier() {
        Some(value) if !host.patched(ALL_KEYWORDS) => Ok(value),
        _ => Err(error),
    })
}
