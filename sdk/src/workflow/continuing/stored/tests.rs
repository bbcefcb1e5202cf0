use serde_json::json;
use temporal_agents_core::wire::{Item, NewItem, NewItemKind, RunState, size::encoded_len};

use super::chunks;
use crate::workflow::{ContinueOptions, limits::size::kept_len};

#[test]
fn chunks_are_cut_between_characters_and_measured_as_json() {
    assert_eq!(chunks("", 4), [""]);
    assert_eq!(chunks("abcd", 4), ["abcd"]);
    assert_eq!(chunks("abcde", 4), ["abcd", "e"]);
    assert_eq!(chunks("a\"b\\c", 4), ["a\"b", "\\c"]);
    assert_eq!(chunks("aéé", 4), ["aé", "é"]);
}

/// Returns a state with outputs that are themselves JSON, in which most quotes are already escaped.
fn json_heavy(outputs: usize) -> RunState {
    let row = json!({"id": 7, "name": "a \"quoted\" name", "tags": ["x", "y", "z"], "path": "C:\\temp"}).to_string();
    let output = |number: usize| {
        let raw = Item::function_call_output(&format!("call_{number}"), row.repeat(10).into());
        NewItem { kind: NewItemKind::ToolCallOutput, agent: "reader".to_owned(), raw, handoff: None, side_data: None }
    };
    let mut state = RunState::finished("reader", Vec::new());
    state.items = (0..outputs).map(output).collect();
    state
}

/// Returns the bytes of history that the chunks of a state take.
fn in_history(state: &RunState) -> usize {
    let text = serde_json::to_string(state).expect("it is JSON");
    chunks(&text, 1024 * 1024).into_iter().map(|chunk| encoded_len(chunk).expect("it is JSON")).sum()
}

#[test]
fn a_state_is_measured_as_history_holds_it() {
    for outputs in [100, 3_000] {
        let state = json_heavy(outputs);
        let (measured, takes) = (kept_len(&state).expect("it is JSON"), in_history(&state));
        // The parts of a state besides its content: phase, usage and similar.
        assert!(takes <= measured + 2_000, "{outputs} outputs: measured {measured}, takes {takes}");
        assert!(measured <= takes + takes / 10, "{outputs} outputs: measured {measured}, takes {takes}");
    }
}

#[test]
fn the_largest_state_of_the_defaults_comes_and_goes_within_a_history() {
    const SERVER: usize = 50 * 1024 * 1024;
    /// Bytes of the last turn, which may be as large as 40 activities in flight with requests of 3
    /// MB, and their results, before it counts.
    const LAST_TURN: usize = 8_000_000;
    let options = ContinueOptions::default();
    let mut outputs = 1_000;
    while kept_len(&json_heavy(outputs)).expect("it is JSON") <= options.most_bytes {
        outputs += 1_000;
    }
    let largest = in_history(&json_heavy(outputs - 1_000));
    let history = 2 * largest + options.new_bytes + LAST_TURN;
    assert!(history < SERVER, "{history} bytes");
}

/// A loaded state that no build can read is told from others by this message.
#[test]
fn json_that_is_too_deep_is_told_by_its_message() {
    let deep = "[".repeat(200);
    let error = serde_json::from_str::<serde_json::Value>(&deep).expect_err("200 levels").to_string();
    assert!(error.starts_with("recursion limit exceeded"), "{error}");
}
