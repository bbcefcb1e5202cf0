//! Conversations that the provider keeps: each call carries the items that the provider has not
//! received.

use super::*;
use crate::wire::run_state::ServerConversation;

fn conversation() -> ServerConversation {
    ServerConversation {
        conversation_id: None,
        previous_response_id: None,
        chained: true,
        has_input: false,
        began_here: true,
        seen_items: 0,
    }
}

fn run_with(server: ServerConversation) -> ByHand {
    ByHand::begin(Beginning { server: Some(server), ..beginning() }, Rules::default())
}

/// Resolves the turn's model call with a response of this id, and returns the call.
fn turn(run: &mut ByHand, response_id: Option<&str>, output: Vec<Item>) -> ModelCall {
    let call = run.prepare(setup());
    let response_id = response_id.map(str::to_owned);
    run.resolve(Resolution::Answered(ModelResponse { response_id, ..response(output) })).unwrap();
    call
}

fn sent(call: &ModelCall) -> Vec<String> {
    call.input.iter().map(content).collect()
}

#[test]
fn the_input_is_sent_once_and_then_outputs_alone() {
    let mut run = run_with(conversation());
    let output = vec![reasoning("rs_1"), message("a moment"), call("c1", "time", "{}"), call("c2", "weather", "{}")];
    assert_eq!(sent(&turn(&mut run, Some("resp_1"), output)), ["hi"]);
    run.tools_return(&["noon", "sunny"]);
    assert_eq!(sent(&turn(&mut run, Some("resp_2"), vec![call("c3", "time", "{}")])), ["c1 = noon", "c2 = sunny"]);
    run.tools_return(&["later"]);
    assert_eq!(sent(&run.prepare(setup())), ["c3 = later"]);
}

#[test]
fn a_chain_goes_on_from_the_latest_response_that_has_an_id() {
    let mut run = run_with(conversation());
    let mut previous = Vec::new();
    for (n, id) in [Some("resp_1"), None, Some("resp_3"), None].into_iter().enumerate() {
        previous.push(turn(&mut run, id, vec![call(&format!("c{n}"), "time", "{}")]).previous_response_id);
        run.tools_return(&["noon"]);
    }
    let resp = |n: &str| Some(format!("resp_{n}"));
    assert_eq!(previous, [None, resp("1"), resp("1"), resp("3")]);
}

#[test]
fn a_chain_may_begin_with_a_response_of_an_earlier_run() {
    let previous_response_id = Some("resp_0".to_owned());
    let mut run = run_with(ServerConversation { previous_response_id: previous_response_id.clone(), ..conversation() });
    assert_eq!(turn(&mut run, Some("resp_1"), vec![]).previous_response_id, previous_response_id);
}

#[test]
fn a_conversation_with_an_id_is_named_in_every_call_and_not_chained() {
    let conversation_id = Some("conv_1".to_owned());
    let mut run = run_with(ServerConversation { conversation_id: conversation_id.clone(), ..conversation() });
    for n in 0..2 {
        let call = turn(&mut run, Some("resp_1"), vec![call(&format!("c{n}"), "time", "{}")]);
        assert_eq!((call.conversation_id, call.previous_response_id), (conversation_id.clone(), None));
        run.tools_return(&["noon"]);
    }
}

#[test]
fn nothing_is_sent_when_nothing_was_made_here() {
    let mut run = run_with(conversation());
    turn(&mut run, Some("resp_1"), vec![item(json!({"type": "web_search_call", "id": "ws_1"}))]);
    assert_eq!(sent(&run.prepare(setup())), [""; 0]);
}

#[test]
fn the_next_agent_goes_on_with_the_conversation() {
    let mut run = run_with(conversation());
    let output = vec![call("h1", "transfer_to_refunds", "{}"), call("h2", "transfer_to_sales", "{}")];
    turn(&mut run, Some("resp_1"), output);
    run.hand_off();
    let call = run.prepare(setup());
    assert_eq!((&*call.agent, call.previous_response_id.as_deref()), ("refunds", Some("resp_1")));
    assert_eq!(
        sent(&call),
        ["h2 = Multiple handoffs detected, ignoring this one.", r#"h1 = {"assistant": "refunds"}"#]
    );
}

#[test]
fn after_a_pause_all_outputs_of_the_turn_are_sent() {
    let mut run = run_with(conversation());
    turn(&mut run, Some("resp_1"), vec![call("c1", "pay", "{}"), call("c2", "time", "{}")]);
    run.tools_come_to(vec![CallResult::NeedsApproval, CallResult::Output("noon".into())]);
    run.decide(&[("c1", Decision::reject())]);
    run.offer(&["pay", "time"]).unwrap();
    run.tools_return(&["not approved"]);
    let call = run.prepare(setup());
    assert_eq!(sent(&call), ["c2 = noon", "c1 = not approved"]);
    assert_eq!(call.previous_response_id.as_deref(), Some("resp_1"));
}
