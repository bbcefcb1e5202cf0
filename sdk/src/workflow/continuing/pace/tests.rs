use super::{ContinueOptions, Pace};

const MIB: usize = 1024 * 1024;

fn pace(events: u32, bytes: usize, suggested: bool, carried: usize) -> Pace {
    let all_bytes = bytes;
    Pace {
        events: Some((100, 100 + events)),
        suggested,
        bytes,
        all_bytes,
        carried,
        sent_again: 0,
        updates: 0,
        has_called_a_model: true,
    }
}

/// A patch function for cases in which the two rules agree: it must not be called.
fn never() -> bool {
    panic!("nobody is to ask")
}

#[test]
fn enough_is_so_many_new_events_or_bytes() {
    let options = ContinueOptions::default();
    assert!(!pace(9_999, 8 * MIB - 1, false, 0).is_enough(&options, never));
    assert!(pace(10_000, 0, false, 16 * MIB).is_enough(&options, never));
    assert!(pace(0, 8 * MIB, false, 16 * MIB).is_enough(&options, never));
}

#[test]
fn the_servers_suggestion_counts_once_there_is_as_much_new_as_was_carried() {
    let options = ContinueOptions::default();
    assert!(!pace(1_999, 3 * MIB - 1, true, 3 * MIB).is_enough(&options, never));
    assert!(pace(0, 3 * MIB, true, 3 * MIB).is_enough(&options, never));
    assert!(pace(2_000, 0, true, 3 * MIB).is_enough(&options, never));
    assert!(pace(12, 1_000, true, 0).is_enough(&options, never), "a history that was long before the run");
}

#[test]
fn nothing_is_enough_before_a_model_was_called() {
    let nothing = ContinueOptions::builder().new_events(0).new_bytes(0).build();
    assert!(!Pace { has_called_a_model: false, ..pace(20_000, 16 * MIB, true, 0) }.is_enough(&nothing, never));
    assert!(pace(0, 0, false, 0).is_enough(&nothing, never));
}

#[test]
fn what_only_the_second_rule_counts_is_enough_where_the_patch_says_so() {
    let options = ContinueOptions::default();
    let mut pace = pace(0, 8 * MIB - 2, false, 0);
    pace.add(1);
    assert!(!pace.is_enough(&options, never));
    pace.add_more(1);
    assert!(pace.is_enough(&options, || true));
    assert!(!pace.is_enough(&options, || false), "a history from before has gone on");
    pace.add(1);
    assert!(pace.is_enough(&options, never));
}

#[test]
fn the_servers_suggestion_counts_all_that_is_new() {
    let options = ContinueOptions::default();
    let mut pace = pace(12, 1_000, true, 3 * MIB);
    assert!(!pace.is_enough(&options, never));
    pace.add_more(3 * MIB);
    assert!(pace.is_enough(&options, || true));
    assert!(!pace.is_enough(&options, || false));
}

#[test]
fn a_state_that_is_sent_once_more_is_not_new() {
    let options = ContinueOptions::builder().new_bytes(1_000).build();
    let mut pace = Pace::after(5_000, 5_000);
    pace.model_call(0);
    pace.sent(5_900);
    assert!(!pace.is_enough(&options, never));
    pace.sent(100);
    assert!(pace.is_enough(&options, || true));
}

#[test]
fn so_many_updates_are_enough_whatever_history_holds() {
    let options = ContinueOptions::builder().max_new_updates(2).build();
    let mut pace = pace(0, 0, false, 0);
    pace.update();
    assert!(!pace.is_enough(&options, never));
    pace.update();
    assert!(pace.is_enough(&options, || true));
    assert!(!pace.is_enough(&options, || false));
}

#[test]
fn size_of_definitions_does_not_move_a_run() {
    let options = ContinueOptions::builder().new_bytes(8_000).build();
    let sent = |sizes: [usize; 2]| {
        let mut pace = pace(0, 0, false, 0);
        for bytes in sizes {
            pace.sent_definitions(bytes, 400_000, &options);
        }
        pace
    };
    assert_eq!(sent([1, 10]), sent([400_000, 30_000]));
    // Many are enough, and so are those that no request has room for.
    let mut pace = sent([1, 1]);
    for _ in 2..79 {
        pace.sent_definitions(1, 400_000, &options);
    }
    assert!(!pace.is_enough(&options, || true));
    pace.sent_definitions(1, 400_000, &options);
    assert!(pace.is_enough(&options, || true));
    assert!(sent([1, 400_001]).is_enough(&options, || true));
}
