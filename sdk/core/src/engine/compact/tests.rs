use serde_json::{Value, json};

use super::{check_pairs, cuts, json_len_of, start_of_newest};
use crate::wire::{Item, NewItem, NewItemKind};

fn item(raw: Value) -> NewItem {
    let raw = Item::try_from(raw).expect("an object");
    NewItem { kind: NewItemKind::Unknown, agent: "a".to_owned(), raw, handoff: None, side_data: None }
}

fn call(id: &str) -> NewItem {
    item(json!({"type": "function_call", "call_id": id}))
}

fn output(id: &str) -> NewItem {
    item(json!({"type": "function_call_output", "call_id": id}))
}

fn reasoning() -> NewItem {
    item(json!({"type": "reasoning"}))
}

fn said() -> NewItem {
    item(json!({"type": "message", "role": "assistant"}))
}

#[test]
fn calls_stay_with_their_outputs_and_reasoning_with_what_it_led_to() {
    let items = [said(), reasoning(), call("1"), call("2"), output("1"), output("2"), said(), reasoning(), said()];
    assert_eq!(cuts(&items), [true, true, false, false, false, false, true, true, false]);
}

#[test]
fn an_id_that_is_used_again_does_not_glue_turns_together() {
    let items = [call("0"), output("0"), call("0"), output("0")];
    assert_eq!(cuts(&items), [true, false, true, false]);
}

#[test]
fn the_newest_items_that_fit_are_kept_and_at_least_what_belongs_together() {
    let items = [call("1"), output("1"), call("2"), output("2"), call("3"), output("3")];
    let turn = json_len_of(&items[..2]);
    assert_eq!(start_of_newest(&items, 3 * turn), 0);
    assert_eq!(start_of_newest(&items, 3 * turn - 1), 2);
    assert_eq!(start_of_newest(&items, 2 * turn - 1), 4);
    assert_eq!(start_of_newest(&items, 1), 4);
    assert_eq!(start_of_newest(&[], 1), 0);
}

#[test]
fn what_is_torn_apart_is_found_but_not_what_was_so_before() {
    let before = [call("0"), call("1"), output("1"), reasoning(), said()];
    assert_eq!(check_pairs(&before, &before), Ok(()));
    assert_eq!(check_pairs(&before, &before[..3]), Ok(()));
    assert_eq!(
        check_pairs(&before, &before[2..]),
        Err("the output of call \"1\" is separated from its call".to_owned())
    );
    assert_eq!(check_pairs(&before, &before[..2]), Err("call \"1\" is separated from its output".to_owned()));
    assert_eq!(
        check_pairs(&before, &before[..4]),
        Err("reasoning is separated from the item that it led to".to_owned())
    );
}

#[test]
fn reasoning_in_the_middle_stays_with_what_it_led_to() {
    let thought = |id: &str| item(json!({"type": "reasoning", "id": id}));
    let before = [thought("a"), call("1"), output("1"), thought("b"), call("2"), output("2"), said()];
    let keep = |kept: &[usize]| kept.iter().map(|place| before[*place].clone()).collect::<Vec<_>>();
    assert_eq!(check_pairs(&before, &keep(&[0, 1, 2, 6])), Ok(()));
    assert_eq!(check_pairs(&before, &keep(&[3, 4, 5])), Ok(()));
    assert_eq!(
        check_pairs(&before, &keep(&[0, 3, 4, 5])),
        Err("reasoning is separated from the item that it led to".to_owned())
    );
    assert_eq!(
        check_pairs(&before, &keep(&[0, 4, 5])),
        Err("reasoning is separated from the item that it led to".to_owned())
    );
    let lost = "function_call \"2\" is separated from the reasoning that led to it".to_owned();
    assert_eq!(check_pairs(&before, &keep(&[0, 1, 2, 4, 5])), Err(lost));
}
