//! Which keywords of a schema decide on what a model has written.
//!
//! A run whose history holds a value that earlier builds took, because they checked fewer keywords, takes it again on replay.

use super::host::Host;

/// The patch of runs that check all keywords. Asked for only where the others alone would take a value.
const ALL_KEYWORDS: &str = "temporal-agents/all-keywords-checked";

/// Returns what all keywords come to, or what the earlier ones do where this run goes by them.
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
