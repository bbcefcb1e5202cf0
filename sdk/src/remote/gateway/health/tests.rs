//! Pongs, their ages, and pings, at given times.

use std::time::Duration;

use super::{HealthTracker, Unhealthy};

const THRESHOLD: Duration = Duration::from_secs(40);

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn tracker() -> HealthTracker {
    let mut health = HealthTracker::default();
    health.registered("files", at(100));
    health
}

#[test]
fn a_toolset_that_never_sent_a_pong_is_unhealthy() {
    let health = tracker();
    let never = Err(Unhealthy { threshold: THRESHOLD, last_pong: None });
    assert_eq!(health.check("files", at(100)), never);
    assert_eq!(health.check("unknown", at(100)), never);
}

#[test]
fn a_pong_counts_for_40_seconds_to_the_end_inclusive() {
    let mut health = tracker();
    health.ponged("files", at(101));
    assert_eq!(health.check("files", at(101)), Ok(()));
    assert_eq!(health.check("files", at(141)), Ok(()));
    let nanosecond = Duration::from_nanos(1);
    let late = Unhealthy { threshold: THRESHOLD, last_pong: Some((at(101), THRESHOLD + nanosecond)) };
    assert_eq!(health.check("files", at(141) + nanosecond), Err(late));
}

#[test]
fn a_pong_restores_a_toolset() {
    let mut health = tracker();
    health.ponged("files", at(101));
    health.check("files", at(200)).expect_err("the pong is old");
    health.ponged("files", at(200));
    assert_eq!(health.check("files", at(200)), Ok(()));
}

#[test]
fn the_threshold_is_four_intervals() {
    let health = HealthTracker { ping_interval: at(3), ..HealthTracker::default() };
    assert_eq!(health.threshold(), at(12));
    let health = HealthTracker { ping_interval: Duration::MAX, ..HealthTracker::default() };
    assert_eq!(health.threshold(), Duration::MAX);
}

#[test]
fn a_toolset_gets_pings_for_40_seconds_after_its_last_sign_of_life() {
    let mut health = tracker();
    assert_eq!(health.to_ping(at(140)), ["files"]);
    assert_eq!(health.to_ping(at(141)), [""; 0]);
    health.ponged("files", at(135));
    assert_eq!(health.to_ping(at(175)), ["files"]);
    assert_eq!(health.to_ping(at(176)), [""; 0]);
    health.registered("files", at(180));
    assert_eq!(health.to_ping(at(220)), ["files"]);
    health.check("files", at(180)).expect_err("a registration is not a pong");
}

#[test]
fn a_pong_of_an_unknown_toolset_is_ignored() {
    let mut health = tracker();
    health.ponged("unknown", at(100));
    health.check("unknown", at(100)).expect_err("it is unknown");
    assert_eq!(health.to_ping(at(100)), ["files"]);
}

#[test]
fn a_registration_keeps_the_last_pong_and_a_forgotten_toolset_loses_it() {
    let mut health = tracker();
    health.ponged("files", at(101));
    health.registered("files", at(110));
    assert_eq!(health.check("files", at(110)), Ok(()));
    assert_eq!(health.silent_for(at(60), at(170)), [""; 0]);
    assert_eq!(health.silent_for(at(60), at(171)), ["files"]);
    health.forget("files");
    health.registered("files", at(110));
    health.check("files", at(110)).expect_err("it is new");
}
