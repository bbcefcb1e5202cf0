//! The input of the next agent after a handoff that changes the conversation.

use super::*;
use crate::{agent::HandoffInputFilter, wire::run_state::Rewritten};

fn to_refunds(call_id: &str) -> Item {
    call(call_id, "transfer_to_refunds", "{}")
}

/// A run with one turn of tools and one that hands off, with the input of the filter.
fn handing_off() -> (ByHand, HandoffInputData) {
    let mut run = ByHand::start();
    run.turn(setup(), vec![reasoning("rs_1"), call("c1", "time", "{}")]).unwrap();
    run.tools_return(&["noon"]);
    run.turn(setup(), vec![message("one moment"), to_refunds("h1")]).unwrap();
    let data = data(&mut run);
    (run, data)
}

/// Takes the due handoff and returns the input of a filter.
fn data(run: &mut ByHand) -> HandoffInputData {
    run.resolve(Resolution::HandedOff).unwrap();
    let Step::Rewrite { data, .. } = run.next() else { panic!("no rewrite is due, but {:?}", run.next()) };
    *data
}

fn rewrite(run: &mut ByHand, data: HandoffInputData) {
    run.resolve(Resolution::Rewritten(Some(Box::new(data)))).unwrap();
}

fn contents(items: &[NewItem]) -> Vec<String> {
    items.iter().map(|item| content(&item.raw)).collect()
}

fn sent(run: &mut ByHand) -> Vec<String> {
    run.prepare(setup()).input.iter().map(content).collect()
}

const TURN: [&str; 3] = ["one moment", "h1", r#"h1 = {"assistant": "refunds"}"#];

#[test]
fn a_filter_is_given_the_input_what_happened_before_the_turn_and_the_turn() {
    let (run, data) = handing_off();
    assert_eq!(data.input_history, [Item::user("hi")]);
    assert_eq!(contents(&data.pre_handoff_items), ["reasoning", "c1", "c1 = noon"]);
    assert_eq!(contents(&data.new_items), TURN);
    assert_eq!(data.input_items, None);
    let Step::Rewrite { source, handoff, .. } = run.next() else { panic!("{:?}", run.next()) };
    assert_eq!((&*source, &*handoff.tool_name), ("triage", "transfer_to_refunds"));
}

#[test]
fn without_a_filter_the_next_agent_sees_everything() {
    let (mut run, _) = handing_off();
    run.resolve(Resolution::Rewritten(None)).unwrap();
    assert_eq!(run.engine.state().rewritten, None);
    assert_eq!(sent(&mut run).len(), 7);
}

#[test]
fn an_unchanged_conversation_is_sent_as_it_was() {
    let (mut run, data) = handing_off();
    rewrite(&mut run, data);
    assert_eq!(sent(&mut run), ["hi", "reasoning", "c1", "c1 = noon", "one moment", "h1", TURN[2]]);
}

#[test]
fn new_items_that_a_filter_drops_are_no_items_of_the_run_and_earlier_ones_stay() {
    let (mut run, mut data) = handing_off();
    data.input_history = vec![Item::user("again")];
    data.pre_handoff_items.clear();
    data.new_items.truncate(1);
    rewrite(&mut run, data);
    assert_eq!(contents(&run.engine.state().items), ["reasoning", "c1", "c1 = noon", "one moment"]);
    assert_eq!(sent(&mut run), ["again", "one moment"]);
}

#[test]
fn input_items_are_for_the_model_alone() {
    let (mut run, mut data) = handing_off();
    data.input_items = Some(vec![]);
    rewrite(&mut run, data.clone());
    assert_eq!(contents(&run.engine.state().items)[3..], TURN);
    assert_eq!(
        run.engine.state().rewritten,
        Some(Rewritten { items: data.pre_handoff_items, stands_for: 6, in_input: vec![] })
    );
    assert_eq!(sent(&mut run), ["hi", "reasoning", "c1", "c1 = noon"]);
}

#[test]
fn calls_whose_output_a_filter_dropped_are_not_sent_nor_their_reasoning() {
    let (mut run, mut data) = handing_off();
    data.pre_handoff_items.pop();
    data.new_items.pop();
    rewrite(&mut run, data);
    assert_eq!(sent(&mut run), ["hi", "one moment"]);
}

#[test]
fn a_rewritten_conversation_is_what_later_turns_and_handoffs_begin_with() {
    let (mut run, mut data_of_first) = handing_off();
    data_of_first.input_history = vec![Item::user("in short")];
    data_of_first.pre_handoff_items.clear();
    data_of_first.input_items = Some(vec![]);
    rewrite(&mut run, data_of_first);
    run.turn(setup(), vec![call("c2", "weather", "{}")]).unwrap();
    run.tools_return(&["sunny"]);
    let call = run.turn(setup(), vec![call("h2", "transfer_to_sales", "{}")]).unwrap();
    assert_eq!(call.input.iter().map(content).collect::<Vec<_>>(), ["in short", "c2", "c2 = sunny"]);

    let second = data(&mut run);
    assert_eq!(second.input_history, [Item::user("in short")]);
    assert_eq!(contents(&second.pre_handoff_items), ["c2", "c2 = sunny"]);
    assert_eq!(contents(&second.new_items), ["h2", r#"h2 = {"assistant": "sales"}"#]);
    run.resolve(Resolution::Rewritten(None)).unwrap();
    assert_eq!(sent(&mut run), ["in short", "c2", "c2 = sunny", "h2", r#"h2 = {"assistant": "sales"}"#]);
}

#[test]
fn messages_that_a_summary_leaves_word_for_word_are_known_by_their_place() {
    let (mut run, data) = handing_off();
    let nested = HandoffInputFilter::nest_history().apply(data);
    rewrite(&mut run, nested);
    let rewritten = run.engine.state().rewritten.clone().unwrap();
    assert_eq!(rewritten, Rewritten { items: vec![], stands_for: 6, in_input: vec![3] });
    assert_eq!(contents(&run.engine.state().items).len(), 6, "the run keeps all its items");
    assert_eq!(run.engine.state().input[1], message("one moment"));
}

#[test]
fn a_second_summary_takes_the_first_one_apart() {
    let (mut run, data_of_first) = handing_off();
    rewrite(&mut run, HandoffInputFilter::nest_history().apply(data_of_first));
    run.turn(setup(), vec![item(json!({"type": "web_search_call", "id": "ws_1", "status": "completed"}))]).unwrap();
    run.turn(setup(), vec![call("h2", "transfer_to_sales", "{}"), message("over to sales")]).unwrap();
    let data_of_second = data(&mut run);
    rewrite(&mut run, HandoffInputFilter::nest_history().apply(data_of_second));
    let in_input = run.engine.state().rewritten.clone().unwrap().in_input;
    let places: Vec<String> = in_input.iter().map(|place| line(&run.engine.state().items[*place])).collect();
    assert_eq!(
        places,
        ["refunds: tool_call_item web_search_call", "refunds: message_output_item over to sales"],
        "the message of the first handoff is part of the summary now"
    );
}

#[test]
fn after_a_pause_the_turn_is_what_has_happened_since_and_placeholders_are_no_part_of_it() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![message("one moment"), call("c1", "pay", "{}"), to_refunds("h1")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval]);
    run.decide(&[("c1", Decision::approve())]);
    run.offer(&["pay"]).unwrap();
    run.tools_return(&["paid"]);
    let data = data(&mut run);
    assert_eq!(contents(&data.pre_handoff_items), ["one moment", "c1", "h1"]);
    assert_eq!(contents(&data.new_items), ["c1 = paid", TURN[2]]);
}
