//! Tests of the errors after which a smaller page is requested.

use tonic::Status;

use super::is_too_large;

#[test]
fn a_limit_on_the_rate_of_requests_does_not_make_pages_smaller() {
    for status in [
        Status::out_of_range("Error, decoded message length too large: found 9 bytes, the limit is: 4 bytes"),
        Status::resource_exhausted("grpc: received message larger than max (9 vs. 4)"),
        Status::resource_exhausted("grpc: message after decompression larger than max (9 vs. 4)"),
    ] {
        assert!(is_too_large(&status), "{status}");
    }
    for status in [
        Status::resource_exhausted("namespace rate limit exceeded"),
        Status::resource_exhausted("namespace concurrent poller limit exceeded"),
        Status::unavailable("the server restarts"),
    ] {
        assert!(!is_too_large(&status), "{status}");
    }
}
