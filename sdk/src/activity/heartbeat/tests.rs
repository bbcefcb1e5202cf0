//! What beats must survive; that they come in time is tested with a server.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
};

use super::WhenDone;

#[test]
fn a_beat_that_panics_lets_the_next_one_follow() {
    let is_beating = AtomicBool::new(true);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _done = WhenDone(&is_beating);
        panic!("a codec");
    }));
    assert!(panicked.is_err());
    assert!(!is_beating.load(Ordering::Acquire));
}
