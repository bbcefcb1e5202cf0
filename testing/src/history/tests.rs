//! Tests of reading and writing histories, without a server.

mod recorded;

use prost_reflect::{DynamicMessage, Kind, Value};
use serde_json::json;
use temporalio_common::protos::temporal::api::{
    common::v1::Payload,
    enums::v1::EventType,
    history::v1::{History, HistoryEvent, history_event::Attributes},
};

use super::{HistoryJsonError, descriptors, from_json, load, save, to_json};

fn signalled(input: &serde_json::Value) -> Result<History, HistoryJsonError> {
    from_json(
        json!({ "events": [{ "eventId": "1", "workflowExecutionSignaledEventAttributes": { "input": input } }] })
            .to_string(),
    )
}

fn payloads(history: History) -> Vec<Payload> {
    let Some(Attributes::WorkflowExecutionSignaledEventAttributes(signal)) =
        history.events.into_iter().next().unwrap().attributes
    else {
        panic!("not a signal");
    };
    signal.input.unwrap().payloads
}

fn payload(metadata: &[(&str, &str)], data: &str) -> Payload {
    Payload {
        metadata: metadata.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect(),
        data: data.as_bytes().to_vec(),
        ..Payload::default()
    }
}

/// Returns one event of every type that the API has, with empty attributes.
fn every_event() -> History {
    let history = descriptors::history();
    let Kind::Message(event) = history.get_field_by_name("events").unwrap().kind() else {
        panic!("events are messages");
    };
    let attributes = event.oneofs().find(|oneof| oneof.name() == "attributes").unwrap();
    let events = attributes.fields().map(|field| {
        let Kind::Message(attributes) = field.kind() else { panic!("attributes are messages") };
        let mut one = DynamicMessage::new(event.clone());
        one.set_field(&field, Value::Message(DynamicMessage::new(attributes)));
        one.transcode_to::<HistoryEvent>().unwrap()
    });
    History { events: events.collect() }
}

#[test]
fn every_event_type_survives_both_forms() {
    let history = every_event();
    assert!(history.events.len() > 50);
    assert!(history.events.iter().all(|event| event.attributes.is_some()));
    assert_eq!(from_json(to_json(&history)).unwrap(), history);
    assert_eq!(from_json(serde_json::to_vec(&history).unwrap()).unwrap(), history);
}

#[test]
fn every_enum_value_is_read_by_full_name_short_name_and_number() {
    let read = |event_type: serde_json::Value| {
        let history = from_json(json!({ "events": [{ "eventType": event_type }] }).to_string()).unwrap();
        history.events[0].event_type
    };
    let pool = descriptors::history().parent_pool().clone();
    let event_types = pool.get_enum_by_name("temporal.api.enums.v1.EventType").unwrap();
    for value in event_types.values() {
        let words = value.name().strip_prefix("EVENT_TYPE_").unwrap().split('_');
        let short: String = words.flat_map(|word| [word[..1].to_owned(), word[1..].to_lowercase()]).collect();
        for written in [json!(value.name()), json!(short), json!(value.number())] {
            assert_eq!(read(written.clone()), value.number(), "{written}");
        }
    }
    assert_eq!(read(json!("WorkflowExecutionStarted")), i32::from(EventType::WorkflowExecutionStarted));
}

#[test]
fn payload_shorthand_is_the_payload_it_stands_for() {
    let read =
        payloads(signalled(&json!(["hi", {"b": 1, "a": null}, null, {"_protoMessageType": "pkg.M", "x": 1}])).unwrap());
    let expected = [
        payload(&[("encoding", "json/plain")], r#""hi""#),
        payload(&[("encoding", "json/plain")], r#"{"b":1,"a":null}"#),
        payload(&[("encoding", "binary/null")], ""),
        payload(&[("encoding", "json/protobuf"), ("messageType", "pkg.M")], r#"{"x":1}"#),
    ];
    assert_eq!(read, expected);
}

#[test]
fn payloads_in_full_are_not_taken_for_shorthand() {
    let encoding = "anNvbi9wbGFpbg==";
    let full = json!({ "payloads": [{ "metadata": { "encoding": encoding }, "data": "ImhpIg==" }] });
    assert_eq!(payloads(signalled(&full).unwrap()), [payload(&[("encoding", "json/plain")], r#""hi""#)]);

    let looks_alike = json!([{ "data": "plain text" }]);
    let expected = payload(&[("encoding", "json/plain")], r#"{"data":"plain text"}"#);
    assert_eq!(payloads(signalled(&looks_alike).unwrap()), [expected]);
}

#[test]
fn durations_and_timestamps_keep_every_nanosecond() {
    let event = json!({
        "eventTime": "2026-01-02T03:04:05.123456789Z",
        "timerStartedEventAttributes": { "timerId": "1", "startToFireTimeout": "90.000000001s" },
    });
    let history = from_json(json!({ "events": [event] }).to_string()).unwrap();
    let time = history.events[0].event_time.unwrap();
    assert_eq!((time.seconds, time.nanos), (1_767_323_045, 123_456_789));
    let Some(Attributes::TimerStartedEventAttributes(timer)) = &history.events[0].attributes else {
        panic!("not a timer");
    };
    let timeout = timer.start_to_fire_timeout.unwrap();
    assert_eq!((timeout.seconds, timeout.nanos), (90, 1));
    assert_eq!(serde_json::from_str::<serde_json::Value>(&to_json(&history)).unwrap()["events"][0], event);
}

#[test]
fn map_entries_are_written_in_the_order_of_their_keys() {
    let metadata: serde_json::Map<_, _> =
        ["d", "a", "c", "b", "e"].map(|key| (key.to_owned(), json!("AA=="))).into_iter().collect();
    let history = signalled(&json!({ "payloads": [{ "metadata": metadata, "data": "AA==" }] })).unwrap();
    let text = to_json(&history);
    let keys: Vec<_> = text
        .lines()
        .filter_map(|line| line.trim().strip_suffix(": \"AA==\",").or(line.trim().strip_suffix(": \"AA==\"")))
        .collect();
    assert_eq!(keys, [r#""a""#, r#""b""#, r#""c""#, r#""d""#, r#""e""#, r#""data""#]);
}

#[test]
fn errors_say_where_the_mistake_is() {
    let report = |event: serde_json::Value| match from_json(json!({ "events": [{}, event] }).to_string()) {
        Err(HistoryJsonError::Shape { path, source }) => (path, source.to_string()),
        other => panic!("{other:?}"),
    };
    let attributes = "activityTaskScheduledEventAttributes";
    let reports = [
        report(json!({ attributes: { "retryPolicy": { "colour": 1 } } })),
        report(json!({ attributes: { "retryPolicy": { "initialInterval": "soon" } } })),
        report(json!({ "eventType": "EVENT_TYPE_TEA_TIME" })),
        report(json!({ "tea": {} })),
    ];
    let paths = reports.each_ref().map(|(path, _)| path.as_str());
    assert_eq!(
        paths,
        [
            "events[1].activityTaskScheduledEventAttributes.retryPolicy",
            "events[1].activityTaskScheduledEventAttributes.retryPolicy.initialInterval",
            "events[1].eventType",
            "events[1]",
        ]
    );
    assert_eq!(reports[0].1, "unrecognized field name 'colour'");
    assert!(matches!(from_json("{"), Err(HistoryJsonError::Syntax(_))));
    assert!(matches!(from_json("[]"), Err(HistoryJsonError::Shape { .. })));
}

#[test]
fn a_saved_history_is_loaded_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("every.json");
    save(&path, &every_event()).unwrap();
    assert_eq!(load(&path).unwrap(), every_event());
    let missing = load(directory.path().join("none.json")).unwrap_err();
    assert!(missing.to_string().ends_with("none.json"), "{missing}");
}
