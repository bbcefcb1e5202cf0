use serde_json::{Value, json};
use temporal_agents_core::wire::{
    KeptCheckpoint, SessionCheckpoint, decode,
    digest::Digest,
    session_checkpoint::{KeptAs, SESSION_FORMAT},
};
use temporalio_common::{data_converters::RawValue, protos::temporal::api::common::v1::Payload};

use super::{with_deltas, without_deltas};

fn details(json: &Value) -> RawValue {
    RawValue::new(vec![Payload { data: json.to_string().into_bytes(), ..Payload::default() }])
}

fn value(details: &RawValue) -> Value {
    serde_json::from_slice(&details.payloads[0].data).expect("JSON")
}

#[test]
fn a_checkpoint_with_deltas_is_read_as_the_checkpoint_alone() {
    let checkpoint = SessionCheckpoint::new();
    let alone = details(&serde_json::to_value(&checkpoint).expect("JSON"));
    let carried = with_deltas(&alone, r#"[{"attempt":1}]"#).expect("a checkpoint");
    assert_eq!(value(&carried)["deltas"], json!([{"attempt": 1}]));
    // A build without deltas reads the same type.
    let read: SessionCheckpoint = decode("session checkpoint", value(&carried)).expect("a checkpoint");
    assert_eq!(read, checkpoint);
    assert_eq!(value(&without_deltas(&carried).expect("a checkpoint")), value(&alone));
}

#[test]
fn the_reference_to_a_stored_checkpoint_is_read_beside_deltas() {
    let kept = KeptAs { key: "k-1-1".to_owned(), bytes: 1, digest: Digest::of_text("x") };
    let alone = details(&serde_json::to_value(KeptCheckpoint::new(kept.clone())).expect("JSON"));
    let carried = with_deltas(&alone, "[]").expect("a reference");
    let read: KeptCheckpoint = decode("kept checkpoint", value(&carried)).expect("a reference");
    assert_eq!(read.kept, kept);
}

#[test]
fn a_heartbeat_of_another_form_carries_no_deltas() {
    assert!(without_deltas(&details(&json!({"version": 1, "messages": []}))).is_none());
    assert!(with_deltas(&details(&json!("text")), "[]").is_none());
}

#[test]
fn a_checkpoint_that_fills_the_heartbeat_carries_no_deltas() {
    assert!(with_deltas(&details(&json!({"format": SESSION_FORMAT, "text": "x".repeat(1_999_980)})), "[]").is_none());
}
