//! Final outputs that an output guardrail holds back.

use rstest::rstest;

use super::*;
use crate::wire::run_state::OutputGuardrailResult;

const WITHHELD: &str = "Output withheld by an output guardrail.";

fn found(guardrail: &str, output: &Value, tripwire_triggered: bool) -> OutputGuardrailResult {
    OutputGuardrailResult {
        guardrail: guardrail.to_owned(),
        agent: "triage".to_owned(),
        agent_output: output.clone(),
        tripwire_triggered,
        output_info: json!("it says so"),
    }
}

fn with_session(rules: Rules) -> ByHand {
    ByHand::begin(Beginning { session_input: Some(vec![Item::user("hi")]), ..beginning() }, rules)
}

/// Starts a run that ends with the output of a tool, which output guardrails check.
fn ends_with_a_tool(rules: Rules, output: Vec<Item>) -> ByHand {
    let mut run = with_session(rules);
    run.turn(TurnSetup { tool_use: ToolUse::StopOnFirstTool, guards_output: true, ..setup() }, output).unwrap();
    let due = run.due().len();
    run.tools_return(&vec!["the secret"; due]);
    run
}

/// Makes the second of three guardrails trip. Returns the error and the items for the session.
fn trip(run: &mut ByHand) -> (String, Vec<Item>) {
    let Step::Conclude { output, .. } = run.next() else { panic!("no final output, but {:?}", run.next()) };
    let looked_at = [("short", false), ("discreet", true), ("polite", true)];
    let results = looked_at.map(|(guardrail, trips)| found(guardrail, &output.value, trips)).to_vec();
    let error = run.resolve(Resolution::OutputChecked(results)).unwrap_err();
    let left = run.engine.abandon(&error);
    (error.to_string(), left)
}

#[test]
fn a_message_stays_in_the_run_and_out_of_the_session() {
    let mut run = with_session(Rules::default());
    run.turn(setup(), vec![call("c1", "time", "{}")]).unwrap();
    run.tools_return(&["noon"]);
    run.saved();
    run.turn(setup(), vec![reasoning("rs_1"), message("the secret")]).unwrap();
    let (error, left) = trip(&mut run);
    assert_eq!(error, r#"output guardrail "discreet" of agent "triage" tripped: it says so"#);
    assert_eq!(left, []);
    assert_eq!(run.transcript()[2..], ["triage: reasoning_item reasoning", "triage: message_output_item the secret"]);
    let output = json!("the secret");
    assert_eq!(
        run.engine.state().guardrails.output,
        [found("short", &output, false), found("discreet", &output, true)],
        "what was asked after the first that trips is not told"
    );
}

#[rstest]
#[case::the_fixed_text(Rules::default(), WITHHELD)]
#[case::the_authors_text(Rules { blocked_message: Some("(gone)".to_owned()), ..Rules::default() }, "(gone)")]
fn the_output_of_a_tool_is_withheld_from_the_session_and_from_the_findings(
    #[case] rules: Rules,
    #[case] placeholder: &str,
) {
    let mut run = ends_with_a_tool(rules, vec![call("c1", "weather", "{}"), call("c2", "time", "{}")]);
    let (error, left) = trip(&mut run);
    assert_eq!(error, r#"output guardrail "discreet" of agent "triage" tripped"#, "nor what was found");
    let output = |id: &str| format!("{id} = {placeholder}");
    assert_eq!(left.iter().map(content).collect::<Vec<_>>(), ["c1", "c2", &output("c1"), &output("c2")]);
    let withheld = |guardrail: &str, trips| OutputGuardrailResult {
        output_info: Value::Null,
        ..found(guardrail, &placeholder.into(), trips)
    };
    assert_eq!(run.engine.state().guardrails.output, [withheld("short", false), withheld("discreet", true)]);
}

#[test]
fn messages_beside_the_call_are_withheld_altogether() {
    let mut run = ends_with_a_tool(Rules::default(), vec![message("I shall tell"), call("c1", "weather", "{}")]);
    let (_, left) = trip(&mut run);
    assert_eq!(left.iter().map(content).collect::<Vec<_>>(), ["c1", &format!("c1 = {WITHHELD}")]);
}

#[rstest]
#[case::reasoning(reasoning("rs_1"))]
#[case::a_hosted_call(item(json!({"type": "web_search_call", "id": "ws_1", "status": "completed"})))]
#[case::an_unknown_kind(item(json!({"type": "hologram"})))]
fn nothing_is_left_of_a_turn_with_something_no_placeholder_can_stand_for(#[case] other: Item) {
    let mut run = ends_with_a_tool(Rules::default(), vec![other, call("c1", "weather", "{}")]);
    assert_eq!(trip(&mut run).1, []);
}

#[test]
fn earlier_turns_are_written_and_stay() {
    let mut run = with_session(Rules::default());
    run.turn(setup(), vec![call("c0", "time", "{}")]).unwrap();
    run.tools_return(&["noon"]);
    assert_eq!(run.saved(), ["c0", "c0 = noon"]);
    run.turn(TurnSetup { tool_use: ToolUse::StopOnFirstTool, ..setup() }, vec![call("c1", "weather", "{}")]).unwrap();
    run.tools_return(&["the secret"]);
    let (_, left) = trip(&mut run);
    assert_eq!(left.iter().map(content).collect::<Vec<_>>(), ["c1", &format!("c1 = {WITHHELD}")]);
}

#[test]
fn a_withheld_output_of_the_handler_of_max_turns_is_no_item_of_the_run() {
    let mut run = ByHand::with_max_turns(Some(1));
    run.turn(setup(), vec![call("c1", "time", "{}")]).unwrap();
    run.tools_return(&["noon"]);
    let gives = HandlerOutput { value: json!("the secret"), message: Some(message("the secret")) };
    run.resolve(Resolution::Handled(Some(gives))).unwrap();
    assert_eq!(run.transcript().len(), 3);
    trip(&mut run);
    assert_eq!(run.transcript(), ["triage: tool_call_item c1", "triage: tool_call_output_item c1 = noon"]);
}

#[test]
fn findings_that_pass_are_kept_and_the_run_ends() {
    let mut run = with_session(Rules::default());
    run.turn(setup(), vec![message("noon")]).unwrap();
    run.resolve(Resolution::OutputChecked(vec![found("short", &json!("noon"), false)])).unwrap();
    assert_eq!(run.engine.state().guardrails.output, [found("short", &json!("noon"), false)]);
    assert_eq!(run.saved(), ["noon"]);
    assert_eq!(run.next(), Step::Done { output: json!("noon") });
}
