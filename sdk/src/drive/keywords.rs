//! The verdict on what a model has written: by all keywords of a schema, or by those of earlier builds.
//!
//! A run whose history holds a value that earlier builds took, because they checked fewer keywords, takes it again on replay.

use super::host::Host;

/// The patch of runs that check all keywords. Asked for only where the others alone would take a value.
const ALL_KEYWORDS: &str = "temporal-agents/all-keywords-checked";

/// Returns the verdict of all keywords, or that of the earlier ones where history holds a value that they alone accept.
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
