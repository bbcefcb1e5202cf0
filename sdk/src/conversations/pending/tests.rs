use super::*;

fn items(from: usize, to: usize) -> Vec<Item> {
    (from..to).map(|place| Item::user(place.to_string())).collect()
}

fn of_call(activity_id: &str, part: CallPart, start: u32, end: u32) -> InputSegment {
    InputSegment::Call { activity_id: activity_id.to_owned(), part: Some(part), start, end, results: 0 }
}

fn pending(segments: Vec<InputSegment>) -> Pending {
    Pending::of(segments, WIRE_VERSION).expect("all kinds are known")
}

#[test]
fn a_range_of_a_call_becomes_the_ranges_that_call_was_given() {
    let mut wanted = pending(vec![of_call("3", CallPart::Given, 1, 5), InputSegment::Items { items: items(9, 10) }]);
    let third = pending(vec![
        of_call("2", CallPart::Given, 0, 2),
        of_call("2", CallPart::Answered, 0, 1),
        InputSegment::ToolResult { activity_id: "2-tool-0".to_owned() },
        InputSegment::Items { items: items(4, 6) },
    ]);
    wanted.found("3", &third, &[]);
    assert!(wanted.wants("2") && wanted.wants("2-tool-0") && !wanted.wants("3"));

    wanted.found("2", &pending(vec![InputSegment::Items { items: items(0, 2) }]), &items(2, 3));
    wanted.returned("2-tool-0", &items(3, 4)[0]);
    assert_eq!(wanted.missing(), None);
    let expected: Vec<Item> = items(1, 5).into_iter().chain(items(9, 10)).collect();
    assert_eq!(wanted.into_items(), expected);
}

#[test]
fn a_range_beyond_what_was_answered_stays_missing() {
    let mut wanted = pending(vec![of_call("1", CallPart::Answered, 0, 2)]);
    wanted.found("1", &pending(vec![]), &items(0, 1));
    assert_eq!(wanted.missing().map(ToString::to_string).as_deref(), Some("items 0..2 of the output of model call 1"));
}

#[test]
fn what_a_call_was_given_and_answered_is_one_list_and_the_results_of_its_tools_follow() {
    let call = |start, end, results| {
        pending(vec![InputSegment::Call { activity_id: "2-model".to_owned(), part: None, start, end, results }])
    };
    let given = pending(vec![InputSegment::Items { items: items(0, 3) }]);
    let mut wanted = call(2, 5, 1);
    assert!(wanted.wants("2-model") && wanted.wants("2-tool-0"));
    wanted.returned("2-tool-0", &items(5, 6)[0]);
    wanted.found("2-model", &given, &items(3, 5));
    assert_eq!((wanted.missing(), wanted.clone().into_items()), (None, items(2, 6)));

    let mut beyond = call(0, 6, 0);
    beyond.found("2-model", &given, &items(3, 5));
    let missing = beyond.missing().map(ToString::to_string);
    assert_eq!(missing.as_deref(), Some("items 0..6 of the input and output of model call 2-model"));
}

#[test]
fn a_request_makes_no_more_parts_than_a_history_has_events() {
    let segment =
        |results| InputSegment::Call { activity_id: "r-1-model".to_owned(), part: None, start: 0, end: 1, results };
    let segments = vec![segment(u32::MAX), segment(u32::MAX), segment(2)];
    let Pending(parts) = Pending::of(segments, WIRE_VERSION).expect("it knows these");
    assert_eq!(parts.len(), MAX_TOOL_RESULTS + 3);
}

#[test]
fn a_chunk_is_found_under_the_id_under_which_it_was_loaded_in_the_end() {
    let number = |activity| chunk_of(activity, "r-state");
    assert_eq!(["r-state-3", "r-state-3-retry-12"].map(number), [Some(3), Some(3)]);
    assert_eq!(["r-state", "r-state-x", "r-state-retry-1", "r-keep-3"].map(number), [None; 4]);
}

#[test]
fn chunks_of_a_state_take_no_more_room_than_those_that_were_found() {
    let segment = InputSegment::State { activity_id: "r-state".to_owned(), chunks: u32::MAX, start: 0, end: 1 };
    let mut pending = Pending::of(vec![segment], WIRE_VERSION).expect("it knows this");
    let mut states = crate::conversations::states::States::default();
    states.take("r-state-3", "half of it".to_owned(), &mut pending).expect("more is to come");
    assert!(pending.missing().is_some());
}
