//! Model calls that are retried, deltas that are lost, and workflows that are reset.

use serde_json::json;
use temporal_agents_core::wire::{EventKind, RunEvent};

use super::{
    FINISH, FINISH_STEP, LOOK, LOOK_OUTPUT, START, START_STEP, Stream, answered, event, look, message, output, text,
    turn, whole,
};
use crate::http::ai_sdk::mapper::Version;

const ID: &str = "k/1-model/0";

fn attempt(number: u32) -> RunEvent {
    let (effect, failure, next_at) = ("1-model".to_owned(), None, None);
    event("", 1, EventKind::AttemptDelta { effect, attempt: number, failure, next_at })
}

/// A model that breaks after a part of its answer, and then answers.
fn broken(version: Version) -> Vec<String> {
    let events = [
        turn(1),
        attempt(1),
        event("", 1, text(ID, 1, "Bad")),
        attempt(2),
        event("", 1, text(ID, 1, " late")),
        event("", 1, text(ID, 2, "Good")),
        event("1-model/answered", 1, answered(2)),
        event("1-model/0", 1, message("Good")),
        event("", 1, text(ID, 2, " late")),
    ];
    let mut stream = Stream::of(version, events);
    stream.finished();
    stream.lines()
}

#[test]
fn version_7_resets_the_step_of_a_broken_attempt() {
    let ([start, bad, _], [_, good, end]) = (whole(ID, "Bad"), whole(ID, "Good"));
    let reset = r#"{"type":"reset-step"}"#;
    let lines = [START, START_STEP, &start, &bad, reset, &start, &good, &end, FINISH_STEP, FINISH];
    assert_eq!(broken(Version::V7), lines);
}

#[test]
fn version_6_names_the_parts_of_a_broken_attempt() {
    let ([start, bad, end], [_, good, _]) = (whole(ID, "Bad"), whole(ID, "Good"));
    let void = r#"{"type":"data-attempt","data":{"attempt":2,"discards":["k/1-model/0"]}}"#;
    let lines = [START, START_STEP, &start, &bad, &end, void, &start, &good, &end, FINISH_STEP, FINISH];
    assert_eq!(broken(Version::V6), lines);
}

#[test]
fn version_6_whole_sends_nothing_of_a_broken_attempt() {
    let [start, good, end] = whole(ID, "Good");
    assert_eq!(broken(Version::V6Whole), [START, START_STEP, &start, &good, &end, FINISH_STEP, FINISH]);
}

#[test]
fn a_text_whose_first_deltas_were_lost_is_sent_again_and_the_rest_of_the_step_remains() {
    let events = [
        turn(1),
        event("1-model/0", 1, message("One")),
        event("", 1, text("k/1-model/1", 1, "wo")),
        event("1-model/1", 1, message("Two")),
    ];
    let mut stream = Stream::of(Version::V7, events);
    stream.finished();
    let one = whole(ID, "One").join("\n");
    let ([start, lost, _], [_, two, end]) = (whole("k/1-model/1", "wo"), whole("k/1-model/1", "Two"));
    let reset = r#"{"type":"reset-step"}"#;
    let lines = [START, START_STEP, &one, &start, &lost, reset, &one, &start, &two, &end, FINISH_STEP, FINISH];
    assert_eq!(stream.lines().join("\n"), lines.join("\n"));
}

#[test]
fn a_reset_workflow_takes_back_the_step_and_keeps_its_calls_for_their_outputs() {
    let stream = |version| {
        let mut stream = Stream::of(version, look());
        let (execution, reason) = ("e2".to_owned(), String::new());
        stream.event(&event("reset", 1, EventKind::RunReset { execution, reason }));
        stream.event(&event("1-tool-0/output", 1, output("c1", json!("12"))));
        stream.event(&turn(2));
        stream.finished();
        stream.lines()
    };
    let [one, two, three] = LOOK;
    let begin = [START, START_STEP, one, two, three];
    let end = [LOOK_OUTPUT, FINISH_STEP, START_STEP, FINISH_STEP, FINISH];
    let reset = [r#"{"type":"reset-step"}"#, three];
    assert_eq!(stream(Version::V7), [&begin[..], &reset, &end].concat());
    let void = [r#"{"type":"data-attempt","data":{"discards":["c1"]}}"#];
    assert_eq!(stream(Version::V6), [&begin[..], &void, &end].concat());
}
