use std::sync::Arc;

use reqwest::{StatusCode, header::HeaderMap};
use rstest::rstest;

use super::*;
use crate::provider::http::redact::Redactor;

fn next_after(status: u16, body: &str, has_options: bool) -> Option<RequestForm> {
    let answer = Answer {
        status: StatusCode::from_u16(status).expect("a valid status"),
        headers: HeaderMap::new(),
        body: body.as_bytes().to_vec(),
        redactor: Arc::new(Redactor::new(Vec::new())),
        place: None,
    };
    next(&answer, has_options)
}

#[rstest]
#[case::options_of_fastapi(
    422,
    r#"{"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]}"#,
    Some(RequestForm::WithoutOptions)
)]
#[case::options_in_words(
    400,
    r#"{"error": {"message": "Unrecognized request argument supplied: stream_options"}}"#,
    Some(RequestForm::WithoutOptions)
)]
#[case::stream_as_parameter(
    400,
    r#"{"error": {"message": "Unsupported value.", "param": "stream", "code": "unsupported_value"}}"#,
    Some(RequestForm::Whole)
)]
#[case::stream_in_words(400, "'stream' does not support true with this model", Some(RequestForm::Whole))]
#[case::another_word(400, r#"{"error": {"message": "the upstream failed, see stream-guide"}}"#, None)]
#[case::another_status(500, r#"{"error": {"message": "stream"}}"#, None)]
fn a_refusal_names_what_it_refuses(#[case] status: u16, #[case] body: &str, #[case] expected: Option<RequestForm>) {
    assert_eq!(next_after(status, body, true), expected);
}

#[test]
fn options_are_left_out_of_a_request_that_has_them() {
    let body = "stream_options and stream are not allowed";
    assert_eq!(
        [true, false].map(|has| next_after(400, body, has)),
        [Some(RequestForm::WithoutOptions), Some(RequestForm::Whole)]
    );
}

#[test]
fn a_refusal_is_that_of_one_model() {
    let refusals = Refusals::default();
    refusals.remember("a", RequestForm::WithoutOptions);
    refusals.remember("b", RequestForm::Whole);
    refusals.remember("b", RequestForm::Stream);
    assert_eq!(
        ["a", "b", "c"].map(|model| refusals.known(model)),
        [Some(RequestForm::WithoutOptions), Some(RequestForm::Whole), None]
    );
}

#[test]
fn the_memory_has_a_limit() {
    let refusals = Refusals::default();
    for number in 0..2 * MOST_ENTRIES {
        refusals.remember(&format!("model-{number}"), RequestForm::Whole);
    }
    assert_eq!(refusals.entries().known.len(), MOST_ENTRIES);
    assert_eq!(refusals.entries().warned.len(), MOST_ENTRIES);
}
