use serde_json::json;
use temporal_agents_core::wire::{EventKind, RunEvent, delta_window::DeltaWindow};

use super::{HeldDeltas, Merge, OpenAttempt};

const CALL: &str = "r/1-model";

fn text(delta: &str) -> RunEvent {
    let (message_id, delta) = (format!("{CALL}/0"), delta.to_owned());
    RunEvent::new(EventKind::TextDelta { message_id, attempt: 1, delta })
}

fn open(attempt: u32, first: u64, texts: &[&str]) -> OpenAttempt {
    let window = DeltaWindow { first, deltas: texts.iter().copied().map(text).collect(), ..DeltaWindow::new(attempt) };
    let begun = EventKind::AttemptDelta { effect: "1-model".to_owned(), attempt, failure: None, next_at: None };
    OpenAttempt {
        is_model: true,
        is_of_session: false,
        call: CALL.to_owned(),
        event: RunEvent::new(begun),
        window: Some(window),
        outside: HeldDeltas::default(),
    }
}

/// The call of an attempt without heartbeats, whose deltas were read outside of Temporal.
fn outside(attempt: u32, first: u64, texts: &[&str]) -> OpenAttempt {
    let mut held = HeldDeltas::default();
    let numbered = (first..).zip(texts);
    held.add(
        CALL,
        numbered.map(|(number, delta)| RunEvent { id: format!("{CALL}#{attempt}.{number}"), ..text(delta) }).collect(),
    );
    OpenAttempt { window: None, outside: held, ..open(1, 0, &[]) }
}

/// The event of an attempt that has failed.
fn failed(attempt: u32) -> RunEvent {
    let failure = json!({"type": "T", "message": "m"});
    let failed = json!({"kind": "attempt_delta", "effect": "1-model", "attempt": attempt, "failure": failure});
    RunEvent::new(serde_json::from_value(failed).expect("a kind"))
}

fn fact(id: &str, kind: EventKind) -> RunEvent {
    let mut fact = RunEvent::new(kind);
    (fact.id, fact.run, fact.cursor) = (id.to_owned(), "r".to_owned(), Some(format!("cursor of {id}")));
    fact
}

/// The events that are due, in short: the ids of deltas with their text, and the numbers of
/// attempts.
fn due(merge: &mut Merge) -> Vec<String> {
    let short = |event: RunEvent| match &event.kind {
        EventKind::TextDelta { delta, .. } => format!("{} {delta}", event.id),
        EventKind::AttemptDelta { attempt, .. } => format!("attempt {attempt}"),
        other => other.name().to_owned(),
    };
    merge.due.drain(..).map(short).collect()
}

#[test]
fn each_delta_is_passed_on_once_and_a_new_attempt_begins_again() {
    let mut merge = Merge::default();
    merge.snapshot(&[open(1, 0, &["a", "b"])]);
    assert_eq!(due(&mut merge), ["r/1-model#1.0 a", "r/1-model#1.1 b"]);
    merge.snapshot(&[open(1, 1, &["b", "c"])]);
    assert_eq!(due(&mut merge), ["r/1-model#1.2 c"]);
    // The server still has the details of the attempt before.
    let mut second = open(1, 1, &["b", "c"]);
    second.event = open(2, 0, &[]).event;
    merge.snapshot(&[second]);
    assert_eq!(due(&mut merge), ["attempt 2"]);
    merge.snapshot(&[open(2, 0, &["x"])]);
    assert_eq!(due(&mut merge), ["r/1-model#2.0 x"]);
}

#[test]
fn a_text_with_a_hole_ends_before_the_hole() {
    let mut merge = Merge::default();
    merge.snapshot(&[open(1, 0, &["a"])]);
    merge.snapshot(&[open(1, 2, &["c", "d"])]);
    merge.snapshot(&[open(1, 3, &["d", "e"])]);
    assert_eq!(due(&mut merge), ["r/1-model#1.0 a"]);
    merge.snapshot(&[open(2, 0, &["whole"])]);
    assert_eq!(due(&mut merge), ["attempt 2", "r/1-model#2.0 whole"]);
}

#[test]
fn an_attempt_from_outside_begins_before_the_server_reports_it() {
    let mut merge = Merge::default();
    merge.snapshot(&[outside(1, 0, &["a", "b"])]);
    merge.snapshot(&[outside(1, 0, &["a", "b", "c"])]);
    assert_eq!(due(&mut merge), ["r/1-model#1.0 a", "r/1-model#1.1 b", "r/1-model#1.2 c"]);
    merge.snapshot(&[outside(2, 0, &["x"])]);
    // The server reports the second attempt, and that the first one has failed, when it has deltas.
    merge.snapshot(&[OpenAttempt { event: open(2, 0, &[]).event, ..outside(2, 0, &["x", "y"]) }]);
    merge.snapshot(&[OpenAttempt { event: failed(1), ..outside(2, 0, &["x", "y"]) }]);
    assert_eq!(due(&mut merge), ["r/1-model#2.0 x", "r/1-model#2.1 y"]);
    // What an attempt has sent is void when it has failed.
    merge.snapshot(&[OpenAttempt { event: failed(2), ..outside(2, 0, &["x", "y", "z"]) }]);
    assert_eq!(due(&mut merge), ["attempt 2"]);
}

#[test]
fn a_text_from_outside_without_its_beginning_is_not_passed_on() {
    let mut merge = Merge::default();
    merge.snapshot(&[outside(1, 3, &["d", "e"])]);
    assert_eq!(due(&mut merge), [""; 0]);
    merge.snapshot(&[outside(2, 0, &["whole"])]);
    assert_eq!(due(&mut merge), ["r/1-model#2.0 whole"]);
}

#[test]
fn no_delta_follows_the_answer() {
    let mut merge = Merge::default();
    merge.fact(&fact(CALL, EventKind::ModelCallScheduled { model: "m".to_owned() }));
    merge.snapshot(&[open(1, 0, &["a"])]);
    let delta = merge.next_due().expect("a delta");
    assert_eq!(delta.cursor.as_deref(), Some("cursor of r/1-model"));
    let answered = json!({"kind": "model_call_answered", "attempts": 1});
    let answered: EventKind = serde_json::from_value(answered).expect("a kind");
    merge.fact(&fact("r/1-model/answered", answered));
    // A snapshot of before the answer.
    merge.snapshot(&[open(1, 0, &["a", "b"])]);
    assert_eq!(due(&mut merge), [""; 0]);
    merge.snapshot(&[]);
    assert!(!merge.expects_deltas());
}

#[test]
fn a_call_that_was_sent_again_ends_with_the_answer() {
    let mut merge = Merge::default();
    let scheduled = || EventKind::ModelCallScheduled { model: "m".to_owned() };
    for id in ["r/1-model", "r/1-model-full", "r/10-model"] {
        merge.fact(&fact(id, scheduled()));
    }
    let answered: EventKind =
        serde_json::from_value(json!({"kind": "model_call_answered", "attempts": 1})).expect("a kind");
    merge.fact(&fact("r/1-model/answered", answered));
    assert_eq!(merge.open.iter().collect::<Vec<_>>(), ["r/10-model"]);
    // A snapshot of before the answer.
    merge.snapshot(&[OpenAttempt { call: "r/1-model-full".to_owned(), ..open(1, 0, &["a"]) }]);
    assert_eq!(due(&mut merge), [""; 0]);
}

#[test]
fn a_paused_run_expects_no_deltas() {
    let mut merge = Merge::default();
    assert!(merge.expects_deltas(), "nothing is known yet");
    merge.snapshot(&[]);
    assert!(!merge.expects_deltas());
    let call = json!({"kind": "tool_call", "call_id": "c", "name": "t", "arguments": "{}", "item": {}});
    merge.fact(&fact("r/1-model/0", serde_json::from_value(call).expect("a kind")));
    assert!(merge.expects_deltas());
    merge.fact(&fact("r/paused", EventKind::RunPaused {}));
    assert!(!merge.expects_deltas());
}

#[test]
fn a_delta_comes_after_the_facts_of_its_call_and_names_the_agent() {
    let mut merge = Merge { sees_all: true, ..Merge::default() };
    let mut second = open(2, 0, &["a"]);
    (second.event.run, second.event.turn) = ("r".to_owned(), 1);
    let fact = |id: &str, kind| RunEvent { agent: "desk".to_owned(), turn: 1, ..fact(id, kind) };
    for (id, kind) in [("r/started", EventKind::RunStarted { input: Vec::new() }), ("r/1", EventKind::TurnStarted {})] {
        merge.fact(&fact(id, kind));
        merge.snapshot(&[second.clone()]);
        assert!(merge.holds_back && merge.due.is_empty(), "{:?}", merge.due);
    }
    merge.fact(&fact(CALL, EventKind::ModelCallScheduled { model: "gpt-5".to_owned() }));
    merge.snapshot(&[second]);
    assert!(!merge.holds_back);
    assert_eq!(merge.due.front().map(|delta| &*delta.agent), Some("desk"));
    assert_eq!(due(&mut merge), ["attempt 2", "r/1-model#2.0 a"]);
}

#[test]
fn the_end_of_a_nested_run_leaves_the_calls_around_it_open() {
    let mut merge = Merge::default();
    merge.fact(&fact(CALL, EventKind::ModelCallScheduled { model: String::new() }));
    let ended = EventKind::RunFinished { output: json!("42"), usage: None };
    merge.fact(&RunEvent { path: vec!["1-tool-0".to_owned()], ..fact("r/1-tool-0/ended", ended.clone()) });
    assert!(merge.open.contains(CALL));
    merge.fact(&fact("r/ended", ended));
    assert!(merge.open.is_empty());
}
