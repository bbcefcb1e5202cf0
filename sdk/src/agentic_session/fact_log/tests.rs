use serde_json::{Map, Value, json};

use super::{MAX_FACT_BYTES, kept_facts, make_room, settle};
use crate::wire::{
    EventKind, Item, NewItem, NewItemKind, RunEvent, RunState, session_checkpoint::SessionRun,
    session_facts::SessionFacts, size::encoded_len,
};

fn fact(number: usize, bytes: usize) -> Map<String, Value> {
    let fact =
        json!({"id": format!("/{number}"), "time": "t", "kind": "message", "text": "x".repeat(bytes), "item": {}});
    fact.as_object().expect("an object").clone()
}

fn run(sizes: &[usize], settled: usize) -> SessionRun {
    let facts = sizes.iter().enumerate().map(|(number, bytes)| fact(number, *bytes)).collect();
    let facts = SessionFacts { run: "run".to_owned(), facts, settled, ..SessionFacts::default() };
    SessionRun { facts: Some(facts), ..SessionRun::default() }
}

#[test]
fn the_oldest_settled_facts_give_way() {
    let half = MAX_FACT_BYTES / 2;
    let mut runs = vec![run(&[half, 10, 10], 3), run(&[half, 10], 1), run(&[half, half], 0)];
    make_room(&mut runs);
    let left: Vec<(usize, usize, usize)> = runs
        .iter()
        .map(|run| run.facts.as_ref().map(|facts| (facts.facts.len(), facts.settled, facts.dropped)).expect("kept"))
        .collect();
    // What is not settled stays: the next attempt reports it again, and until then nobody knows it.
    assert_eq!(left, [(0, 0, 3), (1, 0, 1), (2, 0, 0)]);
    let total: usize = runs[..2].iter().map(|run| encoded_len(&run.facts).expect("JSON")).sum();
    assert!(total < 1_000, "{total}");
}

#[test]
fn facts_that_fit_stay() {
    let mut runs = vec![run(&[1_000; 10], 10), run(&[1_000; 10], 10)];
    let before = runs.clone();
    make_room(&mut runs);
    assert_eq!(runs, before);
}

fn message(text: &str) -> Item {
    let content = json!([{"type": "output_text", "text": text}]);
    serde_json::from_value(json!({"type": "message", "role": "assistant", "content": content})).expect("an item")
}

fn state(items: &[&str]) -> RunState {
    let mut state = RunState::finished("desk", Vec::new());
    let made = |text: &&str| NewItem::new(NewItemKind::MessageOutput, "desk", message(text));
    state.items = items.iter().map(made).collect();
    state
}

#[test]
fn facts_survive_a_compaction_of_the_items_that_they_refer_to() {
    let mut facts = SessionFacts { run: "run".to_owned(), ..SessionFacts::default() };
    let mut told = Vec::new();
    for (number, text) in ["one", "two"].into_iter().enumerate() {
        let mut event = RunEvent::new(EventKind::Message { text: text.to_owned(), item: message(text) });
        (event.id, event.run) = (format!("run/{number}"), "run".to_owned());
        facts.facts.push(crate::events::shortened(&event, "run", None));
        told.push(event);
    }
    let long = state(&["one", "two"]);
    settle(&mut facts, None, &long, Value::Null);
    assert_eq!(facts.facts[1].get("item_at"), Some(&json!(1)));
    let short = state(&["two"]);
    settle(&mut facts, Some(&long), &short, Value::Null);
    assert_eq!((facts.facts[0].get("item_at"), facts.facts[1].get("item_at")), (None, Some(&json!(0))));
    let run = SessionRun { facts: Some(facts), state: Some(Box::new(short)), ..SessionRun::default() };
    assert_eq!(kept_facts(&run), told);
}
