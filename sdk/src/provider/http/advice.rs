//! The headers of a response that matter for retries and diagnosis: the request's id, and the
//! provider's advice about a retry and its time.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;

use crate::provider::ModelError;

/// The advice of the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Advice {
    /// From `x-request-id`, or Anthropic's `request-id`.
    pub(crate) request_id: Option<String>,
    /// From `retry-after-ms`, otherwise from `retry-after` in seconds or as a date.
    pub(crate) retry_after: Option<Duration>,
    /// From `x-should-retry`.
    pub(crate) should_retry: Option<bool>,
}

impl Advice {
    /// Reads the advice in these headers; `now` is the time that a date is relative to.
    pub(crate) fn in_headers(headers: &HeaderMap, now: SystemTime) -> Self {
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        Self {
            request_id: ["x-request-id", "request-id"]
                .into_iter()
                .filter_map(header)
                .find(|id| !id.is_empty())
                .map(str::to_owned),
            retry_after: header("retry-after-ms")
                .and_then(|milliseconds| duration(milliseconds, 1e-3))
                .or_else(|| header("retry-after").and_then(|text| duration(text, 1.0).or_else(|| until(text, now)))),
            should_retry: match header("x-should-retry") {
                Some("true") => Some(true),
                Some("false") => Some(false),
                _ => None,
            },
        }
    }

    /// Copies the advice into a failure; values of the failure remain where the headers have none.
    pub(crate) fn give(self, error: &mut ModelError) {
        let Self { request_id, retry_after, should_retry } = self;
        error.request_id = request_id.or(error.request_id.take());
        error.retry_after = retry_after.or(error.retry_after);
        error.retryable = should_retry.or(error.retryable);
    }
}

/// Parses a number of units of `unit` seconds, possibly fractional.
fn duration(text: &str, unit: f64) -> Option<Duration> {
    let count: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(count * unit).ok()
}

/// Returns the time until an HTTP date; zero if it has passed.
fn until(date: &str, now: SystemTime) -> Option<Duration> {
    let date = httpdate::parse_http_date(date).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests;
