use super::*;

fn key(run_id: &str) -> RunKey {
    RunKey { namespace: "default".to_owned(), workflow_id: "reading".to_owned(), run_id: run_id.to_owned() }
}

fn given(activity_id: &str, start: usize, end: usize) -> Reference {
    Reference::Call { activity_id: activity_id.to_owned(), part: Some(CallPart::Given), start, end }
}

fn texts(count: usize) -> Vec<Item> {
    (0..count).map(|place| Item::user(format!("{place:0>100}"))).collect()
}

#[test]
fn what_a_call_was_given_and_answered_is_found_by_its_place() {
    let mut cache = Cache::new(1 << 20);
    let (items, answer) = (texts(3), [Item::assistant("yes")]);
    cache.given(&key("1"), "a", &items, None);
    cache.answered(&key("1"), "a", &answer);
    let answered = Reference::Call { activity_id: "a".to_owned(), part: Some(CallPart::Answered), start: 0, end: 1 };
    assert_eq!(cache.items(&key("1"), &given("a", 1, 3)), Some(items[1..].to_vec()));
    assert_eq!(cache.items(&key("1"), &answered), Some(answer.to_vec()));
    assert_eq!(cache.items(&key("1"), &given("a", 1, 4)), None, "more than there is");
    assert_eq!(cache.items(&key("2"), &given("a", 1, 3)), None, "another run");
}

#[test]
fn shared_items_are_counted_once() {
    let mut cache = Cache::new(1 << 20);
    let items = texts(10);
    cache.given(&key("1"), "a", &items, None);
    let once = cache.bytes;
    cache.given(&key("1"), "b", &items, None);
    assert_eq!(cache.bytes - once, 10 * size_of::<Item>());
}

#[test]
fn a_call_that_another_one_goes_on_with_is_kept_until_that_one_is_answered() {
    let mut cache = Cache::new(1 << 20);
    let items = texts(3);
    let [first, second, of_another] = ["run-1-model", "run-2-model", "other-1-model"];
    cache.given(&key("1"), first, &items[..2], None);
    cache.given(&key("1"), of_another, &items, Some(first.to_owned()));
    cache.answered(&key("1"), of_another, &[]);
    assert!(cache.items(&key("1"), &given(first, 0, 2)).is_some(), "another conversation began with it");

    cache.given(&key("1"), second, &items, Some(first.to_owned()));
    assert!(cache.items(&key("1"), &given(first, 0, 2)).is_some(), "another attempt refers to it");
    cache.answered(&key("1"), second, &[]);
    assert_eq!(cache.items(&key("1"), &given(first, 0, 2)), None);
    assert_eq!(cache.items(&key("1"), &given(second, 0, 3)), Some(items));
}

#[test]
fn a_run_that_does_not_fit_leaves_the_others_alone() {
    let mut cache = Cache::new(4_000);
    cache.given(&key("1"), "a", &texts(8), None);
    cache.given(&key("2"), "a", &texts(80), None);
    assert!(cache.items(&key("1"), &given("a", 0, 8)).is_some());
    assert_eq!(cache.items(&key("2"), &given("a", 0, 1)), None);
    assert_eq!(cache.order.len(), cache.runs.len());
}

#[test]
fn a_call_that_is_forgotten_gives_its_bytes_back() {
    let mut cache = Cache::new(1 << 20);
    let items = texts(4);
    for call in 0..=CALLS {
        cache.given(&key("1"), &format!("call {call}"), &items[..=(call % 2)], None);
    }
    assert_eq!(cache.items(&key("1"), &given("call 0", 0, 1)), None);
    cache.forget(&key("1"));
    assert_eq!((cache.bytes, cache.runs.len()), (0, 0));
}

#[test]
fn the_run_that_was_not_used_for_longest_makes_room() {
    let mut cache = Cache::new(4_000);
    for run in ["1", "2", "3"] {
        cache.given(&key(run), "a", &texts(8), None);
    }
    assert!(cache.bytes <= 4_000, "{}", cache.bytes);
    assert_eq!(cache.items(&key("1"), &given("a", 0, 1)), None);
    assert!(cache.items(&key("3"), &given("a", 0, 1)).is_some());
}

#[test]
fn a_cache_of_no_bytes_remembers_nothing() {
    let mut cache = Cache::new(0);
    cache.given(&key("1"), "a", &texts(1), None);
    assert_eq!(cache.items(&key("1"), &given("a", 0, 1)), None);
}
