//! Rules by which tool outputs end a run.

use rstest::rstest;

use super::*;
use crate::{
    agent::ToolResult,
    wire::run_state::{FinalOutput, FinalSource},
};

fn with_rule(tool_use: ToolUse) -> TurnSetup {
    TurnSetup { tool_use, ..setup() }
}

fn stop_at(tool: &str) -> ToolUse {
    ToolUse::StopAtTools { tools: vec![tool.to_owned()] }
}

fn both_tools() -> Vec<Item> {
    vec![message("a moment"), call("c1", "weather", "{}"), call("c2", "time", "{}")]
}

#[rstest]
#[case::the_first_call(ToolUse::StopOnFirstTool, "sunny")]
#[case::a_named_tool(stop_at("time"), "noon")]
fn an_output_of_a_tool_ends_the_run(#[case] rule: ToolUse, #[case] output: &str) {
    let mut run = ByHand::start();
    run.turn(with_rule(rule), both_tools()).unwrap();
    run.tools_return(&["sunny", "noon"]);
    assert_eq!(run.output(), output);
    assert_eq!(run.transcript().len(), 5, "all items of the turn stay");
}

#[rstest]
#[case::no_rule(ToolUse::RunLlmAgain)]
#[case::another_tool(stop_at("refund"))]
fn without_a_stopping_output_the_model_goes_on(#[case] rule: ToolUse) {
    let mut run = ByHand::start();
    run.turn(with_rule(rule), both_tools()).unwrap();
    run.tools_return(&["sunny", "noon"]);
    assert_eq!(run.next(), turn_due("triage", 2));
}

#[test]
fn of_two_named_tools_the_first_call_counts() {
    let mut run = ByHand::start();
    let rule = ToolUse::StopAtTools { tools: vec!["time".to_owned(), "weather".to_owned()] };
    run.turn(with_rule(rule), both_tools()).unwrap();
    run.tools_return(&["sunny", "noon"]);
    assert_eq!(run.output(), "sunny");
}

#[test]
fn an_output_of_a_tool_is_not_read_as_the_output_type() {
    let mut run = ByHand::start();
    run.turn(TurnSetup { tool_use: ToolUse::StopOnFirstTool, ..structured() }, both_tools()).unwrap();
    run.tools_return(&["no json", "noon"]);
    assert_eq!(run.output(), "no json");
}

#[test]
fn content_parts_end_a_run_as_their_json() {
    let mut run = ByHand::start();
    run.turn(with_rule(ToolUse::StopOnFirstTool), vec![call("c1", "weather", "{}")]).unwrap();
    run.tools_come_to(vec![CallResult::Output(ToolOutput::Content(vec![json!({"type": "input_text", "text": "x"})]))]);
    assert_eq!(run.output(), r#"[{"type":"input_text","text":"x"}]"#);
}

#[test]
fn a_handoff_goes_before_a_stop_rule() {
    let mut run = ByHand::start();
    let output = vec![call("c1", "weather", "{}"), call("h1", "transfer_to_sales", "{}")];
    run.turn(with_rule(ToolUse::StopOnFirstTool), output).unwrap();
    run.tools_return(&["sunny"]);
    run.hand_off();
    assert_eq!(run.next(), starts("sales", 2));
}

#[test]
fn what_a_model_is_told_of_an_unknown_tool_is_no_output_of_a_tool() {
    let mut run = ByHand::with_rules(telling_the_model());
    run.turn(with_rule(ToolUse::StopOnFirstTool), vec![call("c1", "nonsense", "{}")]).unwrap();
    run.tools_return(&["not found"]);
    assert_eq!(run.next(), turn_due("triage", 2));
}

#[test]
fn an_agents_own_rule_is_asked_about_the_results_in_call_order() {
    let mut run = ByHand::start();
    run.turn(with_rule(ToolUse::Custom), both_tools()).unwrap();
    run.tools_return(&["sunny", "noon"]);
    let results = vec![ToolResult::new("weather", "c1", "sunny".into()), ToolResult::new("time", "c2", "noon".into())];
    assert_eq!(run.next(), Step::DecideToolUse { agent: "triage".to_owned(), results });
    run.resolve(Resolution::ToolUseDecided(Some(json!({"hour": 12})))).unwrap();
    let Step::Conclude { output, .. } = run.next() else { panic!("no final output, but {:?}", run.next()) };
    assert_eq!(output, FinalOutput { value: json!({"hour": 12}), source: FinalSource::Tool });
}

#[test]
fn an_agents_own_rule_may_let_the_model_go_on() {
    let mut run = ByHand::start();
    run.turn(with_rule(ToolUse::Custom), both_tools()).unwrap();
    run.tools_return(&["sunny", "noon"]);
    run.resolve(Resolution::ToolUseDecided(None)).unwrap();
    assert_eq!(run.next(), turn_due("triage", 2));
}

#[test]
fn an_agents_own_rule_is_not_asked_about_nothing() {
    let mut run = ByHand::with_rules(telling_the_model());
    run.turn(with_rule(ToolUse::Custom), vec![call("c1", "nonsense", "{}")]).unwrap();
    run.tools_return(&["not found"]);
    assert_eq!(run.next(), turn_due("triage", 2));
}

/// A run with this rule, which waits for call `c1` of `weather`; call `c2` of `time` has its
/// output.
fn one_waiting(rule: ToolUse) -> ByHand {
    let mut run = ByHand::start();
    run.turn(with_rule(rule), both_tools()).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval, CallResult::Output("noon".into())]);
    run.decide(&[("c1", Decision::reject())]);
    run.offer(&["weather", "time"]).unwrap();
    let rejected = ToolOutcome::new(0, CallResult::Output("not approved".into()));
    run.resolve(Resolution::ToolsRan(vec![rejected])).unwrap();
    run
}

#[test]
fn after_a_pause_the_first_call_counts_though_another_had_its_output_earlier() {
    assert_eq!(one_waiting(ToolUse::StopOnFirstTool).output(), "not approved");
}

#[test]
fn after_a_pause_a_named_tool_that_ran_before_it_ends_the_run() {
    assert_eq!(one_waiting(stop_at("time")).output(), "noon");
}

#[test]
fn after_a_pause_an_agents_own_rule_sees_all_results_of_the_turn() {
    let run = one_waiting(ToolUse::Custom);
    let results =
        vec![ToolResult::new("weather", "c1", "not approved".into()), ToolResult::new("time", "c2", "noon".into())];
    assert_eq!(run.next(), Step::DecideToolUse { agent: "triage".to_owned(), results });
}
