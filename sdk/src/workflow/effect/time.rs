//! Times in a form that the server takes: a refused command fails the workflow task, and that is tried again for ever.

use std::time::Duration;

const SHORTEST: Duration = Duration::from_millis(1);
/// Ten years. A time that is too long for the server's own type is lost on the way to it, as if there was no limit.
pub(in crate::workflow) const LONGEST: Duration = Duration::from_hours(10 * 365 * 24);

/// The nearest time that the server takes.
pub(in crate::workflow) fn accepted(time: Duration) -> Duration {
    time.clamp(SHORTEST, LONGEST)
}
