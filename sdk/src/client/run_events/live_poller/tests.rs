//! Tests of the pauses between two requests.

use std::time::Duration;

use super::pause;

/// The number of requests in the first second of a call without news, if each takes no time.
fn requests_in_a_second(awaits_first: bool) -> usize {
    let mut quiet = Duration::ZERO;
    let next = || {
        quiet += pause(quiet, awaits_first);
        quiet
    };
    std::iter::repeat_with(next).take_while(|quiet| *quiet <= Duration::from_secs(1)).count()
}

#[test]
fn a_first_token_is_read_sooner_than_the_next_ones() {
    let pauses = [0, 100, 200, 300, 1_000, 2_000, 60_000].map(|ms| {
        let quiet = Duration::from_millis(ms);
        (ms, pause(quiet, true).as_millis(), pause(quiet, false).as_millis())
    });
    let expected = [
        (0, 10, 50),
        (100, 10, 50),
        (200, 10, 50),
        (300, 15, 50),
        (1_000, 50, 50),
        (2_000, 100, 100),
        (60_000, 1_000, 1_000),
    ];
    assert_eq!(pauses, expected);
}

#[test]
fn a_first_token_costs_few_requests() {
    assert_eq!((requests_in_a_second(true), requests_in_a_second(false)), (52, 20));
}
