//! Structured output: empty, valid and invalid answers.

use rstest::rstest;

use super::*;

#[rstest]
#[case::no_item(vec![])]
#[case::an_empty_message(vec![message("")])]
#[case::reasoning_alone(vec![item(json!({"type": "reasoning", "summary": []}))])]
fn an_empty_answer_asks_the_model_again_and_uses_a_turn(#[case] output: Vec<Item>) {
    let mut run = ByHand::with_max_turns(Some(2));
    run.turn(structured(), output.clone()).unwrap();
    assert_eq!(run.next(), turn_due("triage", 2));
    run.turn(structured(), output).unwrap();
    assert_eq!(run.next(), out_of_turns(2, "triage"));
}

#[test]
fn the_text_of_the_last_message_is_parsed_and_the_value_is_the_output() {
    let mut run = ByHand::start();
    run.turn(structured(), vec![message("thinking"), message(r#"{"pieces":3}"#)]).unwrap();
    let text = r#"{"pieces":3}"#.to_owned();
    assert_eq!(run.next(), Step::ParseOutput { agent: "triage".to_owned(), text });
    run.resolve(Resolution::Parsed(Ok(json!({"pieces": 3})))).unwrap();
    assert_eq!(run.output(), json!({"pieces": 3}));
}

#[test]
fn null_is_an_output() {
    let mut run = ByHand::start();
    run.turn(structured(), vec![message("null")]).unwrap();
    run.resolve(Resolution::Parsed(Ok(Value::Null))).unwrap();
    assert_eq!(run.output(), Value::Null);
}

#[test]
fn an_answer_of_another_shape_ends_the_run_unless_a_handler_takes_it() {
    let mut run = ByHand::start();
    run.turn(structured(), vec![message("{}")]).unwrap();
    run.resolve(Resolution::Parsed(Err("missing field `pieces`".to_owned()))).unwrap();
    let error = Recoverable::InvalidFinalOutput { reason: "missing field `pieces`".to_owned() };
    assert_eq!(run.next(), Step::HandleError { agent: "triage".to_owned(), error });
    assert_eq!(run.transcript(), ["triage: message_output_item {}"], "a handler sees the answer");
    let error = run.resolve(Resolution::Handled(None)).unwrap_err();
    assert_eq!(error.to_string(), r#"Invalid JSON when parsing model output (agent "triage"): missing field `pieces`"#);
}

#[test]
fn an_answer_that_was_cut_short_says_so() {
    let mut run = ByHand::start();
    run.prepare(structured());
    let cut = ModelResponse { incomplete: Some("max_output_tokens".to_owned()), ..response(vec![message("{\"pi")]) };
    run.resolve(Resolution::Answered(cut)).unwrap();
    run.resolve(Resolution::Parsed(Err("it ends early".to_owned()))).unwrap();
    let error = run.resolve(Resolution::Handled(None)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Invalid JSON when parsing model output (agent \"triage\"): \
         it ends early; the model stopped early (max_output_tokens)"
    );
}

#[test]
fn a_message_beside_a_tool_call_is_not_parsed() {
    let mut run = ByHand::start();
    run.turn(structured(), vec![message("no json"), call("c1", "weather", "{}")]).unwrap();
    run.tools_return(&["sunny"]);
    assert_eq!(run.next(), turn_due("triage", 2));
}

#[test]
fn a_refusal_is_not_parsed() {
    let mut run = ByHand::start();
    run.turn(structured(), vec![refusal("no")]).unwrap();
    let error = Recoverable::ModelRefusal { refusal: "no".to_owned() };
    assert_eq!(run.next(), Step::HandleError { agent: "triage".to_owned(), error });
}
