//! Workers of two releases on one task queue: what one of them does not have yet, a run waits for.

mod cancelled;
pub(crate) mod given_up;
pub(crate) mod histories;
mod lacking;
pub(crate) mod release;
mod too_new;
mod two_workers;
pub(crate) mod warned;
