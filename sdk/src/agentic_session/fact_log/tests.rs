use std::collections::BTreeMap;

use serde_json::{Value, json};
use temporal_agents_core::wire::{
    EventKind, Item, NewItem, NewItemKind, RunEvent, RunState, session_checkpoint::SessionRun,
    session_facts::SessionFacts,
};

use super::{FactLog, MAX_FACT_BYTES, make_room};

fn message(text: &str) -> Item {
    let content = json!([{"type": "output_text", "text": text}]);
    serde_json::from_value(json!({"type": "message", "role": "assistant", "content": content})).expect("an item")
}

fn event(number: usize, text: &str, time: &str) -> RunEvent {
    let mut event = RunEvent::new(EventKind::Message { text: text.to_owned(), item: message(text) });
    (event.id, event.run, event.time) = (format!("run/{number}"), "run".to_owned(), time.to_owned());
    event
}

fn state(items: &[&str]) -> RunState {
    let mut state = RunState::finished("desk", Vec::new());
    let made = |text: &&str| NewItem::new(NewItemKind::MessageOutput, "desk", message(text));
    state.items = items.iter().map(made).collect();
    state
}

/// A log of facts with texts of these sizes that are not in the state.
fn log(settled: &[usize], later: &[usize]) -> FactLog {
    let mut log = FactLog::new("run");
    let report = |log: &mut FactLog, sizes: &[usize]| {
        for (number, bytes) in sizes.iter().enumerate() {
            log.report(&mut event(number, &"x".repeat(*bytes), "t"));
        }
    };
    report(&mut log, settled);
    log.settle(None, &state(&[]), json!({}));
    report(&mut log, later);
    log
}

fn observed() -> Value {
    json!({"runs": {}, "order": []})
}

#[test]
fn the_oldest_settled_facts_give_way_to_each_other_and_not_to_later_ones() {
    let half = MAX_FACT_BYTES / 4;
    let mut logs = BTreeMap::from([(0, log(&[half, 10], &[])), (1, log(&[half], &[half, half]))]);
    make_room(&mut logs);
    let left = |logs: &BTreeMap<usize, FactLog>| -> Vec<(usize, usize, usize)> {
        logs.values().map(|log| (log.settled.facts.len(), log.settled.dropped, log.later.len())).collect()
    };
    // A message is in its event twice, as text and as item.
    assert_eq!(left(&logs), [(1, 1, 0), (1, 0, 2)]);
    let mut logs = BTreeMap::from([(0, log(&[1_000; 10], &[half]))]);
    make_room(&mut logs);
    assert_eq!(left(&logs), [(10, 0, 1)]);
}

#[test]
fn facts_survive_a_compaction_of_the_items_that_they_refer_to() {
    let mut log = FactLog::new("run");
    let mut reported = [event(0, "one", "t"), event(1, "two", "t")];
    for event in &mut reported {
        log.report(event);
    }
    let before = state(&["one", "two"]);
    log.settle(None, &before, observed());
    assert_eq!(log.settled.facts[1].get("item_at"), Some(&json!(1)));
    let after = state(&["two"]);
    log.settle(Some(&before), &after, observed());
    let places = log.settled.facts.iter().map(|fact| fact.get("item_at").cloned());
    assert_eq!(places.collect::<Vec<_>>(), [None, Some(json!(0))]);
    assert_eq!(log.events(Some(&after)), reported);
}

#[test]
fn the_next_attempt_reports_later_facts_in_their_place_and_with_their_time() {
    let state = state(&["one"]);
    let mut first = FactLog::new("run");
    first.report(&mut event(0, "one", "1"));
    first.settle(None, &state, observed());
    for number in [1, 2, 3] {
        first.report(&mut event(number, "later", &format!("{}", number + 1)));
    }
    let facts = Some(first.written());
    let earlier = SessionRun { facts, state: Some(Box::new(state.clone())), ..SessionRun::default() };
    let (mut second, _) = FactLog::read(&earlier, "run").expect("a log");
    assert_eq!(second.events(Some(&state)), first.events(Some(&state)), "nothing vanishes meanwhile");
    second.report(&mut event(3, "later", "9"));
    second.report(&mut event(1, "another answer", "9"));
    second.report(&mut event(4, "new", "9"));
    let seen = |log: &FactLog| -> Vec<String> {
        log.events(Some(&state)).iter().map(|event| format!("{} {}", event.id, event.time)).collect()
    };
    assert_eq!(seen(&second), ["run/0 1", "run/1 2", "run/2 3", "run/3 4", "run/4 9"]);
    // What this attempt has not reported has not happened.
    second.settle(Some(&state), &state, observed());
    assert_eq!(seen(&second), ["run/0 1", "run/1 2", "run/3 4", "run/4 9"]);
}

#[test]
fn a_failure_that_may_pass_is_not_written_until_it_is_settled() {
    let mut log = FactLog::new("run");
    let failed = json!({"kind": "model_call_failed", "attempts": 3, "failure": {"type": "t", "message": "m"}});
    let mut failed = RunEvent::new(serde_json::from_value(failed).expect("a kind"));
    failed.id = "run/1-model/failed".to_owned();
    log.report(&mut failed);
    assert_eq!((log.written().facts.len(), log.events(None).len()), (0, 0));
    log.settle(None, &state(&[]), observed());
    assert_eq!((log.written().facts.len(), log.events(None).len()), (1, 1));
}

#[test]
fn forged_facts_are_not_continued() {
    let forged = |settled: usize, observed: Value| SessionRun {
        state: Some(Box::new(state(&[]))),
        facts: Some(SessionFacts { run: "run".to_owned(), settled, observed, ..SessionFacts::default() }),
        ..SessionRun::default()
    };
    assert!(FactLog::read(&forged(usize::MAX, observed()), "run").is_some(), "there are no facts to count");
    assert!(FactLog::read(&forged(0, observed()), "another").is_none());
    for observed in [json!({"runs": {}, "order": ["x"]}), json!({"order": 7}), json!("x")] {
        assert!(FactLog::read(&forged(0, observed), "run").is_none());
    }
}
