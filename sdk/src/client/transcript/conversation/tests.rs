use temporal_agents_core::wire::Item;

use super::Conversation;

fn items(texts: &[&str]) -> Vec<Item> {
    texts.iter().map(|text| Item::user(*text)).collect()
}

/// Returns the new items of calls with these inputs and outputs.
fn new(calls: &[(&[&str], &[&str])]) -> Vec<Vec<String>> {
    let mut conversation = Conversation::default();
    let one = |(number, (input, output)): (usize, &(&[&str], &[&str]))| {
        let new = conversation.take(&number.to_string(), items(input), &items(output));
        new.iter().filter_map(Item::text).collect()
    };
    calls.iter().enumerate().map(one).collect()
}

#[test]
fn what_an_earlier_call_was_given_or_answered_is_not_new() {
    assert_eq!(
        new(&[(&["a"], &["b"]), (&["a", "b", "c"], &["d"]), (&["a", "b", "c", "d"], &[])]),
        [vec!["a"], vec!["c"], vec![]]
    );
}

#[test]
fn what_is_said_once_more_is_new() {
    assert_eq!(
        new(&[(&["yes"], &["no"]), (&["yes", "no", "yes"], &["no"]), (&["yes", "no", "yes", "no", "no"], &[])]),
        [["yes"], ["yes"], ["no"]]
    );
}

#[test]
fn what_a_filter_leaves_out_and_puts_back_is_not_new() {
    let calls: [(&[&str], &[&str]); 4] =
        [(&["a", "b"], &["c"]), (&["b", "c", "d"], &["e"]), (&["x", "a", "b"], &[]), (&["a", "b", "c", "d", "e"], &[])];
    assert_eq!(new(&calls), [vec!["a", "b"], vec!["d"], vec!["x"], vec![]]);
}
