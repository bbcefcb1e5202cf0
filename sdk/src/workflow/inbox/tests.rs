use serde_json::json;
use temporal_agents_core::wire::{
    McpQuestion,
    run_state::{Decision, InterruptionKind, content},
};

use super::*;
use crate::workflow::limits::size::MOST_BYTES;

fn call(id: &str) -> AgentInterruption {
    AgentInterruption {
        id: id.to_owned(),
        agent: "desk".to_owned(),
        tool: "refund".to_owned(),
        arguments: "{}".to_owned(),
        server: None,
        kind: InterruptionKind::Approval,
        question: None,
        expires_at: None,
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

/// Returns questions with the ids of their calls.
fn asked(own: &[&str]) -> Vec<Asked> {
    own.iter().map(|id| question(id, id)).collect()
}

fn question(id: &str, own: &str) -> Asked {
    Asked { id: id.to_owned(), own: own.to_owned() }
}

fn taken(inbox: &mut AgentInbox, wanted: &[&str]) -> Vec<String> {
    inbox.take(&ids(wanted)).into_iter().map(|decided| decided.id).collect()
}

#[test]
fn what_runs_take_is_remembered_and_what_they_do_not_take_is_kept() {
    let mut inbox = waiting_for(&["a", "b"]);
    assert_eq!(inbox.decide(AgentDecision::approve("c")), DecisionAnswer::Unmatched { waits_for: ids(&["a", "b"]) });
    assert_eq!(inbox.decide(AgentDecision::approve("b")), DecisionAnswer::Accepted);
    let repeated = inbox.decide(AgentDecision::approve("c"));
    assert_eq!(repeated, DecisionAnswer::Unmatched { waits_for: ids(&["a"]) }, "b is decided");
    assert_eq!(taken(&mut inbox, &["a", "b"]), ["b"]);
    assert_eq!(taken(&mut inbox, &["a", "b"]), [""; 0], "each is taken once");
    let facts: Vec<_> = inbox.state().decided.iter().map(|decided| (decided.id.clone(), decided.taken)).collect();
    assert_eq!(facts, [("c".to_owned(), false), ("b".to_owned(), true)]);
    assert_eq!(inbox.interruptions(), [call("a")]);
}

#[test]
fn a_question_is_not_shown_between_its_decision_and_the_run_that_takes_it() {
    let mut inbox = waiting_for(&["a", "b"]);
    let seen = |inbox: &AgentInbox| {
        let state = inbox.state();
        let ids: Vec<_> = state.interruptions.into_iter().map(|call| call.id).collect();
        (state.status, ids)
    };
    inbox.decide(AgentDecision::approve("a"));
    assert_eq!(seen(&inbox), (RunStatus::Waiting, ids(&["b"])));
    inbox.decide(AgentDecision::reject("b"));
    assert_eq!(seen(&inbox), (RunStatus::Running, vec![]));
    inbox.pause(&asked(&["a", "b"]));
    assert_eq!(seen(&inbox), (RunStatus::Waiting, vec![]), "to be resumed");
}

#[test]
fn an_id_that_has_a_meaning_already_is_not_given_to_another_question() {
    let mut inbox = waiting_for(&["a", "b"]);
    inbox.decide(AgentDecision::approve("a"));
    assert_eq!(taken(&mut inbox, &["a"]), ["a"]);
    let second = inbox.wait_for(&[call("b"), call("a")], &asked(&["b"]));
    assert_eq!(second, [question("b", "b"), question("a#2", "a")]);
    let first = DecisionAnswer::AlreadyDecided { decision: Verdict::Approve, always: false };
    assert_eq!(inbox.decide(AgentDecision::reject("a")), first, "it is the first question's id");
    assert_eq!(inbox.decide(AgentDecision::reject("a#2")), DecisionAnswer::Accepted);
    assert_eq!(taken(&mut inbox, &["b", "a#2"]), ["a#2"]);
}

#[test]
fn runs_that_ask_for_the_same_id_keep_apart() {
    let mut inbox = waiting_for(&["a"]);
    inbox.begin();
    let other = AgentInterruption { tool: "delete".to_owned(), ..call("a") };
    let second = inbox.wait_for(std::slice::from_ref(&other), &[]);
    assert_eq!(second, [question("a#2", "a")]);
    assert_eq!(inbox.interruptions(), [call("a"), AgentInterruption { id: "a#2".to_owned(), ..other.clone() }]);
    assert_eq!(inbox.wait_for(&[call("a")], &asked(&["a"])), asked(&["a"]), "asked again, it is the same question");

    inbox.pause(&second);
    inbox.pause(&asked(&["a"]));
    let mut carried: AgentInbox = serde_json::from_value(serde_json::to_value(&inbox).unwrap()).unwrap();
    assert_eq!(carried, inbox);
    assert_eq!(carried.take_up(&[other]), second);
    assert_eq!(carried.take_up(&[call("a")]), asked(&["a"]));
    assert_eq!(carried.take_up(&[call("a")]), [], "another run has taken it up");
}

#[test]
fn a_decision_that_comes_after_its_run_is_unknown_and_counts_for_no_other() {
    let mut inbox = waiting_for(&["a", "b"]);
    assert_eq!(inbox.decide(AgentDecision::approve("b")), DecisionAnswer::Accepted);
    inbox.end(RunStatus::Failed, &asked(&["a", "b"]));
    inbox.begin();
    for id in ["a", "b"] {
        assert_eq!(inbox.decide(AgentDecision::approve(id)), DecisionAnswer::Unknown { waits_for: Vec::new() });
    }
    let next = inbox.wait_for(&[call("a"), call("b")], &[]);
    assert_eq!(next, [question("a#2", "a"), question("b#2", "b")]);
    assert_eq!(inbox.decide(AgentDecision::approve("a")), DecisionAnswer::Unknown { waits_for: ids(&["a#2", "b#2"]) });
    assert_eq!(taken(&mut inbox, &["a#2", "b#2"]), [""; 0]);
}

#[test]
fn the_status_is_that_of_all_runs() {
    let mut inbox = AgentInbox::default();
    assert_eq!(inbox.state().status, RunStatus::Queued);
    inbox.begin();
    inbox.begin();
    assert_eq!(inbox.state().status, RunStatus::Running);
    inbox.end(RunStatus::Failed, &[]);
    assert_eq!(inbox.state().status, RunStatus::Running, "one is at work still");
    inbox.wait_for(&[call("a")], &[]);
    assert_eq!(inbox.state().status, RunStatus::Waiting);
    inbox.end(RunStatus::Completed, &asked(&["a"]));
    assert_eq!(inbox.state().status, RunStatus::Completed);
    inbox.begin();
    assert_eq!(inbox.state().status, RunStatus::Running);
}

#[test]
fn a_paused_run_can_be_decided_and_a_dropped_one_can_be_forgotten() {
    let mut inbox = waiting_for(&["a"]);
    inbox.pause(&asked(&["a"]));
    assert_eq!(inbox.state().status, RunStatus::Waiting);
    assert_eq!(inbox.decide(AgentDecision::approve("b")), DecisionAnswer::Unmatched { waits_for: ids(&["a"]) });
    inbox.abandon_runs();
    assert_eq!(inbox.state().status, RunStatus::Queued);
    assert_eq!(inbox.decide(AgentDecision::approve("a")), DecisionAnswer::Unknown { waits_for: Vec::new() });
}

#[test]
fn what_is_carried_over_says_the_same() {
    let mut inbox = waiting_for(&["a", "b"]);
    inbox.decide(AgentDecision::approve("b").always());
    inbox.decide(AgentDecision::reject_with("later", "no"));
    inbox.take(&ids(&["b"]));
    inbox.pause(&asked(&["a"]));
    let json = serde_json::to_value(&inbox).unwrap();
    let carried: AgentInbox = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(carried, inbox);
    assert_eq!(
        json,
        json!({
            "version": "1.2",
            "decided": [
                {"id": "b", "decision": {"kind": "approve"}, "always": true, "taken": true},
                {"id": "later", "decision": {"kind": "reject", "message": "no"}, "taken": false},
            ],
            "waits_for": [{"id": "a", "agent": "desk", "tool": "refund", "arguments": "{}"}],
            "turn": 0,
        })
    );
    let first = AgentInbox { version: first_version(), ..AgentInbox::default() };
    assert_eq!(serde_json::from_value::<AgentInbox>(json!({})).unwrap(), first);
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
    let text = "x".repeat(MAX_TAKEN_BYTES / 2);
    for id in ["a", "b", "c"] {
        inbox.decide(AgentDecision::reject_with(id, &*text));
        assert_eq!(taken(&mut inbox, &[id]), [id]);
    }
    inbox.decide(AgentDecision::reject_with("kept", &*text));
    let remembered: Vec<_> = inbox.state().decided.into_iter().map(|decided| decided.id).collect();
    assert_eq!(remembered, ["b", "c", "kept"], "in the order of arrival");
}

#[test]
fn a_call_of_a_client_tool_is_answered_by_its_output_or_a_rejection() {
    let mut inbox = AgentInbox::default();
    inbox.begin();
    // Kept before the question is known.
    assert_eq!(inbox.decide(AgentDecision::approve("a")), DecisionAnswer::Kept { waits_for: Vec::new() });
    inbox.wait_for(&[AgentInterruption { kind: InterruptionKind::Output, ..call("a") }], &[]);
    assert!(!inbox.is_decided("a"));
    let reason = "tool \"refund\" runs at the caller: supply its output (agent_supply_output), or reject the call";
    assert_eq!(inbox.decide(AgentDecision::approve("a")), DecisionAnswer::Refused { reason: reason.to_owned() });
    let reason = "the output of tool \"refund\" is 2000001 bytes, the limit is 2000000: supply a shorter output, or a \
                  reference to it";
    let large = "x".repeat(MOST_BYTES + 1);
    assert_eq!(
        inbox.supply_output(SuppliedOutput::new("a", large)),
        DecisionAnswer::Refused { reason: reason.to_owned() }
    );
    assert_eq!(inbox.supply_output(SuppliedOutput::new("a", "done")), DecisionAnswer::Accepted);
}

#[test]
fn a_decision_that_no_run_has_asked_for_is_the_same_before_the_end_and_after_it() {
    let (mut before, mut after) = (waiting_for(&["a"]), waiting_for(&["a"]));
    assert_eq!(before.decide(AgentDecision::approve("b")), DecisionAnswer::Unmatched { waits_for: ids(&["a"]) });
    before.end(RunStatus::Completed, &asked(&["a"]));
    after.end(RunStatus::Completed, &asked(&["a"]));
    assert_eq!(after.decide(AgentDecision::approve("b")), DecisionAnswer::Unknown { waits_for: Vec::new() });
    assert_eq!(before, after);
    for inbox in [&mut before, &mut after] {
        inbox.begin();
        inbox.wait_for(&[call("b")], &[]);
        assert_eq!(taken(inbox, &["b"]), [""; 0], "another run's call of that id was not decided");
    }
}

#[test]
fn a_decision_that_no_run_has_asked_for_stays_while_another_run_is_at_work_or_paused() {
    let mut inbox = waiting_for(&["a"]);
    inbox.begin();
    inbox.decide(AgentDecision::approve("b"));
    inbox.end(RunStatus::Completed, &[]);
    inbox.pause(&asked(&["a"]));
    inbox.begin();
    inbox.end(RunStatus::Completed, &[]);
    assert_eq!(taken(&mut inbox, &["b"]), ["b"]);
}

#[test]
fn a_decision_that_was_taken_back_can_be_made_again() {
    let mut inbox = waiting_for(&["a"]);
    inbox.decide(AgentDecision::approve("a"));
    assert_eq!(taken(&mut inbox, &["a"]), ["a"]);
    inbox.take_back("a");
    assert_eq!(inbox.wait_for(&[call("a")], &asked(&["a"])), asked(&["a"]));
    assert_eq!(inbox.decide(AgentDecision::reject("a")), DecisionAnswer::Accepted);
}

#[test]
fn an_answer_to_a_server_is_read_alike_where_it_is_accepted_and_where_it_is_taken() {
    let schema = json!({"type": "object", "properties": {"note": {"type": "string"}}});
    let question = McpQuestion { message: "Anything else?".to_owned(), schema };
    let asked = AgentInterruption { kind: InterruptionKind::Input, question: Some(question), ..call("a") };
    for text in ["", "{}", " {} ", r#"{"note": "no"}"#, " ", "null", "[]", "no", r#"{"note": "no"} x"#] {
        let is_accepted = refusal(&asked, &Verdict::SupplyOutput { output: text.to_owned() }).is_none();
        let is_read = content(&Decision::supply(text)).is_some();
        assert_eq!(is_accepted, is_read, "{text:?}");
    }
}
