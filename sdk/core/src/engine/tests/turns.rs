//! Turns: their number, and the model call of each.

use rstest::rstest;

use super::*;
use crate::wire::{ModelSettings, ToolChoice};

fn required() -> TurnSetup {
    let mut setup = setup();
    setup.definitions.settings = ModelSettings::builder().tool_choice(ToolChoice::Required).temperature(0.5).build();
    setup
}

fn choices(run: &mut ByHand, setups: impl IntoIterator<Item = TurnSetup>) -> Vec<Option<ToolChoice>> {
    let mut choices = Vec::new();
    for (turn, setup) in setups.into_iter().enumerate() {
        let call = run.turn(setup, vec![call(&format!("c{turn}"), "weather", "{}")]).unwrap();
        run.tools_return(&["sunny"]);
        choices.push(call.definitions.settings.tool_choice);
    }
    choices
}

#[test]
fn a_model_call_is_what_was_prepared_and_the_conversation_so_far() {
    let mut run = ByHand::start();
    let mut expected = ModelCall::new("triage", "gpt-5", setup().definitions, vec![Item::user("hi")]);
    assert_eq!(run.prepare(setup()), expected);
    run.resolve(Resolution::Answered(response(vec![call("c1", "weather", "{}")]))).unwrap();
    run.tools_return(&["sunny"]);
    expected.turn = 2;
    expected.input.extend([call("c1", "weather", "{}"), Item::function_call_output("c1", "sunny".into())]);
    assert_eq!(run.prepare(setup()), expected);
}

#[test]
fn no_turns_at_all_fails_before_any_model_call() {
    let run = ByHand::with_max_turns(Some(0));
    assert_eq!(run.next(), out_of_turns(0, "triage"));
}

#[test]
fn the_last_turn_may_end_the_run() {
    let mut run = ByHand::with_max_turns(Some(2));
    run.turn(setup(), vec![call("c1", "weather", "{}")]).unwrap();
    run.tools_return(&["sunny"]);
    run.turn(setup(), vec![message("sunny")]).unwrap();
    assert_eq!(run.output(), "sunny");
}

#[test]
fn the_tools_of_the_last_turn_run_before_the_run_ends() {
    let mut run = ByHand::with_max_turns(Some(1));
    run.turn(setup(), vec![call("c1", "weather", "{}")]).unwrap();
    run.tools_return(&["sunny"]);
    assert_eq!(run.next(), out_of_turns(1, "triage"));
    assert_eq!(run.transcript(), ["triage: tool_call_item c1", "triage: tool_call_output_item c1 = sunny"]);
}

#[test]
fn without_a_limit_the_run_goes_on() {
    let mut run = ByHand::with_max_turns(None);
    for turn in 1..=50 {
        assert_eq!(run.next(), if turn == 1 { starts("triage", 1) } else { turn_due("triage", turn) });
        run.turn(setup(), vec![call(&format!("c{turn}"), "weather", "{}")]).unwrap();
        run.tools_return(&["sunny"]);
    }
    run.turn(setup(), vec![message("enough")]).unwrap();
    assert_eq!(run.output(), "enough");
    assert_eq!(run.engine.state().turn, 51);
}

#[test]
fn tool_choice_is_dropped_once_the_agent_has_used_a_tool() {
    let mut run = ByHand::start();
    assert_eq!(choices(&mut run, [required(), required(), required()]), [Some(ToolChoice::Required), None, None]);
    let call = run.prepare(required());
    assert_eq!(call.definitions.settings, ModelSettings::builder().temperature(0.5).build(), "nothing else is");
}

#[test]
fn tool_choice_is_kept_where_the_agent_says_so() {
    let keeps = || TurnSetup { reset_tool_choice: false, ..required() };
    let kept = Some(ToolChoice::Required);
    assert_eq!(choices(&mut ByHand::start(), [keeps(), keeps()]), [kept.clone(), kept]);
}

#[rstest]
#[case::hosted_calls(item(json!({"type": "web_search_call"})), None)]
#[case::reasoning(item(json!({"type": "reasoning"})), Some(ToolChoice::Required))]
fn what_counts_as_a_used_tool(#[case] item: Item, #[case] then: Option<ToolChoice>) {
    let mut run = ByHand::start();
    let mut structured = required();
    structured.definitions.output = super::structured().definitions.output;
    run.turn(structured, vec![item]).unwrap();
    assert_eq!(run.prepare(required()).definitions.settings.tool_choice, then);
}

#[test]
fn the_tools_of_one_agent_do_not_reset_the_tool_choice_of_another() {
    let mut run = ByHand::start();
    run.turn(required(), vec![call("h1", "transfer_to_refunds", "{}")]).unwrap();
    run.hand_off();
    let mut back = required();
    back.definitions.handoffs = vec![handoff("triage")];
    let of_refunds = run.turn(back, vec![call("h2", "transfer_to_triage", "{}")]).unwrap();
    assert_eq!(of_refunds.definitions.settings.tool_choice, Some(ToolChoice::Required));
    run.hand_off();
    let of_triage = run.prepare(required());
    assert_eq!(of_triage.definitions.settings.tool_choice, None, "its handoff was a tool call");
    let used = |agent: &str| run.engine.tools_used()[agent].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!((used("triage"), used("refunds")), (vec!["transfer_to_refunds"], vec!["transfer_to_triage"]));
}
