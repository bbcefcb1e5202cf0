//! Structured output: empty answers, answers that fit, answers that do not.

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
    assert_eq!(run.next(), Step::OutOfTurns { max_turns: 2, agent: "triage".to_owned() });
}

#[test]
fn the_text_of_the_last_message_is_parsed_and_the_value_is_the_output() {
    let mut run = ByHand::start();
    run.turn(structured(), vec![message("thinking"), message(r#"{"pieces":3}"#)]).unwrap();
    let text = r#"{"pieces":3}"#.to_owned();
    assert_eq!(run.next(), Step::ParseOutput { agent: "triage".to_owned(), text });
    run.resolve(Resolution::Parsed(Ok(json!({"pieces": 3})))).unwrap();
    assert_eq!(run.next(), done(json!({"pieces": 3})));
}

#[test]
fn null_is_an_output() {
    let mut run = ByHand::start();
    run.turn(structured(), vec![message("null")]).unwrap();
    run.resolve(Resolution::Parsed(Ok(Value::Null))).unwrap();
    assert_eq!(run.next(), done(Value::Null));
}

#[test]
fn an_answer_of_another_shape_ends_the_run() {
    let mut run = ByHand::start();
    run.turn(structured(), vec![message("{}")]).unwrap();
    let error = run.resolve(Resolution::Parsed(Err("missing field `pieces`".to_owned()))).unwrap_err();
    assert_eq!(error.to_string(), r#"Invalid JSON when parsing model output (agent "triage"): missing field `pieces`"#);
    assert_eq!(run.transcript(), ["triage: message_output_item {}"], "the answer is kept");
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
    let refusal = item(json!({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}));
    let error = ByHand::start().turn(structured(), vec![refusal]).unwrap_err();
    assert_eq!(error.to_string(), r#"Model refused to produce output: no (agent "triage")"#);
}
