//! Responses that are no answer: empty ones, and calls that may be cut.

use rstest::rstest;

use super::*;
use crate::wire::{ModelSettings, run_state::ServerConversation};

/// Resolves the due model call with this output, which stopped for this reason.
fn answer_stopped_by(run: &mut ByHand, reason: &str, output: Vec<Item>) -> Result<(), RunError> {
    let response = ModelResponse { incomplete: Some(reason.to_owned()), ..response(output) };
    run.resolve(Resolution::Answered(response))
}

fn with_reaction(incomplete_answers: IncompleteAnswers) -> ByHand {
    ByHand::with_rules(Rules { incomplete_answers, ..Rules::default() })
}

#[rstest]
#[case::reasoning(
    "max_output_tokens",
    vec![reasoning("rs_1")],
    "agent \"triage\" got no answer at turn 1: the model reached its limit of 100 tokens (max_tokens) before it said \
     anything; raise max_tokens of the ModelSettings, lower its reasoning, or set RunConfig::incomplete_answers, which asks again unless the provider keeps the conversation"
)]
#[case::calls(
    "max_output_tokens",
    vec![call("c1", "pay", "{}"), call("c2", "transfer_to_sales", "{}")],
    "agent \"triage\" got no answer at turn 1: the model reached its limit of 100 tokens (max_tokens) in its calls of \
     pay, transfer_to_sales, which were not made because they may be cut; raise max_tokens of the ModelSettings, lower \
     its reasoning, or set RunConfig::incomplete_answers, which asks again unless the provider keeps the conversation"
)]
#[case::filtered_calls(
    "content_filter",
    vec![call("c1", "pay", "{}")],
    "agent \"triage\" got no answer at turn 1: a content filter stopped the model in its calls of pay, which were not \
     made because they may be cut; change the request, or set RunConfig::incomplete_answers, which asks again unless the provider keeps the conversation"
)]
#[case::no_room(
    "model_context_window_exceeded",
    vec![message(" ")],
    "agent \"triage\" got no answer at turn 1: the conversation filled the model's context window before it said \
     anything; shorten the conversation (a session limit, compaction), or set RunConfig::incomplete_answers, which asks \
     again unless the provider keeps the conversation"
)]
#[case::nothing(
    "empty",
    vec![],
    "agent \"triage\" got no answer at turn 1: the model said nothing and called nothing; change the request, or set \
     RunConfig::incomplete_answers, which asks again unless the provider keeps the conversation"
)]
fn response_without_answer_ends_the_run(#[case] reason: &str, #[case] output: Vec<Item>, #[case] message: &str) {
    let mut run = ByHand::start();
    let mut setup = setup();
    setup.definitions.settings = ModelSettings { max_tokens: Some(100), ..ModelSettings::default() };
    run.prepare(setup);
    let error = answer_stopped_by(&mut run, reason, output).unwrap_err();
    assert_eq!(error.to_string(), message);
    assert_eq!(error.reference().class, Some("ModelBehaviorError"));
    let state = run.engine.state();
    assert_eq!((state.items.len(), state.usage.requests), (0, 1), "the answer is paid, and nothing of it stays");
}

#[test]
fn reasoning_without_a_reason_is_no_answer() {
    let error = ByHand::start().turn(setup(), vec![reasoning("rs_1")]).unwrap_err();
    assert!(matches!(&error, RunError::IncompleteAnswer { reason, .. } if reason == "empty"), "{error}");
}

#[rstest]
#[case::limit("max_output_tokens")]
#[case::filter("content_filter")]
#[case::unknown("tired")]
fn text_that_stops_early_is_marked(#[case] reason: &str) {
    let mut run = ByHand::start();
    run.prepare(setup());
    answer_stopped_by(&mut run, reason, vec![reasoning("rs_1"), message("Once upon")]).unwrap();
    assert_eq!(run.output(), json!("Once upon"));
    assert_eq!(run.engine.state().incomplete.as_deref(), Some(reason));
}

#[test]
fn mark_lasts_until_the_next_answer() {
    let mut run = ByHand::start();
    run.prepare(setup());
    answer_stopped_by(&mut run, "tired", vec![call("c1", "weather", "{}")]).unwrap();
    assert_eq!(run.engine.state().incomplete.as_deref(), Some("tired"));
    run.tools_return(&["rain"]);
    run.turn(setup(), vec![message("it rains")]).unwrap();
    assert_eq!(run.output(), json!("it rains"));
    assert_eq!(run.engine.state().incomplete, None);
}

#[test]
fn paused_turn_continues_with_its_own_answer() {
    let mut run = ByHand::start();
    run.prepare(setup());
    answer_stopped_by(&mut run, "pause_turn", vec![message("I search.")]).unwrap();
    let call = run.prepare(setup());
    assert_eq!(call.input, [Item::user("hi"), message("I search.")]);
}

#[test]
fn calls_of_a_paused_turn_are_made() {
    let mut run = ByHand::start();
    run.prepare(setup());
    answer_stopped_by(&mut run, "pause_turn", vec![call("c1", "weather", "{}")]).unwrap();
    assert_eq!(run.due_calls().len(), 1);
}

#[rstest]
#[case::cut_calls("max_output_tokens", vec![call("c1", "pay", "{}")])]
#[case::empty("empty", vec![])]
fn incomplete_answer_is_asked_again_with_same_input(#[case] reason: &str, #[case] output: Vec<Item>) {
    let mut run = with_reaction(IncompleteAnswers::AskAgain);
    let first = run.prepare(setup());
    answer_stopped_by(&mut run, reason, output).unwrap();
    assert_eq!(run.next(), turn_due("triage", 2));
    let second = run.prepare(setup());
    assert_eq!(second.input, first.input);
}

#[test]
fn model_is_told_that_its_calls_were_not_made() {
    let mut run = with_reaction(IncompleteAnswers::TellModel);
    run.prepare(setup());
    let output = vec![message("I pay."), call("c1", "pay", "{\"am"), call("c2", "transfer_to_sales", "{}")];
    answer_stopped_by(&mut run, "max_output_tokens", output.clone()).unwrap();
    let told = |id: &str| {
        let text = "This call was not made, because your answer stopped before it was complete (max_output_tokens). \
                    Answer again, in fewer words or with fewer calls.";
        Item::failed_function_call_output(id, text.into())
    };
    let mut expected = vec![Item::user("hi")];
    expected.extend(output);
    expected.extend([told("c1"), told("c2")]);
    assert_eq!(run.prepare(setup()).input, expected);
}

#[test]
fn tell_model_without_calls_asks_again() {
    let mut run = with_reaction(IncompleteAnswers::TellModel);
    run.prepare(setup());
    answer_stopped_by(&mut run, "max_output_tokens", vec![reasoning("rs_1")]).unwrap();
    assert_eq!(run.prepare(setup()).input, [Item::user("hi")]);
}

#[test]
fn limit_of_turns_ends_repeated_questions() {
    let rules = Rules { incomplete_answers: IncompleteAnswers::AskAgain, ..Rules::default() };
    let mut run = ByHand::begin(Beginning { max_turns: Some(2), ..beginning() }, rules);
    for _ in 0..2 {
        run.prepare(setup());
        answer_stopped_by(&mut run, "empty", Vec::new()).unwrap();
    }
    assert_eq!(run.next(), out_of_turns(2, "triage"));
}

#[test]
fn handler_replaces_a_structured_output_that_is_cut_off() {
    let mut run = ByHand::start();
    let mut setup = structured();
    setup.handles_empty_output = true;
    run.prepare(setup);
    answer_stopped_by(&mut run, "max_output_tokens", vec![reasoning("rs_1")]).unwrap();
    let error = Recoverable::EmptyFinalOutput;
    assert_eq!(run.next(), Step::HandleError { agent: "triage".to_owned(), error });
}

#[test]
fn chained_response_is_asked_again_from_the_one_before() {
    let server = ServerConversation {
        conversation_id: None,
        previous_response_id: Some("resp_0".to_owned()),
        chained: true,
        has_input: false,
        began_here: false,
        seen_items: 0,
    };
    let rules = Rules { incomplete_answers: IncompleteAnswers::AskAgain, ..Rules::default() };
    let mut run = ByHand::begin(Beginning { server: Some(server), ..beginning() }, rules);
    let first = run.prepare(setup());
    let cut = ModelResponse {
        response_id: Some("resp_1".to_owned()),
        incomplete: Some("max_output_tokens".to_owned()),
        ..response(vec![reasoning("rs_1")])
    };
    run.resolve(Resolution::Answered(cut)).unwrap();
    let second = run.prepare(setup());
    assert_eq!((second.previous_response_id, second.input), (first.previous_response_id, first.input));
}

#[test]
fn third_response_in_a_row_ends_the_run() {
    let mut run = with_reaction(IncompleteAnswers::AskAgain);
    for _ in 0..2 {
        run.prepare(setup());
        answer_stopped_by(&mut run, "empty", Vec::new()).unwrap();
    }
    run.prepare(setup());
    let error = answer_stopped_by(&mut run, "empty", Vec::new()).unwrap_err();
    assert!(matches!(&error, RunError::IncompleteAnswer { turn: 3, .. }), "{error}");
}

#[test]
fn conversation_at_the_provider_is_not_asked_again() {
    let server = ServerConversation {
        conversation_id: Some("conv_1".to_owned()),
        previous_response_id: None,
        chained: false,
        has_input: false,
        began_here: true,
        seen_items: 0,
    };
    let rules = Rules { incomplete_answers: IncompleteAnswers::AskAgain, ..Rules::default() };
    let mut run = ByHand::begin(Beginning { server: Some(server), ..beginning() }, rules);
    run.prepare(setup());
    let error = answer_stopped_by(&mut run, "empty", Vec::new()).unwrap_err();
    assert!(matches!(error, RunError::IncompleteAnswer { .. }), "{error}");
}

#[test]
fn third_empty_pause_in_a_row_ends_the_run() {
    let mut run = ByHand::start();
    for _ in 0..2 {
        run.prepare(setup());
        answer_stopped_by(&mut run, "pause_turn", Vec::new()).unwrap();
    }
    run.prepare(setup());
    let error = answer_stopped_by(&mut run, "pause_turn", Vec::new()).unwrap_err();
    assert!(matches!(&error, RunError::IncompleteAnswer { reason, .. } if reason == "pause_turn"), "{error}");
}

#[test]
fn paused_turn_keeps_the_tools_it_used() {
    let mut run = ByHand::start();
    run.prepare(setup());
    let search = item(json!({"type": "web_search_call", "id": "ws_1", "status": "completed"}));
    answer_stopped_by(&mut run, "pause_turn", vec![search]).unwrap();
    assert!(run.engine.tools_used()["triage"].contains("web_search_call"));
}
