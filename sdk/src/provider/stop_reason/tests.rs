use std::sync::Arc;

use reqwest::{StatusCode, header::HeaderMap};
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::provider::{answer_items::assistant_message, http::redact::Redactor};

fn conclude_answer(reason: Option<&str>, output: Vec<Item>) -> Result<(Vec<Item>, Option<String>), String> {
    let answer = Answer {
        status: StatusCode::OK,
        headers: HeaderMap::new(),
        body: Vec::new(),
        redactor: Arc::new(Redactor::new(Vec::new())),
        place: None,
    };
    conclude(&answer, output, reason).map_err(|error| error.message)
}

fn text(text: &str) -> Item {
    assistant_message(vec![json!({"type": "output_text", "text": text})])
}

fn refusal(text: &str) -> Item {
    assistant_message(vec![json!({"type": "refusal", "refusal": text})])
}

fn call() -> Item {
    Item::function_call("c", "pay", "{}")
}

fn reasoning() -> Item {
    Item::try_from(json!({"type": "reasoning", "summary": []})).expect("an item")
}

#[rstest]
#[case(None, None)]
#[case(Some(""), None)]
#[case(Some("stop"), None)]
#[case(Some("STOP"), None)]
#[case(Some("tool_use"), None)]
#[case(Some("MAX_TOKENS"), Some("max_output_tokens"))]
#[case(Some("length"), Some("max_output_tokens"))]
#[case(Some("model_context_window_exceeded"), Some("model_context_window_exceeded"))]
#[case(Some("model_length"), Some("model_context_window_exceeded"))]
#[case(Some("SAFETY"), Some("content_filter"))]
#[case(Some("content_filter: PROHIBITED_CONTENT"), Some("content_filter"))]
#[case(Some("pause_turn"), Some("pause_turn"))]
#[case(Some("tired"), Some("tired"))]
fn text_and_calls_keep_their_content(#[case] reason: Option<&str>, #[case] incomplete: Option<&str>) {
    for output in [vec![reasoning(), text("Once")], vec![call()], vec![text("Once"), call()]] {
        assert_eq!(conclude_answer(reason, output.clone()), Ok((output, incomplete.map(str::to_owned))));
    }
}

#[rstest]
#[case(None, Ok(Some("empty")))]
#[case(Some("end_turn"), Ok(Some("empty")))]
#[case(Some("length"), Ok(Some("max_output_tokens")))]
#[case(Some("pause_turn"), Ok(Some("pause_turn")))]
#[case(Some("tired"), Err("response failed (200): the answer is empty: tired"))]
fn answer_of_nothing_says_why(#[case] reason: Option<&str>, #[case] expected: Result<Option<&str>, &str>) {
    for output in [vec![], vec![reasoning()], vec![text(" \n")]] {
        let expected = match expected {
            Ok(incomplete) => Ok((output.clone(), incomplete.map(str::to_owned))),
            Err(message) => Err(message.to_owned()),
        };
        assert_eq!(conclude_answer(reason, output), expected);
    }
}

#[rstest]
#[case("error")]
#[case("MALFORMED_FUNCTION_CALL")]
#[case("function_call_filter: MALFORMED_FUNCTION_CALL")]
#[case("insufficient_system_resource")]
fn answer_that_ended_with_an_error_fails(#[case] reason: &str) {
    for output in [vec![], vec![text("Once")], vec![call()]] {
        let message = format!("response failed (200): the model stopped with an error ({reason})");
        assert_eq!(conclude_answer(Some(reason), output), Err(message));
    }
}

#[test]
fn filter_that_left_nothing_is_a_refusal() {
    let filtered = |output| conclude_answer(Some("content_filter"), output).map(|(output, _)| output);
    let withheld = refusal("The answer was withheld (stop reason content_filter).");
    assert_eq!(filtered(vec![reasoning()]), Ok(vec![reasoning(), withheld]));
    assert_eq!(filtered(vec![refusal("No.")]), Ok(vec![refusal("No.")]));
}

#[test]
fn refusal_of_the_model_has_its_words() {
    let refused = |output| conclude_answer(Some("refusal"), output).map(|(output, _)| output);
    assert_eq!(refused(vec![text("I won't.")]), Ok(vec![refusal("I won't.")]));
    assert_eq!(refused(vec![text("I won't."), call()]), Ok(vec![text("I won't."), call()]));
}

proptest::proptest! {
    #[test]
    fn unknown_reason_never_makes_a_whole_answer(reason in "[a-z_]{1,20}") {
        proptest::prop_assume!(STOPS.iter().all(|(_, reasons)| !reasons.contains(&&*reason)));
        proptest::prop_assert_eq!(
            conclude_answer(Some(&reason), vec![text("Once")]),
            Ok((vec![text("Once")], Some(reason.clone())))
        );
        proptest::prop_assert!(conclude_answer(Some(&reason), Vec::new()).is_err());
    }
}
