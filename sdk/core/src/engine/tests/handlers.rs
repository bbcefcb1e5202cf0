//! Errors that the author's handler turns into a final output.

use rstest::rstest;

use super::*;
use crate::wire::run_state::{Admission, FinalOutput, FinalSource};

fn gives(text: &str) -> Resolution {
    Resolution::Handled(Some(HandlerOutput { value: json!(text), message: Some(message(text)) }))
}

fn gives_in_silence(value: Value) -> Resolution {
    Resolution::Handled(Some(HandlerOutput { value, message: None }))
}

fn concluding(run: &ByHand) -> FinalOutput {
    let Step::Conclude { output, .. } = run.next() else { panic!("no final output, but {:?}", run.next()) };
    output
}

/// A run that has made its only permitted model call.
fn out_of_its_turn() -> ByHand {
    let mut run = ByHand::with_max_turns(Some(1));
    run.turn(setup(), vec![call("c1", "time", "{}")]).unwrap();
    run.tools_return(&["noon"]);
    run
}

fn refused() -> ByHand {
    let mut run = ByHand::start();
    run.turn(setup(), vec![refusal("not this")]).unwrap();
    run
}

fn of_another_shape() -> ByHand {
    let mut run = ByHand::start();
    run.turn(structured(), vec![message("{}")]).unwrap();
    run.resolve(Resolution::Parsed(Err("missing field `hour`".to_owned()))).unwrap();
    run
}

/// A run with an empty answer, for which the author has a handler.
fn empty() -> ByHand {
    let mut run = ByHand::start();
    run.turn(TurnSetup { handles_empty_output: true, ..structured() }, vec![reasoning("rs_1")]).unwrap();
    run
}

#[rstest]
#[case::max_turns(out_of_its_turn(), Recoverable::MaxTurns { max_turns: 1 }, FinalSource::TurnLimit)]
#[case::a_refusal(refused(), Recoverable::ModelRefusal { refusal: "not this".to_owned() }, FinalSource::Handler)]
#[case::an_invalid_output(
    of_another_shape(),
    Recoverable::InvalidFinalOutput { reason: "missing field `hour`".to_owned() },
    FinalSource::Handler
)]
#[case::no_output(empty(), Recoverable::EmptyFinalOutput, FinalSource::Handler)]
fn what_a_handler_gives_is_the_final_output(
    #[case] mut run: ByHand,
    #[case] error: Recoverable,
    #[case] source: FinalSource,
) {
    assert_eq!(run.next(), Step::HandleError { agent: "triage".to_owned(), error });
    let turn = run.engine.state().turn;
    run.resolve(gives("sorry")).unwrap();
    assert_eq!(concluding(&run), FinalOutput { value: json!("sorry"), source });
    assert_eq!(run.output(), "sorry");
    assert_eq!(run.transcript().last().unwrap(), "triage: message_output_item sorry");
    assert_eq!(run.engine.state().turn, turn, "no turn is used");
}

#[rstest]
#[case::max_turns(out_of_its_turn())]
#[case::a_refusal(refused())]
fn an_output_that_is_to_stay_out_of_the_history_adds_no_item(#[case] mut run: ByHand) {
    let before = run.transcript();
    run.resolve(gives_in_silence(json!({"code": 7}))).unwrap();
    assert_eq!(run.output(), json!({"code": 7}));
    assert_eq!(run.transcript(), before);
}

#[rstest]
#[case::max_turns(
    out_of_its_turn(),
    "Max turns (1) exceeded before the next turn of agent \"triage\"; if the run needs more turns, raise the limit \
     with Runner::max_turns"
)]
#[case::a_refusal(refused(), r#"Model refused to produce output: not this (agent "triage")"#)]
#[case::an_invalid_output(
    of_another_shape(),
    r#"Invalid JSON when parsing model output (agent "triage"): missing field `hour`"#
)]
fn an_error_that_no_handler_takes_ends_the_run(#[case] mut run: ByHand, #[case] message: &str) {
    let error = run.resolve(Resolution::Handled(None)).unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_missing_output_that_no_handler_takes_asks_the_model_again() {
    let mut run = empty();
    run.resolve(Resolution::Handled(None)).unwrap();
    assert_eq!(run.next(), turn_due("triage", 2));
}

#[test]
fn a_run_without_turns_may_end_with_what_its_handler_gives_and_asks_no_guardrail() {
    let mut run = ByHand::with_max_turns(Some(0));
    run.resolve(gives("sorry")).unwrap();
    assert_eq!(run.engine.state().admission, Admission::Admitted);
    assert_eq!(run.output(), "sorry");
}

#[test]
fn the_output_of_a_handler_is_written_to_the_session_with_the_turn() {
    let beginning = Beginning { session_input: Some(vec![Item::user("hi")]), ..beginning() };
    let mut run = ByHand::begin(beginning, Rules::default());
    run.turn(setup(), vec![refusal("not this")]).unwrap();
    run.resolve(gives("sorry")).unwrap();
    assert_eq!(run.saved(), [""; 0], "not before the output guardrails have passed it");
    run.resolve(Resolution::OutputChecked(vec![])).unwrap();
    assert_eq!(run.saved(), ["", "sorry"]);
}

#[test]
fn a_handler_sees_what_happened_or_for_an_answer_what_the_model_was_given() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c1", "time", "{}")]).unwrap();
    run.tools_return(&["noon"]);
    run.turn(setup(), vec![call("h1", "transfer_to_refunds", "{}")]).unwrap();
    run.hand_off_with(Some(HandoffInputData::new(vec![Item::user("in short")], vec![], vec![])));
    run.turn(setup(), vec![refusal("not this")]).unwrap();
    let sees = |error| run.engine.history(&error).iter().map(content).collect::<Vec<_>>();
    assert_eq!(sees(Recoverable::ModelRefusal { refusal: "not this".to_owned() }), ["in short", ""]);
    assert_eq!(sees(Recoverable::MaxTurns { max_turns: 3 }), ["in short", "c1", "c1 = noon", ""]);
}
