use serde_json::json;

use super::*;

fn user(text: &str) -> Item {
    Item::user(text)
}

fn answer(id: &str) -> Item {
    Item::try_from(json!({"type": "message", "id": id, "role": "assistant", "content": "ok"})).expect("an object")
}

fn call(activity_id: &str, part: CallPart, start: u32, end: u32) -> InputSegment {
    InputSegment::Call { activity_id: activity_id.to_owned(), part, start, end }
}

fn items(items: &[Item]) -> InputSegment {
    InputSegment::Items { items: items.to_vec() }
}

/// A call with this input that was answered with this output; gives the segments it was sent as.
fn played(ledger: &mut Ledger, activity_id: &str, input: &[Item], output: &[Item]) -> Vec<InputSegment> {
    let folded = ledger.fold(input);
    assert_eq!(folded.conversation.digest, Digest::of_conversation(input), "{activity_id}");
    assert_eq!(usize::try_from(folded.conversation.count), Ok(input.len()), "{activity_id}");
    let segments = folded.conversation.segments.clone();
    ledger.answered(activity_id, &Definitions::default(), folded, output);
    segments
}

#[test]
fn each_item_of_a_growing_conversation_travels_once() {
    let mut ledger = Ledger::default();
    let (long, short) = ("x".repeat(300), "12 degrees");
    let first = [user("hi")];
    assert_eq!(played(&mut ledger, "1", &first, &[answer("a")]), [items(&first)]);

    ledger.returned("1-tool-0", "call_1", &ToolOutput::Text(long.clone()));
    ledger.returned("1-tool-1", "call_2", &ToolOutput::Text(short.to_owned()));
    let of_long = Item::function_call_output("call_1", long.into());
    let of_short = Item::function_call_output("call_2", short.into());
    let second = [user("hi"), answer("a"), of_long, of_short.clone()];
    let expected = [
        call("1", CallPart::Given, 0, 1),
        call("1", CallPart::Answered, 0, 1),
        InputSegment::ToolResult { activity_id: "1-tool-0".to_owned() },
        items(&[of_short]),
    ];
    assert_eq!(played(&mut ledger, "2", &second, &[answer("b"), answer("c")]), expected);

    let third: Vec<Item> = second.iter().cloned().chain([answer("b"), answer("c"), user("more")]).collect();
    let expected = [call("2", CallPart::Given, 0, 4), call("2", CallPart::Answered, 0, 2), items(&[user("more")])];
    assert_eq!(played(&mut ledger, "3", &third, &[]), expected);
}

#[test]
fn a_trimmed_conversation_refers_to_where_its_items_were() {
    let mut ledger = Ledger::default();
    let all: Vec<Item> = (0..6).map(|place| user(&format!("message {place}"))).collect();
    played(&mut ledger, "1", &all, &[answer("a")]);

    let trimmed: Vec<Item> = all[4..].iter().cloned().chain([answer("a")]).collect();
    let expected = [call("1", CallPart::Given, 4, 6), call("1", CallPart::Answered, 0, 1)];
    assert_eq!(played(&mut ledger, "2", &trimmed, &[]), expected);

    // What the latest call did not have is where it came up before.
    let restored: Vec<Item> = all.iter().cloned().chain([user("new")]).collect();
    assert_eq!(played(&mut ledger, "3", &restored, &[]), [call("1", CallPart::Given, 0, 6), items(&[user("new")]),]);
}

#[test]
fn items_in_front_leave_the_rest_where_it_is() {
    let mut ledger = Ledger::default();
    let all = [user("one"), user("two"), user("three")];
    played(&mut ledger, "1", &all, &[]);
    let input = [user("note"), user("one"), user("two"), user("three")];
    assert_eq!(ledger.fold(&input).conversation.segments, [items(&[user("note")]), call("1", CallPart::Given, 0, 3)]);
}

#[test]
fn an_item_with_its_members_in_another_order_travels_itself() {
    let mut ledger = Ledger::default();
    played(&mut ledger, "1", &[user("hi")], &[]);
    let turned = Item::try_from(json!({"content": "hi", "role": "user"})).expect("an object");
    assert_eq!(turned.digest(), user("hi").digest());
    let InputSegment::Items { items } = &ledger.fold(std::slice::from_ref(&turned)).conversation.segments[0] else {
        panic!("it is referred to")
    };
    assert_eq!(items[0].json(), turned.json());
}

#[test]
fn a_call_without_an_answer_is_never_referred_to() {
    let ledger = Ledger::default();
    drop(ledger.fold(&[user("hi")]));
    assert_eq!(ledger.fold(&[user("hi")]).conversation.segments, [items(&[user("hi")])]);
}

#[test]
fn definitions_travel_when_they_are_new() {
    let mut ledger = Ledger::default();
    let told = |text: &str| Definitions { instructions: Some(text.to_owned()), ..Definitions::default() };
    assert_eq!(ledger.define(&told("a")), DefinitionsPart::inline(told("a")));
    for (activity_id, text) in [("1", "a"), ("2", "b"), ("3", "a")] {
        let folded = ledger.fold(&[]);
        ledger.answered(activity_id, &told(text), folded, &[]);
    }
    let of = |activity_id: &str, text: &str| DefinitionsPart::Call {
        activity_id: activity_id.to_owned(),
        digest: told(text).digest(),
    };
    assert_eq!((ledger.define(&told("a")), ledger.define(&told("b"))), (of("1", "a"), of("2", "b")));
}
