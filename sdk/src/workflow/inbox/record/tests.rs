use temporal_agents_core::wire::{AgentDecision, AgentInterruption, asked_questions::AskedQuestions};

use super::*;

fn call(id: &str) -> AgentInterruption {
    serde_json::from_value(serde_json::json!({"id": id, "agent": "desk", "tool": "refund", "arguments": "{}"})).unwrap()
}

/// Returns the inbox of a run that has paused for these questions.
fn paused(ids: &[&str]) -> AgentInbox {
    let calls: Vec<AgentInterruption> = ids.iter().map(|id| call(id)).collect();
    let mut inbox = AgentInbox::default();
    inbox.wait_for(&calls, &[]);
    let own: Vec<String> = calls.into_iter().map(|call| call.id).collect();
    assert_eq!(inbox.record_pause(&own), []);
    inbox
}

fn ids(asked: Option<AskedQuestions>) -> Option<Vec<String>> {
    Some(asked?.open().into_iter().map(|question| question.id).collect())
}

#[test]
fn each_decision_records_what_is_left_once() {
    let mut inbox = paused(&["a", "b"]);
    assert_eq!(ids(inbox.unrecorded()), None);
    let answer = |inbox: &mut AgentInbox, id: &str| ids(inbox.answer(AgentDecision::approve(id)).1);
    assert_eq!(answer(&mut inbox, "a"), Some(vec!["b".to_owned()]));
    assert_eq!(answer(&mut inbox, "a"), None, "a decision that is sent again changes nothing");
    assert_eq!(answer(&mut inbox, "c"), None, "no run has asked about it");
    assert_eq!(answer(&mut inbox, "b"), Some(Vec::new()));
}

#[test]
fn the_next_execution_knows_what_the_memo_contains() {
    let inbox = paused(&["a"]);
    let mut next: AgentInbox = serde_json::from_value(serde_json::to_value(&inbox).unwrap()).unwrap();
    assert_eq!(ids(next.unrecorded()), None);
    assert_eq!(ids(next.answer(AgentDecision::approve("a")).1), Some(Vec::new()));
}

#[test]
fn a_pause_has_the_questions_of_other_runs() {
    let mut inbox = paused(&["a"]);
    inbox.wait_for(&[call("b")], &[]);
    let others = inbox.record_pause(&["b".to_owned()]);
    assert_eq!(others, [call("a")]);
    assert_eq!(ids(inbox.unrecorded()), None);
    inbox.abandon_runs();
    assert_eq!(ids(inbox.unrecorded()), Some(Vec::new()));
}

#[test]
fn an_execution_without_records_never_begins_to() {
    let mut inbox = AgentInbox::default();
    inbox.wait_for(&[call("a")], &[]);
    assert_eq!(ids(inbox.answer(AgentDecision::approve("a")).1), None);
}
