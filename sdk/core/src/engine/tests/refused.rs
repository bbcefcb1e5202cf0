//! Calls whose arguments are refused, in a row.

use rstest::rstest;

use super::*;
use crate::wire::RunState;

const WRONG: &str = r#"{"city": 5, "days": 1}"#;
/// The same arguments in another form.
const SAME: &str = r#"{ "days": 1.0, "city": 5 }"#;
const OTHER: &str = r#"{"city": 6}"#;

fn refusal() -> RefusedArguments {
    RefusedArguments { field: "city".to_owned(), reason: "city: fails type, allowed: \"string\"".to_owned() }
}

/// How a call ends.
#[derive(Clone, Copy)]
enum End {
    Refused,
    Accepted,
}

use End::{Accepted, Refused};

/// The outcome of a call whose arguments are refused.
fn refuse(index: usize) -> ToolOutcome {
    let output = CallResult::Output("refused".into());
    ToolOutcome { ran: true, failed: true, refused: Some(Box::new(refusal())), ..ToolOutcome::new(index, output) }
}

fn accept(index: usize) -> ToolOutcome {
    ToolOutcome { ran: true, ..ToolOutcome::new(index, CallResult::Output("sunny".into())) }
}

/// The calls of a run, each in a turn of its own. Returns the error that ends it, with its turn.
fn play(calls: &[(&str, &str, End)]) -> Option<(usize, RunError)> {
    let mut run = ByHand::start();
    for (turn, (tool, arguments, end)) in calls.iter().enumerate() {
        run.turn(setup(), vec![call(&format!("c{turn}"), tool, arguments)]).unwrap();
        run.through_json();
        let outcome = match end {
            Refused => refuse(0),
            Accepted => accept(0),
        };
        if let Err(error) = run.resolve(Resolution::ToolsRan(vec![outcome])) {
            return Some((turn + 1, error));
        }
    }
    None
}

#[test]
fn third_same_refused_call_ends_the_run() {
    let (turn, error) =
        play(&[("weather", WRONG, Refused), ("weather", SAME, Refused), ("weather", WRONG, Refused)]).unwrap();
    assert_eq!(
        (turn, error.to_string().as_str()),
        (
            3,
            "the model called tool \"weather\" 3 times in a row with the same arguments, which do not fit: city: \
             fails type, allowed: \"string\" (agent \"triage\", turn 3)"
        )
    );
    assert!(matches!(&error, RunError::SameCallRefused { field, .. } if field == "city"), "{error:?}");
    assert_eq!(error.reference().class, Some("ModelBehaviorError"));
}

#[rstest]
#[case::other_tool_between(&[("weather", WRONG, Refused), ("time", "{}", Accepted), ("weather", WRONG, Refused), ("time", WRONG, Refused), ("weather", WRONG, Refused)], Some(5))]
#[case::accepted_between(&[("weather", WRONG, Refused), ("weather", WRONG, Refused), ("weather", "{}", Accepted), ("weather", WRONG, Refused)], None)]
#[case::other_arguments_between(&[("weather", WRONG, Refused), ("weather", WRONG, Refused), ("weather", OTHER, Refused), ("weather", WRONG, Refused)], None)]
#[case::failed_for_another_reason(&[("weather", WRONG, Accepted), ("weather", WRONG, Accepted), ("weather", WRONG, Accepted)], None)]
#[case::no_json(&[("weather", "{", Refused), ("weather", "{", Refused), ("weather", "{", Refused)], Some(3))]
#[case::no_arguments(&[("weather", "", Refused), ("weather", "null", Refused), ("weather", "{}", Refused)], Some(3))]
fn only_calls_in_a_row_of_a_tool_count(#[case] calls: &[(&str, &str, End)], #[case] ended_at: Option<usize>) {
    assert_eq!(play(calls).map(|(turn, _)| turn), ended_at);
}

#[test]
fn calls_of_one_response_count_in_call_order() {
    let mut run = ByHand::start();
    let calls = [("c0", WRONG), ("c1", WRONG), ("c2", WRONG), ("c3", "{}")];
    run.turn(setup(), calls.map(|(id, arguments)| call(id, "weather", arguments)).into()).unwrap();
    let outcomes = vec![refuse(0), refuse(1), refuse(2), accept(3)];
    let error = run.resolve(Resolution::ToolsRan(outcomes)).unwrap_err();
    assert!(matches!(error, RunError::SameCallRefused { turn: 1, .. }), "{error}");
    run.engine.abandon(&error);
    assert_eq!(run.transcript().len(), 8, "the calls ran, and keep their outputs");
}

#[test]
fn count_survives_a_pause_between_the_calls() {
    let mut run = ByHand::start();
    for turn in 0..2 {
        run.turn(setup(), vec![call(&format!("c{turn}"), "weather", WRONG)]).unwrap();
        run.resolve(Resolution::ToolsRan(vec![refuse(0)])).unwrap();
    }
    run.turn(setup(), vec![call("c2", "weather", WRONG), call("c3", "pay", "{}")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval, CallResult::NeedsApproval]);
    let text = serde_json::to_string(run.engine.state()).unwrap();
    let state: RunState = serde_json::from_str(&text).unwrap();
    assert_eq!(state.refused["triage"]["weather"].times, 2, "a call that waits is not counted");
    run.take_up(state);
    run.decide(&[("c2", Decision::approve())]);
    run.offer(&["weather", "pay"]).unwrap();
    let error = run.resolve(Resolution::ToolsRan(vec![refuse(0)])).unwrap_err();
    assert!(matches!(error, RunError::SameCallRefused { turn: 3, .. }), "{error}");
}

#[test]
fn state_without_refused_calls_has_no_count() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c0", "weather", WRONG)]).unwrap();
    run.resolve(Resolution::ToolsRan(vec![refuse(0)])).unwrap();
    run.turn(setup(), vec![call("c1", "weather", "{}")]).unwrap();
    run.tools_return(&["sunny"]);
    assert_eq!(json!(run.engine.state()).get("refused"), None);
}
