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
fn a_version_is_written_as_text_and_read_as_text_or_as_an_object() {
    let read = |json| serde_json::from_value::<WireVersion>(json).map_err(|error| error.to_string());
    let version = WireVersion { major: 1, minor: 12 };
    assert_eq!(json!(version), json!("1.12"));
    assert_eq!(read(json!("1.12")), Ok(version));
    assert_eq!(read(json!({"major": 1, "minor": 12})), Ok(version));
    assert_eq!(read(json!("new")), Err("\"new\" is not a wire version such as \"1.1\"".to_owned()));
    let shape = "a wire version is a string like \"1.1\", or an object with major and minor";
    assert_eq!(read(json!(1.1)), Err(shape.to_owned()));
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
        "message has wire version 2.0, this build reads 0.x and 1.2; deploy a newer worker"
    );
}

#[test]
fn a_message_without_a_version_is_malformed() {
    let error = decode::<Message>("message", json!({"text": "hi"})).expect_err("has no version");
    assert!(matches!(error, WireDecodeError::Malformed { .. }), "{error}");
}

#[test]
fn a_message_is_read_from_its_text_with_the_same_outcome() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Stamped {
        version: WireVersion,
        text: String,
    }
    impl Versioned for Stamped {
        fn version(&self) -> WireVersion {
            self.version
        }
    }
    let outcome = |read: Result<Stamped, WireDecodeError>| read.map_err(|error| error.to_string());
    let versions = [json!("1.1"), json!({"major": 1, "minor": 0}), json!("2.0"), json!("new"), json!(null)];
    for json in versions.into_iter().flat_map(|version| {
        [
            json!({"version": version, "text": "hi", "new": 1}),
            json!({"text": "hi", "version": version}),
            json!({"version": version, "text": 1}),
            json!({"version": version}),
            json!([version]),
        ]
    }) {
        let text = json.to_string();
        assert_eq!(outcome(decode_text("message", text.as_bytes())), outcome(decode("message", json)), "{text}");
    }
    let error = decode_text::<Stamped>("message", b"{").expect_err("is no JSON");
    assert!(matches!(error, WireDecodeError::Malformed { .. }), "{error}");
}
