use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::workflow::stream::messages::{encode_payload, json_payload};

const MINUTE: u64 = 60 * 1000;

fn data(value: &str) -> String {
    encode_payload(&json_payload(value).unwrap())
}

fn batch(publisher: &str, sequence: u64, items: &[(&str, &str)]) -> Value {
    let items: Vec<_> = items.iter().map(|(topic, value)| json!({"topic": topic, "data": data(value)})).collect();
    json!({"items": items, "publisher_id": publisher, "sequence": sequence})
}

fn log_of(items: &[&str]) -> StreamLog {
    let mut log = StreamLog::default();
    for item in items {
        log.push("t".to_owned(), data(item));
    }
    log
}

fn poll(log: &StreamLog, from_offset: u64) -> PollResult {
    log.collect(&PollInput { topics: Vec::new(), from_offset }, None)
}

fn offsets(result: &PollResult) -> Vec<u64> {
    result.items.iter().map(|item| item.offset).collect()
}

#[test]
fn a_batch_counts_once() {
    let mut log = StreamLog::default();
    log.publish(batch("p", 1, &[("a", "1"), ("b", "2")]), 0);
    log.publish(batch("p", 1, &[("a", "1"), ("b", "2"), ("c", "3")]), 0);
    log.publish(batch("p", 3, &[("a", "4")]), 0);
    log.publish(batch("p", 2, &[("a", "5")]), 0);
    log.publish(batch("q", 1, &[("a", "6")]), 0);
    log.publish(batch("", 0, &[("a", "7")]), 0);
    log.publish(batch("", 0, &[("a", "7")]), 0);
    log.publish(batch("r", 0, &[("a", "8")]), 0);
    assert_eq!(offsets(&poll(&log, 0)), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn input_that_cannot_be_read_is_left_out_entry_by_entry() {
    let mut log = StreamLog::default();
    let odd = [json!("nonsense"), json!([]), json!(null), json!({"items": 7}), json!({"items": [{"topic": "t"}]})];
    for input in odd {
        log.publish(input, 0);
    }
    let entries = json!([
        {"topic": "a", "data": data("1")}, "nonsense", {"topic": 5, "data": data("2")}, {"topic": "a", "data": "*"},
        {"topic": "a", "data": ""}, {"data": data("3"), "new": true}, {"topic": "a", "data": data("4")},
    ]);
    log.publish(json!({"items": entries, "publisher_id": 7}), 0);
    log.publish(json!({"items": entries, "publisher_id": "x".repeat(65), "sequence": 1}), 0);
    let kept: Vec<_> = poll(&log, 0).items.into_iter().map(|item| (item.topic, item.data)).collect();
    let expected = [("a", "1"), ("", "3"), ("a", "4")];
    assert_eq!(kept, expected.map(|(topic, value)| (topic.to_owned(), data(value))));
}

#[test]
fn a_publisher_that_was_silent_for_15_minutes_is_forgotten() {
    let mut log = StreamLog::default();
    log.publish(batch("p", 4, &[("a", "1")]), 0);
    log.publish(batch("q", 1, &[]), 15 * MINUTE - 1);
    log.publish(batch("p", 4, &[("a", "1")]), 15 * MINUTE - 1);
    assert_eq!(log.end(), 1);
    log.publish(batch("q", 2, &[]), 15 * MINUTE);
    log.publish(batch("p", 1, &[("a", "1")]), 15 * MINUTE);
    assert_eq!(log.end(), 2);
}

#[test]
fn the_most_silent_of_too_many_publishers_is_forgotten() {
    let mut log = StreamLog::default();
    for number in 0..=1000 {
        log.publish(batch(&format!("p{number}"), 1, &[]), number);
    }
    assert_eq!(log.publishers.len(), 1000);
    assert!(!log.publishers.contains_key("p0"));
}

#[test]
fn a_truncation_wakes_polls_and_keeps_offsets() {
    let mut log = log_of(&["0", "1", "2", "3"]);
    assert!(!log.has_news(4));
    log.truncate(2);
    assert!(log.has_news(1), "a poll below the truncation returns");
    assert_eq!(offsets(&poll(&log, 0)), [2, 3]);
    assert_eq!(offsets(&poll(&log, 1)), [2, 3]);
    log.truncate(1);
    log.truncate(9);
    assert_eq!(poll(&log, 0), PollResult { items: Vec::new(), next_offset: 4, more_ready: false });
    assert_eq!(log.push("t".to_owned(), data("4")), 4);
}

#[test]
fn a_poll_wakes_for_any_item_and_returns_its_topics() {
    let mut log = log_of(&["0"]);
    log.push("quiet".to_owned(), data("1"));
    log.push("t".to_owned(), data("2"));
    let of_quiet = |from_offset| log.collect(&PollInput { topics: vec!["quiet".to_owned()], from_offset }, None);
    assert_eq!(offsets(&of_quiet(0)), [1]);
    assert!(log.has_news(2));
    assert_eq!(of_quiet(2), PollResult { items: Vec::new(), next_offset: 3, more_ready: false });
}

#[test]
fn a_result_has_a_megabyte_and_at_least_one_item() {
    let mut log = StreamLog::default();
    for kilobytes in [1200, 400, 400, 400] {
        log.push("t".to_owned(), "x".repeat(kilobytes * 1000));
    }
    let page = |from| {
        let result = poll(&log, from);
        (offsets(&result), result.next_offset, result.more_ready)
    };
    assert_eq!(page(0), (vec![0], 1, true));
    assert_eq!(page(1), (vec![1, 2], 3, true));
    assert_eq!(page(3), (vec![3], 4, false));
    assert_eq!(page(7), (vec![], 7, false), "a subscriber of a log that is restored late reads nothing twice");
}

#[test]
fn a_full_log_drops_its_oldest_items() {
    let mut log = StreamLog::default();
    for _ in 0..=MOST_ITEMS {
        log.push("t".to_owned(), String::new());
    }
    assert_eq!((log.items.len(), log.base(), log.end()), (MOST_ITEMS, 1, 10_001));
    for _ in 0..5 {
        log.push("t".to_owned(), "x".repeat(1024 * 1024));
    }
    assert!(log.bytes <= MOST_BYTES);
    assert_eq!((log.items.len(), log.base(), log.end()), (3, 10_003, 10_006));
}

#[test]
fn items_of_earlier_turns_are_dropped_when_the_model_answers() {
    let mut log = StreamLog::default();
    let push = |log: &mut StreamLog, topic: &str| log.push(topic.to_owned(), data(topic));
    push(&mut log, "run_events");
    push(&mut log, "status");
    log.answered(true);
    push(&mut log, "run_events");
    log.answered(true);
    assert_eq!(offsets(&poll(&log, 0)), [1, 2], "those of the turn that ends stay, and those of other topics");
    push(&mut log, "run_events");
    log.answered(false);
    assert_eq!(offsets(&poll(&log, 0)), [1, 2, 3], "another run is active");
    log.answered(true);
    assert_eq!(offsets(&poll(&log, 0)), [1]);
    assert_eq!(poll(&log, 1).next_offset, 4);
}

#[test]
fn a_publisher_names_the_topics_that_end_with_their_turn() {
    let mut log = StreamLog::default();
    let mut tokens = batch("p", 1, &[("tokens", "0"), ("status", "1")]);
    tokens["turn_topics"] = json!(["tokens"]);
    log.publish(tokens, 0);
    log.answered(true);
    let mut log: StreamLog = serde_json::from_value(serde_json::to_value(&log).unwrap()).unwrap();
    log.publish(batch("p", 2, &[("tokens", "2")]), 0);
    log.answered(true);
    assert_eq!(offsets(&poll(&log, 0)), [1, 2]);
    for sequence in 1..100 {
        let mut forged = batch("x", sequence, &[]);
        forged["turn_topics"] = json!([format!("topic {sequence}"), "t".repeat(2_000)]);
        log.publish(forged, 0);
    }
    assert!(log.turn_topics.len() <= MAX_TURN_TOPICS);
}

#[test]
fn a_log_that_is_carried_continues_its_offsets() {
    let mut log = log_of(&["0", "1", "2"]);
    log.publish(batch("p", 7, &[("a", "3")]), 5);
    log.truncate(1);
    let json = serde_json::to_value(&log).unwrap();
    let item = |offset: u64, topic: &str| json!({"topic": topic, "data": data(&offset.to_string()), "offset": offset});
    let expected = json!({
        "items": [item(1, "t"), item(2, "t"), item(3, "a")],
        "end_offset": 4,
        "publishers": {"p": {"sequence": 7, "last_seen": 5}},
    });
    assert_eq!(json, expected);
    let mut next: StreamLog = serde_json::from_value(json).unwrap();
    next.publish(batch("p", 7, &[("a", "again")]), 6);
    next.publish(batch("p", 8, &[("a", "4")]), 6);
    assert_eq!(offsets(&poll(&next, 0)), [1, 2, 3, 4]);
}

#[test]
fn a_log_is_carried_with_its_latest_items() {
    let mut log = StreamLog::default();
    for _ in 0..20 {
        log.push("\u{1}".repeat(1000), "x".repeat(20_000));
    }
    let json = serde_json::to_string(&log).unwrap();
    assert!(json.len() < MOST_CARRIED_BYTES + 1000, "{}", json.len());
    let next: StreamLog = serde_json::from_str(&json).unwrap();
    assert_eq!((next.items.len(), next.base(), next.end()), (10, 10, 20));
}

#[test]
fn a_log_written_by_a_stranger_is_read_as_far_as_it_is_in_order() {
    let item = |offset: u64| json!({"topic": "t", "data": "", "offset": offset});
    let json = json!({"items": [item(3), item(3), item(1), item(5), item(9)], "end_offset": 6});
    let log: StreamLog = serde_json::from_value(json).unwrap();
    assert_eq!(offsets(&poll(&log, 0)), [3, 5]);
}

#[test]
fn batches_that_come_before_the_log_of_the_previous_execution_come_after_it() {
    let mut before = log_of(&["0", "1"]);
    before.publish(batch("p", 2, &[("a", "2")]), 0);
    let carried: StreamLog = serde_json::from_value(serde_json::to_value(&before).unwrap()).unwrap();

    let mut log = StreamLog::awaiting_restore();
    log.publish(batch("p", 2, &[("a", "2")]), 1);
    log.publish(batch("p", 3, &[("a", "3")]), 1);
    assert!(!log.has_news(0), "no poll is answered before");
    log.restore(carried.clone());
    assert_eq!(offsets(&poll(&log, 0)), [0, 1, 2, 3]);

    let mut log = log_of(&["early"]);
    log.take_over(carried.clone());
    assert_eq!(offsets(&poll(&log, 0)), [0, 1, 2, 3]);
    log.take_over(carried.clone());
    assert_eq!(log.end(), 4, "once");

    let mut log = carried.clone();
    log.take_over(carried);
    assert_eq!(log.end(), 3, "it is this log already");
}

/// One thing that happens to a log.
#[derive(Clone, Debug)]
enum Happens {
    Publish { publisher: u8, sequence: u64, items: usize },
    Push(usize),
    Truncate(u64),
    Answered(bool),
    Carried,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        (0..3_u8, 0..6_u64, 0..4_usize).prop_map(|(publisher, sequence, items)| Happens::Publish {
            publisher,
            sequence,
            items
        }),
        (0..40_000_usize).prop_map(Happens::Push),
        (0..30_u64).prop_map(Happens::Truncate),
        any::<bool>().prop_map(Happens::Answered),
        Just(Happens::Carried),
    ]
}

proptest! {
    #[test]
    fn offsets_only_grow_and_a_subscriber_sees_each_item_at_most_once(
        events in proptest::collection::vec(happens(), 0..60),
    ) {
        let mut log = StreamLog::default();
        let (mut next, mut seen, mut end) = (0, Vec::new(), 0);
        for event in events {
            match event {
                Happens::Publish { publisher, sequence, items } => {
                    let items: Vec<_> = (0..items).map(|_| ("run_events", "x")).collect();
                    log.publish(batch(&publisher.to_string(), sequence, &items), 0);
                }
                Happens::Push(bytes) => drop(log.push("t".to_owned(), "x".repeat(bytes))),
                Happens::Truncate(up_to) => log.truncate(up_to),
                Happens::Answered(is_alone) => log.answered(is_alone),
                Happens::Carried => log = serde_json::from_value(serde_json::to_value(&log).unwrap()).unwrap(),
            }
            prop_assert!(log.end() >= end && log.base() <= log.end());
            prop_assert_eq!(log.bytes, log.items.iter().map(kept_bytes).sum::<usize>());
            end = log.end();
            let result = poll(&log, next);
            prop_assert!(log.has_news(next) || result.items.is_empty());
            seen.extend(offsets(&result));
            next = result.next_offset;
        }
        prop_assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", seen);
        prop_assert!(!log.has_news(log.end()));
    }
}
