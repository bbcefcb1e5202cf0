//! The amount of work measured.

/// The amount of work measured.
#[derive(Debug)]
pub(crate) struct Scale {
    pub(crate) name: &'static str,
    /// Runs before the measured ones.
    pub(super) warm: usize,
    /// Runs in sequence.
    pub(super) sequential: usize,
    /// Runs of which [`in_flight`](Self::in_flight) are executed concurrently.
    pub(super) crowd: usize,
    pub(super) in_flight: usize,
    /// Pairs of the turns of a long conversation and the number of its runs.
    pub(super) long: &'static [(u32, usize)],
    /// Replays of a short history, and of the history with 50 turns.
    pub(super) replays: usize,
    pub(super) long_replays: usize,
}

impl Scale {
    /// The scale of a result.
    pub(crate) const FULL: Self = Self {
        name: "full scale",
        warm: 10,
        sequential: 20,
        crowd: 200,
        in_flight: 50,
        long: &[(10, 5), (50, 3), (100, 3), (200, 1), (1000, 1)],
        replays: 40,
        long_replays: 10,
    };

    /// The scale that only shows that the measurement works.
    pub(crate) const QUICK: Self = Self {
        name: "quick",
        warm: 3,
        sequential: 5,
        crowd: 30,
        in_flight: 50,
        long: &[(10, 1), (50, 1)],
        replays: 5,
        long_replays: 2,
    };
}
