//! Durations in a form that the server accepts: a refused command fails the workflow task, which is
//! retried forever.

use std::time::Duration;

const SHORTEST: Duration = Duration::from_millis(1);
/// Ten years. A duration that is too long for the server's own type is lost in the conversion, as
/// if there was no limit.
pub(in crate::workflow) const LONGEST: Duration = Duration::from_hours(10 * 365 * 24);

/// Returns the nearest duration that the server accepts.
pub(in crate::workflow) fn accepted(time: Duration) -> Duration {
    time.clamp(SHORTEST, LONGEST)
}
