//! Tests of the headers that are read, and of their order.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rstest::rstest;

use super::Advice;

/// Returns 2026-01-01T00:00:00Z.
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_hours(490_896)
}

fn advice(headers: &[(&'static str, &'static str)]) -> Advice {
    let headers: HeaderMap =
        headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect();
    Advice::in_headers(&headers, now())
}

#[rstest]
#[case::seconds(&[("retry-after", "2")], Some(2_000))]
#[case::fraction(&[("retry-after", "0.25")], Some(250))]
#[case::milliseconds_win(&[("retry-after", "2"), ("retry-after-ms", "250.5")], Some(250))]
#[case::broken_milliseconds(&[("retry-after", "2"), ("retry-after-ms", "soon")], Some(2_000))]
#[case::date(&[("retry-after", "Thu, 01 Jan 2026 00:01:30 GMT")], Some(90_000))]
#[case::past_date(&[("retry-after", "Wed, 31 Dec 2025 23:59:59 GMT")], Some(0))]
#[case::negative(&[("retry-after", "-1")], None)]
#[case::not_a_number(&[("retry-after", "NaN")], None)]
#[case::nonsense(&[("retry-after", "later")], None)]
#[case::nothing(&[], None)]
fn the_pause_is_read(#[case] headers: &[(&'static str, &'static str)], #[case] milliseconds: Option<u128>) {
    assert_eq!(advice(headers).retry_after.map(|pause| pause.as_millis()), milliseconds);
}

#[rstest]
#[case("true", Some(true))]
#[case("false", Some(false))]
#[case("perhaps", None)]
fn the_wish_to_be_asked_again_is_read(#[case] value: &'static str, #[case] expected: Option<bool>) {
    assert_eq!(advice(&[("x-should-retry", value)]).should_retry, expected);
}

#[test]
fn the_request_id_is_kept() {
    assert_eq!(advice(&[("x-request-id", "req_1")]).request_id.as_deref(), Some("req_1"));
    assert_eq!(advice(&[("request-id", "req_2")]).request_id.as_deref(), Some("req_2"));
    assert_eq!(advice(&[]), Advice::default());
}
