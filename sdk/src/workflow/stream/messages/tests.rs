use serde_json::json;

use super::*;

/// Payloads as the clients of the official SDKs write them.
const OF_STATE: &str = "ChYKCGVuY29kaW5nEgpqc29uL3BsYWluEhB7InN0YXRlIjoicnVuMCJ9";
const OF_HELLO: &str = "0a160a08656e636f64696e67120a6a736f6e2f706c61696e12072268656c6c6f22";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

#[test]
fn payloads_have_the_bytes_of_the_official_clients() {
    let state = json_payload(&json!({"state": "run0"})).unwrap();
    assert_eq!(encode_payload(&state), OF_STATE);
    assert_eq!(decode_payload(OF_STATE), Some(state));
    assert_eq!(hex(&json_payload("hello").unwrap().encode_to_vec()), OF_HELLO);
}

#[test]
fn messages_have_the_json_of_the_official_clients() {
    let published = json!({
        "items": [{"data": OF_STATE, "topic": "events"}], "publisher_id": "ba0decda0cd1445a", "sequence": 1,
    });
    let input: PublishInput = serde_json::from_value(published.clone()).unwrap();
    let entry = PublishEntry { topic: "events".to_owned(), data: OF_STATE.to_owned() };
    assert_eq!(serde_json::from_value::<PublishEntry>(input.items[0].clone()).unwrap(), entry);
    let written = PublishInput { items: vec![serde_json::to_value(entry).unwrap()], ..input };
    assert_eq!(serde_json::to_value(written).unwrap(), published);

    assert_eq!(serde_json::to_value(PollInput::default()).unwrap(), json!({"from_offset": 0, "topics": []}));

    let item = StreamItem { topic: "status".to_owned(), data: OF_STATE.to_owned(), offset: 0 };
    let result = PollResult { items: vec![item], next_offset: 1, more_ready: false };
    let json = json!({
        "items": [{"data": OF_STATE, "offset": 0, "topic": "status"}], "more_ready": false, "next_offset": 1,
    });
    assert_eq!(serde_json::to_value(&result).unwrap(), json);
    assert_eq!(serde_json::from_value::<PollResult>(json).unwrap(), result);
}

#[test]
fn an_argument_is_read_whatever_it_contains() {
    let read = |data: &str| -> PollInput {
        read_argument(&[Payload { data: data.as_bytes().to_vec(), ..Payload::default() }])
    };
    let from_3 = PollInput { from_offset: 3, ..PollInput::default() };
    assert_eq!(read(r#"{"from_offset": 3, "topics": "all", "new": 1}"#), from_3);
    for odd in ["", "nonsense", "[]", "7", r#"{"from_offset": -1}"#, r#"{"topics": [5]}"#] {
        assert_eq!(read(odd), PollInput::default(), "{odd}");
    }
    assert_eq!(read_argument::<PollInput>(&[]), PollInput::default());
    assert_eq!(serde_json::from_value::<PollResult>(json!({})).unwrap(), PollResult::default());
}

#[test]
fn data_without_an_encoding_is_not_a_payload() {
    let bare = Payload { data: b"1".to_vec(), ..Payload::default() };
    for odd in ["", "*", "ChYK", "ChYKCGVuY29kaW5nEgpqc29uL3BsYWluEhB7InN0YXRlIjoicnVuMCJ", &encode_payload(&bare)] {
        assert_eq!(decode_payload(odd), None, "{odd}");
    }
}
