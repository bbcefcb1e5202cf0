use serde_json::json;
use temporal_agents_core::wire::RunEvent;

use super::AskedInHistory;

fn event(run: &str, kind: serde_json::Value) -> RunEvent {
    let mut json = json!({"version": "1.2", "id": "e", "run": run, "time": "2026-11-23T12:00:00Z"});
    for (name, value) in kind.as_object().expect("an object") {
        json[name] = value.clone();
    }
    serde_json::from_value(json).expect("an event")
}

fn asked(run: &str, id: &str) -> RunEvent {
    event(run, json!({"kind": "question_asked", "question_id": id, "tool": "pay", "arguments": "{}"}))
}

fn ids(asked: &AskedInHistory) -> Vec<String> {
    asked.open().into_iter().map(|call| call.id).collect()
}

#[test]
fn a_decided_question_is_not_open_and_one_that_is_asked_again_is_open_once() {
    let mut open = AskedInHistory::default();
    open.observe(&asked("r1", "a"));
    open.observe(&asked("r1", "b"));
    open.observe(&event(
        "r1",
        json!({"kind": "question_decided", "question_id": "a", "decision": {"kind": "approve"}}),
    ));
    open.observe(&asked("r2", "b"));
    assert_eq!(ids(&open), ["b"]);
}

#[test]
fn the_end_of_a_run_closes_its_questions_alone() {
    let mut open = AskedInHistory::default();
    open.observe(&asked("r1", "a"));
    open.observe(&asked("r2", "b"));
    open.observe(&event("r1", json!({"kind": "run_cancelled"})));
    assert_eq!(ids(&open), ["b"]);
    open.observe(&event("", json!({"kind": "run_terminated"})));
    assert!(open.is_empty());
}
