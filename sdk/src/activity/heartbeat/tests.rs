//! Tests of panics during a heartbeat. A test with a server checks that heartbeats are sent in
//! time.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
};

use super::InProgressGuard;

#[test]
fn a_beat_that_panics_lets_the_next_one_follow() {
    let is_beating = AtomicBool::new(true);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _done = InProgressGuard(&is_beating);
        panic!("a codec");
    }));
    assert!(panicked.is_err());
    assert!(!is_beating.load(Ordering::Acquire));
}
