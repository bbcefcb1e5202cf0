//! Workers of two releases on one task queue: what one of them does not have yet, a run waits for.

pub(crate) mod histories;
