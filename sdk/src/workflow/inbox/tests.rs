use serde_json::json;

use super::*;

fn call(id: &str) -> AgentInterruption {
    AgentInterruption {
        id: id.to_owned(),
        agent: "desk".to_owned(),
        tool: "refund".to_owned(),
        arguments: "{}".to_owned(),
        server: None,
    }
}

fn waiting_for(ids: &[&str]) -> AgentInbox {
    let mut inbox = AgentInbox::default();
    inbox.begin();
    inbox.wait_for(&ids.iter().map(|id| call(id)).collect::<Vec<_>>(), &[]);
    inbox
}

fn ids(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

fn taken(inbox: &mut AgentInbox, wanted: &[&str]) -> Vec<String> {
    inbox.take(&ids(wanted)).into_iter().map(|decided| decided.id).collect()
}

#[test]
fn what_runs_take_is_remembered_and_what_they_do_not_take_is_kept() {
    let mut inbox = waiting_for(&["a", "b"]);
    assert_eq!(inbox.decide(AgentDecision::approve("c")), DecisionAnswer::Kept { waits_for: ids(&["a", "b"]) });
    assert_eq!(inbox.decide(AgentDecision::approve("b")), DecisionAnswer::Accepted);
    assert!(inbox.has_decisions());
    assert_eq!(taken(&mut inbox, &["a", "b"]), ["b"]);
    assert!(!inbox.has_decisions());
    assert_eq!(taken(&mut inbox, &["a", "b"]), [""; 0], "each is taken once");
    let facts: Vec<_> = inbox.state().decided.iter().map(|decided| (decided.id.clone(), decided.taken)).collect();
    assert_eq!(facts, [("c".to_owned(), false), ("b".to_owned(), true)]);
    assert_eq!(inbox.interruptions(), [call("a")]);
}

#[test]
fn an_id_that_is_asked_for_anew_is_another_question() {
    let mut inbox = waiting_for(&["a"]);
    inbox.decide(AgentDecision::approve("a"));
    assert_eq!(taken(&mut inbox, &["a"]), ["a"]);
    inbox.wait_for(&[call("a")], &[]);
    assert_eq!(inbox.decide(AgentDecision::reject("a")), DecisionAnswer::Accepted);
    assert_eq!(inbox.take(&ids(&["a"]))[0].decision, Verdict::Reject { message: None });
}

#[test]
fn the_status_is_that_of_all_runs() {
    let mut inbox = AgentInbox::default();
    assert_eq!(inbox.state().status, AgentStatus::Idle);
    inbox.begin();
    inbox.begin();
    assert_eq!(inbox.state().status, AgentStatus::Running);
    inbox.end(Some(AgentStatus::Failed));
    assert_eq!(inbox.state().status, AgentStatus::Running, "one is at work still");
    inbox.wait_for(&[call("a")], &[]);
    assert_eq!(inbox.state().status, AgentStatus::Waiting);
    inbox.wait_for(&[], &ids(&["a"]));
    inbox.end(Some(AgentStatus::Finished));
    assert_eq!(inbox.state().status, AgentStatus::Finished);
    inbox.begin();
    assert_eq!(inbox.state().status, AgentStatus::Running);
}

#[test]
fn a_paused_run_can_be_decided_and_a_dropped_one_can_be_forgotten() {
    let mut inbox = waiting_for(&["a"]);
    inbox.end(None);
    assert_eq!(inbox.state().status, AgentStatus::Waiting);
    assert_eq!(inbox.decide(AgentDecision::approve("b")), DecisionAnswer::Kept { waits_for: ids(&["a"]) });
    inbox.forget_runs();
    assert_eq!(inbox.state().status, AgentStatus::Idle);
    assert_eq!(inbox.decide(AgentDecision::approve("a")), DecisionAnswer::Kept { waits_for: Vec::new() });
}

#[test]
fn what_is_carried_over_says_the_same() {
    let mut inbox = waiting_for(&["a", "b"]);
    inbox.decide(AgentDecision::approve("b").always());
    inbox.decide(AgentDecision::reject_with("later", "no"));
    inbox.take(&ids(&["b"]));
    inbox.end(None);
    let json = serde_json::to_value(&inbox).unwrap();
    let carried: AgentInbox = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(carried, inbox);
    assert_eq!(
        json,
        json!({
            "version": {"major": 1, "minor": 0},
            "decided": [
                {"id": "b", "decision": {"kind": "approve"}, "always": true, "taken": true},
                {"id": "later", "decision": {"kind": "reject", "message": "no"}, "taken": false},
            ],
            "waits_for": [{"id": "a", "agent": "desk", "tool": "refund", "arguments": "{}"}],
            "turn": 0,
        })
    );
    assert_eq!(serde_json::from_value::<AgentInbox>(json!({})).unwrap(), AgentInbox::default());
    let newer = serde_json::from_value::<AgentInbox>(json!({"version": {"major": 9, "minor": 0}}));
    assert!(newer.unwrap_err().to_string().contains("9.0"));
}

#[test]
fn nobody_can_fill_the_inbox_with_ids_that_no_run_asks_for() {
    let mut inbox = waiting_for(&["a"]);
    for number in 0..MOST_KEPT {
        inbox.decide(AgentDecision::approve(format!("stray {number}")));
    }
    let one_more = inbox.decide(AgentDecision::approve("stray"));
    assert_eq!(one_more, DecisionAnswer::Unknown { waits_for: ids(&["a"]) });
    assert_eq!(inbox.decide(AgentDecision::approve("a")), DecisionAnswer::Accepted, "what is asked for is taken in");
}

#[test]
fn only_the_latest_of_what_was_taken_is_remembered() {
    let mut inbox = AgentInbox::default();
    let text = "x".repeat(MOST_TAKEN_TEXT / 2);
    for id in ["a", "b", "c"] {
        inbox.decide(AgentDecision::reject_with(id, &*text));
        assert_eq!(taken(&mut inbox, &[id]), [id]);
    }
    inbox.decide(AgentDecision::reject_with("kept", &*text));
    let remembered: Vec<_> = inbox.state().decided.into_iter().map(|decided| decided.id).collect();
    assert_eq!(remembered, ["b", "c", "kept"], "in the order of arrival");
}
