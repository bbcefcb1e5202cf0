//! The items of a run that are written to its session, and the time of the write.

use super::*;
use crate::wire::run_state::{InputGuardrailResult, RunState};

fn with_session() -> Beginning {
    let input = vec![Item::user("earlier"), Item::user("hi")];
    Beginning { input, session_input: Some(vec![Item::user("hi")]), ..beginning() }
}

fn run_with(rules: Rules) -> ByHand {
    ByHand::begin(with_session(), rules)
}

/// An agent whose tool outputs may end the run, and are then checked by guardrails.
fn guarded() -> TurnSetup {
    TurnSetup { tool_use: ToolUse::StopAtTools { tools: vec!["pay".to_owned()] }, guards_output: true, ..setup() }
}

fn progress(state: &RunState) -> usize {
    state.session.as_ref().unwrap().saved
}

#[test]
fn admitted_input_is_written_before_the_first_turn() {
    let mut run = ByHand { engine: Engine::start(with_session(), Rules::default()) };
    assert_eq!(run.next(), Step::CheckInput { agent: "triage".to_owned() });
    run.resolve(Resolution::InputChecked { results: vec![], more: false }).unwrap();
    assert_eq!(run.saved(), ["hi"]);
}

#[test]
fn input_is_written_first_if_tripped_input_is_kept() {
    let rules = Rules { keeps_tripped_input: true, ..Rules::default() };
    let mut run = ByHand { engine: Engine::start(with_session(), rules) };
    assert_eq!(run.saved(), ["hi"]);
    assert_eq!(run.next(), Step::CheckInput { agent: "triage".to_owned() });
}

#[test]
fn input_waits_for_guardrails_beside_the_first_turn() {
    let mut run = ByHand { engine: Engine::start(with_session(), Rules::default()) };
    run.resolve(Resolution::InputChecked { results: vec![], more: true }).unwrap();
    assert_eq!(run.saved(), [""; 0]);
    run.turn(setup(), vec![call("c1", "time", "{}")]).unwrap();
    assert_eq!(run.saved(), [""; 0]);
}

#[test]
fn the_new_input_is_written_also_when_there_are_no_turns() {
    let mut run =
        ByHand { engine: Engine::start(Beginning { max_turns: Some(0), ..with_session() }, Rules::default()) };
    assert_eq!(run.saved(), ["hi"]);
    assert_eq!(run.next(), out_of_turns(0, "triage"));
}

#[test]
fn an_input_that_adds_nothing_is_not_written() {
    let beginning = Beginning { session_input: Some(vec![]), ..with_session() };
    let run = ByHand { engine: Engine::start(beginning, Rules::default()) };
    assert_eq!(run.next(), Step::CheckInput { agent: "triage".to_owned() });
}

#[test]
fn each_turn_is_written_when_it_is_complete() {
    let mut run = run_with(Rules::default());
    run.turn(setup(), vec![call("c1", "time", "{}")]).unwrap();
    assert_eq!(run.saved(), [""; 0], "the output is still to come");
    run.tools_return(&["noon"]);
    assert_eq!(run.saved(), ["c1", "c1 = noon"]);
    run.turn(setup(), vec![call("h1", "transfer_to_sales", "{}")]).unwrap();
    run.hand_off();
    assert_eq!(run.saved(), ["h1", r#"h1 = {"assistant": "sales"}"#]);
    assert_eq!(run.next(), starts("sales", 3));
}

#[test]
fn the_last_turn_is_written_when_the_guardrails_have_passed_it() {
    let mut run = run_with(Rules::default());
    run.turn(setup(), vec![message("noon")]).unwrap();
    assert!(matches!(run.next(), Step::Conclude { .. }));
    run.resolve(Resolution::OutputChecked(vec![])).unwrap();
    assert_eq!(run.saved(), ["noon"]);
    assert!(matches!(run.next(), Step::Done { .. }));
}

#[test]
fn the_first_turn_is_written_when_all_input_guardrails_have_passed() {
    let mut run = ByHand { engine: Engine::start(with_session(), Rules::default()) };
    run.resolve(Resolution::InputChecked { results: vec![], more: true }).unwrap();
    run.turn(setup(), vec![call("c1", "time", "{}")]).unwrap();
    run.tools_return(&["noon"]);
    assert_eq!(run.next(), Step::AdmitInput);
    let passed =
        InputGuardrailResult { guardrail: "polite".to_owned(), tripwire_triggered: false, output_info: Value::Null };
    run.resolve(Resolution::InputChecked { results: vec![passed], more: false }).unwrap();
    assert_eq!(run.saved(), ["hi"]);
    assert_eq!(run.saved(), ["c1", "c1 = noon"]);
}

#[test]
fn a_paused_turn_is_written_without_placeholders_and_then_only_what_is_new() {
    let mut run = run_with(Rules::default());
    run.turn(setup(), vec![call("c1", "pay", "{}"), call("c2", "time", "{}")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval, CallResult::Output("noon".into())]);
    assert_eq!(run.saved(), ["c1", "c2", "c2 = noon"]);
    run.decide(&[]);
    assert_eq!(run.saved(), [""; 0], "nothing was decided");
    run.decide(&[("c1", Decision::approve())]);
    run.offer(&["pay", "time"]).unwrap();
    run.tools_return(&["paid"]);
    assert_eq!(run.saved(), ["c1 = paid"]);
}

#[test]
fn a_paused_turn_that_may_end_with_a_guarded_output_is_held_back_until_it_is_complete() {
    let mut run = run_with(Rules::default());
    run.turn(guarded(), vec![call("c1", "weather", "{}"), call("c2", "time", "{}")]).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval, CallResult::NeedsApproval]);
    assert_eq!(run.saved(), [""; 0]);
    run.decide(&[("c1", Decision::approve())]);
    run.offer(&["weather", "time"]).unwrap();
    run.tools_return(&["sunny"]);
    assert_eq!(run.saved(), [""; 0]);
    run.decide(&[("c2", Decision::approve())]);
    run.offer(&["weather", "time"]).unwrap();
    run.tools_return(&["noon"]);
    assert_eq!(run.saved(), ["c1", "c2", "c1 = sunny", "c2 = noon"]);
    assert_eq!(run.next(), starts("triage", 2));
}

#[test]
fn what_a_handoff_hides_from_the_next_agent_is_written_all_the_same() {
    let mut run = run_with(Rules::default());
    run.turn(setup(), vec![message("one moment"), call("h1", "transfer_to_sales", "{}")]).unwrap();
    let state = run.engine.state();
    let mut data = HandoffInputData::new(vec![], vec![], state.items.clone());
    data.input_items = Some(vec![]);
    run.hand_off_with(Some(data));
    assert_eq!(run.saved(), ["one moment", "h1"]);
}

#[test]
fn reasoning_is_written_without_its_id_where_the_rules_say_so() {
    let rules = Rules { reasoning_item_ids: ReasoningItemIds::Omit, ..Rules::default() };
    let mut run = run_with(rules);
    let searched = item(json!({"type": "web_search_call", "id": "ws_1", "created_by": "x"}));
    run.turn(setup(), vec![reasoning("rs_1"), searched]).unwrap();
    let Step::Save { items } = run.next() else { panic!("nothing is to be written, but {:?}", run.next()) };
    let written: Vec<Value> = items.iter().map(Item::to_value).collect();
    assert_eq!(
        written,
        [json!({"type": "reasoning", "summary": []}), json!({"type": "web_search_call", "id": "ws_1"})]
    );
    run.saved();
    assert_eq!(run.prepare(setup()).input[2..], items, "and sent without it");
}

#[test]
fn a_hosted_call_that_came_twice_is_one_and_is_written_once() {
    let mut run = run_with(Rules::default());
    let searched = || item(json!({"type": "web_search_call", "id": "ws_1"}));
    run.turn(setup(), vec![searched(), searched()]).unwrap();
    assert_eq!(run.saved(), ["web_search_call"]);
    assert_eq!(progress(run.engine.state()), 1);
    assert_eq!(run.next(), turn_due("triage", 2));
}

#[test]
fn an_item_that_came_twice_is_written_once_and_both_count_as_written() {
    let mut run = run_with(Rules::default());
    let listed = || item(json!({"type": "mcp_list_tools", "id": "mcpl_1"}));
    run.turn(setup(), vec![listed(), listed(), item(json!({"type": "web_search_call"}))]).unwrap();
    assert_eq!(run.saved(), ["mcp_list_tools", "web_search_call"]);
    assert_eq!(progress(run.engine.state()), 3);
    assert_eq!(run.next(), turn_due("triage", 2));
}
