use super::{ContinueOptions, Pace};

const MIB: usize = 1024 * 1024;

fn pace(events: u32, bytes: usize, suggested: bool, carried: usize) -> Pace {
    Pace { events: Some((100, 100 + events)), suggested, bytes, carried, has_called_a_model: true }
}

#[test]
fn enough_is_so_many_new_events_or_bytes() {
    let options = ContinueOptions::default();
    assert!(!pace(9_999, 8 * MIB - 1, false, 0).is_enough(&options));
    assert!(pace(10_000, 0, false, 16 * MIB).is_enough(&options));
    assert!(pace(0, 8 * MIB, false, 16 * MIB).is_enough(&options));
}

#[test]
fn the_servers_suggestion_counts_once_there_is_as_much_new_as_was_carried() {
    let options = ContinueOptions::default();
    assert!(!pace(1_999, 3 * MIB - 1, true, 3 * MIB).is_enough(&options));
    assert!(pace(0, 3 * MIB, true, 3 * MIB).is_enough(&options));
    assert!(pace(2_000, 0, true, 3 * MIB).is_enough(&options));
    assert!(pace(12, 1_000, true, 0).is_enough(&options), "a history that was long before the run");
}

#[test]
fn nothing_is_enough_before_a_model_was_called() {
    let nothing = ContinueOptions::builder().new_events(0).new_bytes(0).build();
    assert!(!Pace { has_called_a_model: false, ..pace(20_000, 16 * MIB, true, 0) }.is_enough(&nothing));
    assert!(pace(0, 0, false, 0).is_enough(&nothing));
}
