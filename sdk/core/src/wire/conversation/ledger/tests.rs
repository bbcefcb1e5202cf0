use serde_json::json;

use super::*;
use crate::wire::{OutputSpec, conversation::InputSegment};

fn user(text: &str) -> Item {
    Item::user(text)
}

fn answer(id: &str) -> Item {
    Item::try_from(json!({"type": "message", "id": id, "role": "assistant", "content": "ok"})).expect("an object")
}

fn call(activity_id: &str, start: u32, end: u32) -> InputSegment {
    with_results(activity_id, start, end, 0)
}

fn with_results(activity_id: &str, start: u32, end: u32, results: u32) -> InputSegment {
    InputSegment::Call { activity_id: activity_id.to_owned(), part: None, start, end, results }
}

fn items(items: &[Item]) -> InputSegment {
    InputSegment::Items { items: items.to_vec() }
}

fn fold(ledger: &Ledger, input: &[Item]) -> Folded {
    ledger.fold("run", &Definitions::default(), input)
}

/// Plays a call with this input and this output; returns the segments in which it was sent.
fn played(ledger: &mut Ledger, activity_id: &str, input: &[Item], output: &[Item]) -> Vec<InputSegment> {
    played_in(ledger, "run", activity_id, input, output)
}

fn played_in(
    ledger: &mut Ledger,
    chain: &str,
    activity_id: &str,
    input: &[Item],
    output: &[Item],
) -> Vec<InputSegment> {
    let folded = ledger.fold(chain, &Definitions::default(), input);
    assert_eq!(folded.conversation.digest, Digest::of_conversation(input), "{activity_id}");
    assert_eq!(usize::try_from(folded.conversation.count), Ok(input.len()), "{activity_id}");
    let segments = folded.conversation.segments.clone();
    ledger.answered(chain, activity_id, folded.noted, output);
    segments
}

#[test]
fn each_item_of_a_growing_conversation_travels_once() {
    let mut ledger = Ledger::default();
    let (long, short) = ("x".repeat(300), "12 degrees");
    let first = [user("hi")];
    assert_eq!(played(&mut ledger, "1-model", &first, &[answer("a")]), [items(&first)]);

    ledger.returned("1-tool-0", "call_1", &ToolOutput::Text(long.clone()));
    ledger.returned("1-tool-1", "call_2", &ToolOutput::Text(short.to_owned()));
    let of_long = Item::function_call_output("call_1", long.into());
    let of_short = Item::function_call_output("call_2", short.into());
    let second = [user("hi"), answer("a"), of_long, of_short.clone()];
    let expected = [with_results("1-model", 0, 2, 1), items(&[of_short])];
    assert_eq!(played(&mut ledger, "2", &second, &[answer("b"), answer("c")]), expected);

    let third: Vec<Item> = second.iter().cloned().chain([answer("b"), answer("c"), user("more")]).collect();
    let expected = [call("2", 0, 6), items(&[user("more")])];
    assert_eq!(played(&mut ledger, "3", &third, &[]), expected);
}

#[test]
fn a_trimmed_conversation_refers_to_where_its_items_were() {
    let mut ledger = Ledger::default();
    let all: Vec<Item> = (0..6).map(|place| user(&format!("message {place}"))).collect();
    played(&mut ledger, "1", &all, &[answer("a")]);

    let trimmed: Vec<Item> = all[4..].iter().cloned().chain([answer("a")]).collect();
    let expected = [call("1", 4, 7)];
    assert_eq!(played(&mut ledger, "2", &trimmed, &[]), expected);

    // Items that the latest call did not have are referred to at their earlier place.
    let restored: Vec<Item> = all.iter().cloned().chain([user("new")]).collect();
    assert_eq!(played(&mut ledger, "3", &restored, &[]), [call("1", 0, 6), items(&[user("new")]),]);
}

#[test]
fn items_in_front_leave_the_rest_where_it_is() {
    let mut ledger = Ledger::default();
    let all = [user("one"), user("two"), user("three")];
    played(&mut ledger, "1", &all, &[]);
    let input = [user("note"), user("one"), user("two"), user("three")];
    assert_eq!(fold(&ledger, &input).conversation.segments, [items(&[user("note")]), call("1", 0, 3)]);
}

#[test]
fn an_item_with_its_members_in_another_order_travels_itself() {
    let mut ledger = Ledger::default();
    played(&mut ledger, "1", &[user("hi")], &[]);
    let turned = Item::try_from(json!({"content": "hi", "role": "user"})).expect("an object");
    assert_eq!(turned.digest(), user("hi").digest());
    let InputSegment::Items { items } = &fold(&ledger, std::slice::from_ref(&turned)).conversation.segments[0] else {
        panic!("it is referred to")
    };
    assert_eq!(items[0].json(), turned.json());
}

#[test]
fn a_call_without_an_answer_is_never_referred_to() {
    let ledger = Ledger::default();
    drop(fold(&ledger, &[user("hi")]));
    assert_eq!(fold(&ledger, &[user("hi")]).conversation.segments, [items(&[user("hi")])]);
}

#[test]
fn definitions_travel_when_they_are_new() {
    let mut ledger = Ledger::default();
    let told = |text: &str| Definitions { instructions: Some(text.to_owned()), ..Definitions::default() };
    let sent = |ledger: &Ledger, text: &str| ledger.fold("run", &told(text), &[]).definitions;
    assert_eq!(sent(&ledger, "a"), DefinitionsPart::inline(told("a")));
    for (activity_id, text) in [("1", "a"), ("2", "b"), ("3", "a")] {
        let folded = ledger.fold("run", &told(text), &[]);
        ledger.answered("run", activity_id, folded.noted, &[]);
    }
    let of = |activity_id: &str, text: &str| DefinitionsPart::Call {
        activity_id: activity_id.to_owned(),
        digest: told(text).digest(),
    };
    assert_eq!((sent(&ledger, "a"), sent(&ledger, "b")), (of("1", "a"), of("2", "b")));

    ledger.forget_definitions();
    assert_eq!(sent(&ledger, "a"), DefinitionsPart::inline(told("a")), "they travel again");
}

#[test]
fn a_run_goes_on_with_what_the_runs_before_recorded() {
    let mut ledger = Ledger::default();
    let first = [user("hi"), user("who are you?")];
    played_in(&mut ledger, "one", "one-1", &first, &[answer("a")]);
    played_in(&mut ledger, "other", "other-1", &[user("hi")], &[answer("b")]);

    let second = [first[0].clone(), first[1].clone(), answer("a"), user("and you?")];
    let expected = [call("one-1", 0, 3), items(&[user("and you?")])];
    assert_eq!(played_in(&mut ledger, "two", "two-1", &second, &[]), expected);
}

#[test]
fn conversations_side_by_side_keep_apart_and_share_what_they_have_in_common() {
    let mut ledger = Ledger::default();
    let document = user("a long document");
    let (left, right) = (ledger.fold("left", &Definitions::default(), std::slice::from_ref(&document)), {
        let input = [document.clone(), user("in French")];
        ledger.fold("right", &Definitions::default(), &input)
    });
    ledger.answered("right", "right-1", right.noted, &[answer("r")]);
    ledger.answered("left", "left-1", left.noted, &[answer("l")]);
    let next = played_in(&mut ledger, "left", "left-2", &[document.clone(), answer("l")], &[]);
    assert_eq!(next, [call("left-1", 0, 2)]);
    let next = played_in(&mut ledger, "right", "right-2", &[document, user("in French"), answer("r")], &[]);
    assert_eq!(next, [call("right-1", 0, 3)]);
}

#[test]
fn items_that_were_recorded_by_themselves_are_referred_to() {
    let mut ledger = Ledger::default();
    let all: Vec<Item> = (0..4).map(|place| user(&format!("message {place}"))).collect();
    ledger.recorded("1-items-0", &all[..2]);
    ledger.recorded("1-items-1", &all[2..]);
    let recorded = |activity_id: &str| InputSegment::Recorded { activity_id: activity_id.to_owned(), start: 0, end: 2 };
    assert_eq!(played(&mut ledger, "1", &all, &[]), [recorded("1-items-0"), recorded("1-items-1")]);
    assert_eq!(played(&mut ledger, "2", &all, &[]), [call("1", 0, 4)]);
}

#[test]
fn what_was_sent_alone_is_taken_over_and_the_rest_stays() {
    let mut ledger = Ledger::default();
    played_in(&mut ledger, "lost", "lost-1-model", &[user("old")], &[]);
    played_in(&mut ledger, "other", "other-1-model", &[user("hi")], &[answer("a")]);
    let mut alone = Ledger::default();
    played_in(&mut alone, "lost", "lost-2-model-full", &[user("old"), user("new")], &[]);
    ledger.take_over(alone);

    assert!(ledger.holds(&user("new")) && !ledger.holds(&user("never said")));
    let next = played_in(&mut ledger, "lost", "lost-3-model", &[user("old"), user("new")], &[]);
    assert_eq!(next, [call("lost-2-model-full", 0, 2)]);
    let next = played_in(&mut ledger, "other", "other-2-model", &[user("hi"), answer("a")], &[]);
    assert_eq!(next, [call("other-1-model", 0, 2)]);
}

#[test]
fn a_result_is_where_the_same_call_returned_the_same_text_last() {
    let mut ledger = Ledger::default();
    played(&mut ledger, "1", &[user("hi")], &[]);
    let (one, other) = ("1".repeat(300), "2".repeat(300));
    for (activity_id, call_id, text) in [("a", "call_1", &one), ("b", "call_1", &other), ("c", "call_2", &one)] {
        ledger.returned(activity_id, call_id, &ToolOutput::Text(text.clone()));
    }
    ledger.returned("d", "call_1", &ToolOutput::Text(one.clone()));

    let of = |call_id: &str, text: &str| Item::function_call_output(call_id, text.into());
    let reordered = Item::try_from(json!({"output": one, "call_id": "call_1", "type": "function_call_output"}));
    let reordered = reordered.expect("an object");
    let input = [of("call_1", &one), of("call_1", &other), of("call_2", &one), of("call_2", &other), reordered.clone()];
    let result = |activity_id: &str| InputSegment::ToolResult { activity_id: activity_id.to_owned() };
    let expected = [result("d"), result("b"), result("c"), items(&[of("call_2", &other), reordered])];
    assert_eq!(fold(&ledger, &input).conversation.segments, expected);
    assert!(ledger.holds(&of("call_1", &one)) && !ledger.holds(&of("call_2", &other)));
}

#[test]
fn a_ledger_at_rest_refers_to_definitions_as_before() {
    let mut ledger = Ledger::default();
    let of_schema = |schema: &str| {
        let schema = serde_json::from_str(schema).expect("a schema");
        let output = OutputSpec { name: "out".to_owned(), schema, strict: true };
        Definitions { instructions: Some("You answer.".to_owned()), output: Some(output), ..Definitions::default() }
    };
    let (one, other) = (of_schema(r#"{"a": 1, "b": 2}"#), of_schema(r#"{"b": 2, "a": 1}"#));
    let send = |ledger: &mut Ledger, activity_id: &str, definitions: &Definitions| {
        let folded = ledger.fold("run", definitions, &[]);
        let sent = folded.definitions.clone();
        ledger.answered("run", activity_id, folded.noted, &[]);
        sent
    };
    let call =
        |definitions: &Definitions| DefinitionsPart::Call { activity_id: "1".to_owned(), digest: definitions.digest() };
    assert_eq!(send(&mut ledger, "1", &one), DefinitionsPart::inline(one.clone()));
    ledger.rest();
    assert!(ledger.defined(&other).is_none(), "another order of members is another text");
    // At rest, woken by the call before, and at rest again.
    for activity_id in ["2", "3"] {
        assert_eq!(send(&mut ledger, activity_id, &one), call(&one));
    }
    ledger.rest();
    assert_eq!(send(&mut ledger, "4", &one), call(&one));
    assert_eq!(send(&mut ledger, "5", &other), DefinitionsPart::inline(other.clone()));
    assert_eq!(ledger.definitions.len(), 2);
}

#[test]
fn a_chat_keeps_one_conversation_however_many_runs_it_had() {
    let (mut resting, mut awake) = (Ledger::default(), Ledger::default());
    let mut said = Vec::new();
    for number in 0..20 {
        said.push(user(&format!("message {number}")));
        let (run, id, output) = (format!("run-{number}"), format!("{number}-model"), answer(&format!("a{number}")));
        let sent = played_in(&mut resting, &run, &id, &said, std::slice::from_ref(&output));
        assert_eq!(sent, played_in(&mut awake, &run, &id, &said, std::slice::from_ref(&output)), "message {number}");
        said.push(output);
        resting.rest_between_runs();
        assert_eq!(resting.chains.len(), 1);
    }
    assert_eq!(awake.chains.len(), 20);
    // A run that begins otherwise is kept, and so is the one that it does not continue.
    played_in(&mut resting, "other", "other-model", &[user("hi")], &[answer("b")]);
    resting.rest_between_runs();
    assert_eq!(resting.chains.len(), 2);
}
