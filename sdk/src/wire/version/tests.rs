use serde::Deserialize;
use serde_json::json;

use super::*;

#[derive(Debug, PartialEq, Deserialize)]
struct Message {
    text: String,
}

fn read(major: u16, minor: u16) -> Result<Message, WireDecodeError> {
    decode("message", json!({"version": {"major": major, "minor": minor}, "text": "hi", "new": 1}))
}

#[test]
fn own_major_is_read_at_any_minor() {
    assert_eq!(read(1, 0).expect("readable"), Message { text: "hi".to_owned() });
    assert_eq!(read(1, 77).expect("readable"), Message { text: "hi".to_owned() });
}

#[test]
fn the_major_before_is_read() {
    assert!(read(0, 9).is_ok());
}

#[test]
fn a_newer_major_is_a_mismatch_that_asks_for_a_newer_worker() {
    let Err(WireDecodeError::Version(mismatch)) = read(2, 0) else { panic!("must not be read") };
    assert!(mismatch.is_newer());
    assert_eq!(
        mismatch.to_string(),
        "message has wire version 2.0, this build reads 0.x and 1.0; deploy a newer worker"
    );
}

#[test]
fn a_message_without_a_version_is_malformed() {
    let error = decode::<Message>("message", json!({"text": "hi"})).expect_err("has no version");
    assert!(matches!(error, WireDecodeError::Malformed { .. }), "{error}");
}
