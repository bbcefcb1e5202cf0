//! Questions of hosted MCP servers: the function or person that answers them, and the time of the
//! answer.

use rstest::rstest;

use super::*;

/// The setup of an agent with a hosted MCP server `crm`.
fn with_server(answered_by_function: bool) -> TurnSetup {
    let mut setup = setup();
    let Value::Object(config) = json!({"type": "mcp", "server_label": "crm"}) else { panic!("an object") };
    setup.definitions.tools.push(ToolSpec::Hosted { name: "hosted_mcp".to_owned(), config });
    if answered_by_function {
        setup.answers_approvals.push("crm".to_owned());
    }
    setup
}

fn question(id: &str, tool: &str) -> Item {
    let arguments = r#"{"id":7}"#;
    item(json!({"type": "mcp_approval_request", "id": id, "server_label": "crm", "name": tool, "arguments": arguments}))
}

fn answer(id: &str, approve: bool, reason: Option<&str>) -> Value {
    let mut answer = json!({"type": "mcp_approval_response", "approval_request_id": id, "approve": approve});
    if let Some(reason) = reason {
        answer["reason"] = reason.into();
    }
    answer
}

fn asked(setup: TurnSetup, questions: &[&str]) -> ByHand {
    let mut run = ByHand::start();
    run.turn(setup, questions.iter().map(|id| question(id, "delete")).collect()).unwrap();
    run
}

#[test]
fn a_server_that_was_not_offered_may_ask_nothing() {
    let error = ByHand::start().turn(setup(), vec![question("q1", "delete")]).unwrap_err();
    assert_eq!(error.to_string(), misbehaved("MCP server label crm not found", 1));
}

#[test]
fn a_question_waits_for_a_person() {
    let run = asked(with_server(false), &["q1"]);
    let waiting = run.engine.state().interruptions();
    assert_eq!(run.waits_for(), ["q1"]);
    assert_eq!((&*waiting[0].agent, &*waiting[0].tool, &*waiting[0].arguments()), ("triage", "delete", r#"{"id":7}"#));
    let kinds: Vec<NewItemKind> = run.engine.state().items.iter().map(|item| item.kind).collect();
    assert_eq!(kinds, [NewItemKind::McpApprovalRequest, NewItemKind::ToolApproval]);
}

#[rstest]
#[case::approved(Decision::approve(), answer("q1", true, None))]
#[case::rejected(Decision::reject(), answer("q1", false, None))]
#[case::rejected_with_a_message(Decision::reject_with("not today"), answer("q1", false, Some("not today")))]
fn a_decision_is_the_answer(#[case] decision: Decision, #[case] expected: Value) {
    let mut run = asked(with_server(false), &["q1"]);
    run.decide(&[("q1", decision)]);
    run.offer(&[]).unwrap();
    assert_eq!(run.raw_items().last().unwrap().to_value(), expected);
    assert_eq!(run.next(), starts("triage", 2));
}

#[test]
fn the_model_sees_question_and_answer_and_no_placeholder() {
    let mut run = asked(with_server(false), &["q1"]);
    run.decide(&[("q1", Decision::approve())]);
    run.offer(&[]).unwrap();
    let sent = run.prepare(with_server(false)).input;
    let kinds: Vec<&str> = sent.iter().map(Item::kind).collect();
    assert_eq!(kinds, ["message", "mcp_approval_request", "mcp_approval_response"]);
}

#[test]
fn what_was_not_answered_goes_on_waiting() {
    let mut run = asked(with_server(false), &["q1", "q2"]);
    run.decide(&[("q2", Decision::approve())]);
    run.offer(&[]).unwrap();
    assert_eq!(run.waits_for(), ["q1"]);
}

#[test]
fn questions_come_after_calls_among_what_waits() {
    let mut run = ByHand::start();
    run.turn(with_server(false), vec![question("q1", "delete"), call("c1", "pay", "{}")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    assert_eq!(run.waits_for(), ["c1", "q1"]);
}

#[test]
fn a_decision_for_good_answers_this_tool_of_this_server_at_once_for_every_agent() {
    let mut run = asked(with_server(false), &["q1"]);
    let mut state = run.engine.state().clone();
    state.decide_always("q1", Decision::reject_with("never")).unwrap();
    run.take_up(state);
    run.offer(&[]).unwrap();
    run.turn(with_server(false), vec![call("h1", "transfer_to_refunds", "{}")]).unwrap();
    run.hand_off();
    run.turn(with_server(false), vec![question("q2", "delete"), question("q3", "read")]).unwrap();
    assert_eq!(run.waits_for(), ["q3"]);
    let items: Vec<Value> = run.raw_items()[7..].iter().map(Item::to_value).collect();
    assert_eq!(items, [answer("q2", false, Some("never")), question("q3", "read").to_value()]);
}

#[test]
fn a_decision_for_good_is_newer_than_one_that_was_kept_before_the_run() {
    let mut run = asked(with_server(false), &["q1"]);
    let mut state = run.engine.state().clone();
    state.decide_always("q1", Decision::reject_with("never")).unwrap();
    run.take_up(state);
    run.offer(&[]).unwrap();
    run.engine.set_kept_requests(["q2", "q3"].map(str::to_owned).into());
    run.turn(with_server(false), vec![question("q2", "delete"), question("q3", "read")]).unwrap();
    // Only the request without a decision of the run is answered by the kept one.
    let Step::AnswerMcp { questions, .. } = run.next() else { panic!("nothing is asked, but {:?}", run.next()) };
    let ids: Vec<&str> = questions.iter().map(|question| &*question.request_id).collect();
    assert_eq!(ids, ["q3"]);
    run.resolve(Resolution::McpAnswered(vec![Decision::approve()])).unwrap();
    let answers = run.raw_items().into_iter().map(|item| item.to_value());
    let answers: Vec<Value> = answers.filter(|item| item["type"] == "mcp_approval_response").collect();
    assert_eq!(answers[1..], [answer("q2", false, Some("never")), answer("q3", true, None)]);
}

#[test]
fn a_function_of_the_author_answers_its_servers_questions_in_their_order() {
    let mut run = asked(with_server(true), &["q1", "q2"]);
    let Step::AnswerMcp { agent, questions } = run.next() else { panic!("nothing is asked, but {:?}", run.next()) };
    let ids: Vec<&str> = questions.iter().map(|question| &*question.request_id).collect();
    assert_eq!((&*agent, &ids[..]), ("triage", &["q1", "q2"][..]));
    run.resolve(Resolution::McpAnswered(vec![Decision::approve(), Decision::reject_with("no")])).unwrap();
    let items: Vec<Value> = run.raw_items()[2..].iter().map(Item::to_value).collect();
    assert_eq!(items, [answer("q1", true, None), answer("q2", false, Some("no"))]);
    assert_eq!(run.next(), turn_due("triage", 2));
}

#[test]
fn a_function_is_asked_when_nothing_else_waits_any_more() {
    let mut run = ByHand::start();
    run.turn(with_server(true), vec![question("q1", "delete"), call("c1", "pay", "{}")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    assert_eq!(run.waits_for(), ["c1"]);
    run.decide(&[("c1", Decision::approve())]);
    run.offer(&["pay"]).unwrap();
    run.tools_return(&["paid"]);
    assert!(matches!(run.next(), Step::AnswerMcp { .. }));
}

#[test]
fn answers_stand_after_outputs_and_before_a_handoff() {
    let mut run = ByHand::start();
    let output = vec![question("q1", "delete"), call("h1", "transfer_to_sales", "{}"), call("c1", "time", "{}")];
    run.turn(with_server(true), output).unwrap();
    run.tools_return(&["noon"]);
    run.resolve(Resolution::McpAnswered(vec![Decision::approve()])).unwrap();
    run.hand_off();
    assert_eq!(
        run.transcript()[3..],
        [
            "triage: tool_call_output_item c1 = noon",
            "triage: mcp_approval_response_item mcp_approval_response",
            r#"triage: handoff_output_item h1 = {"assistant": "sales"}"#,
        ]
    );
}

#[test]
fn a_message_beside_a_question_does_not_end_the_run() {
    let mut run = ByHand::start();
    run.turn(with_server(true), vec![question("q1", "delete"), message("done")]).unwrap();
    run.resolve(Resolution::McpAnswered(vec![Decision::approve()])).unwrap();
    assert_eq!(run.next(), turn_due("triage", 2));
}

#[test]
fn the_same_question_twice_is_one_and_an_id_never_stands_for_two() {
    assert_eq!(asked(with_server(false), &["q1", "q1"]).waits_for(), ["q1"]);
    let two = vec![question("q1", "delete"), question("q1", "read")];
    let error = ByHand::start().turn(with_server(false), two).unwrap_err();
    let reused = "Model reused an approval-gated tool call ID for a different invocation. \
                  Use a unique call ID for each approval-gated invocation.";
    assert_eq!(error.to_string(), misbehaved(reused, 1));
}

#[test]
fn a_decision_does_not_count_for_a_later_question_of_the_same_id() {
    let mut run = asked(with_server(false), &["q1"]);
    run.decide(&[("q1", Decision::approve())]);
    run.offer(&[]).unwrap();
    assert!(run.engine.state().approvals.is_empty());
    run.turn(with_server(false), vec![question("q1", "delete_everything")]).unwrap();
    assert_eq!(run.waits_for(), ["q1"]);
    run.decide(&[("q1", Decision::reject())]);
    run.offer(&[]).unwrap();
    run.turn(with_server(false), vec![question("q1", "delete_everything")]).unwrap();
    assert_eq!(run.waits_for(), ["q1"], "the same question in another response is asked anew");
}
