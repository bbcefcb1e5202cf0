use std::time::Duration;

use super::{FACTOR, FIRST_PAUSE, LONGEST_PAUSE, Retries, attempt_limit};
use crate::wire::{ModelRetryBackoff, ModelRetrySettings, ModelSettings};

const DEFAULTS: Retries = Retries { initial: FIRST_PAUSE, factor: FACTOR, longest: LONGEST_PAUSE, attempts: 0 };

fn pauses(retries: &Retries, attempts: u32) -> Vec<u64> {
    (1..=attempts).map(|attempt| retries.pause(attempt).as_secs()).collect()
}

#[test]
fn pauses_grow_up_to_the_longest() {
    assert_eq!(pauses(&DEFAULTS, 8), [1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!(DEFAULTS.pause(u32::MAX), LONGEST_PAUSE);
    assert!(!DEFAULTS.is_last(u32::MAX), "0 attempts are no limit");
}

#[test]
fn settings_replace_what_they_have() {
    let backoff = ModelRetryBackoff::builder().initial_delay(3.0).max_delay(10.0).build();
    let retry = ModelRetrySettings::builder().max_retries(2).backoff(backoff).build();
    let settings = ModelSettings::builder().retry(retry).timeout(0.2).build();
    let retries = DEFAULTS.replaced_by(&settings);
    assert_eq!(pauses(&retries, 4), [3, 6, 10, 10]);
    assert_eq!((retries.is_last(2), retries.is_last(3)), (false, true));
    assert_eq!(attempt_limit(&settings), Some(Duration::from_millis(200)));
}

#[test]
fn settings_that_no_host_could_follow_are_put_right() {
    let backoff = ModelRetryBackoff::builder().initial_delay(90.0).max_delay(0.5).multiplier(0.2).build();
    let retry = ModelRetrySettings::builder().max_retries(u32::MAX).backoff(backoff).build();
    let retries = DEFAULTS.replaced_by(&ModelSettings::builder().retry(retry).build());
    assert_eq!(pauses(&retries, 2), [90, 90]);
    for timeout in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(attempt_limit(&ModelSettings::builder().timeout(timeout).build()), None);
    }
}
