//! A state that is resumed with other agents than it was stored with.

use rstest::rstest;
use schemars::JsonSchema;
use serde::Deserialize;

use super::*;
use crate::agent::Agent;
use crate::agent::Handoff;
use crate::{
    agent::Graph,
    tool::ToolDef,
    wire::{
        WireVersion,
        run_state::{Phase, Rewritten, ToolRound},
    },
};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn tool(name: &str) -> ToolDef {
    ToolDef::inline(name, "", |_ctx, Nothing {}| Ok("".into()))
}

fn clerk() -> Agent {
    Agent::new("clerk").tool(tool("sign"))
}

/// The agents that all states in this file were stored with.
fn triage() -> Agent {
    without_tools().tool(tool("pay")).tool(tool("time")).tool(clerk().as_tool())
}

fn without_tools() -> Agent {
    Agent::new("triage").handoff(Agent::new("refunds").tool(tool("pay")))
}

/// A run that waits for `pay` and for a call of the nested run `clerk`; `time` has its output, and
/// a handoff follows.
fn paused() -> RunState {
    let mut run = ByHand::start();
    let output = vec![
        call("c1", "pay", "{}"),
        call("c2", "time", "{}"),
        call("c3", "clerk", "{}"),
        call("h1", "transfer_to_refunds", "{}"),
    ];
    run.turn(setup(), output).unwrap();
    run.tools_come_to(vec![CallResult::NeedsApproval, CallResult::Output("noon".into()), paused_clerk(&["i1"])]);
    run.engine.into_state()
}

fn at(phase: Phase) -> RunState {
    RunState { phase, ..ByHand::start().engine.into_state() }
}

fn issues(state: &RunState, start: &Agent) -> Vec<String> {
    let fits = check_fit(state, &Graph::new(start.def()));
    fits.err().map_or_else(Vec::new, |mismatch| mismatch.issues.iter().map(ToString::to_string).collect())
}

#[test]
fn a_state_fits_the_agents_it_was_stored_with() {
    assert_eq!(issues(&paused(), &triage()), [""; 0]);
    assert_eq!(issues(&at(Phase::TurnDue), &triage()), [""; 0]);
}

#[test]
fn all_that_is_missing_is_listed() {
    let gone = Agent::new("triage").tool(Agent::new("clerk").as_tool());
    let error = check_fit(&paused(), &Graph::new(gone.def())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the state of the run does not match its agents:\n\
         - agent \"triage\" has no tool \"pay\", but call \"c1\" of it is pending\n\
         - agent \"clerk\" has no tool \"sign\", but call \"i1\" of it is pending\n\
         - agent \"triage\" has no handoff \"transfer_to_refunds\", but the handoff is due"
    );
}

#[test]
fn a_call_that_has_its_output_needs_its_tool_no_more() {
    let without_time = without_tools().tool(tool("pay")).tool(clerk().as_tool());
    assert_eq!(issues(&paused(), &without_time), [""; 0]);
}

#[test]
fn a_tool_that_is_no_agent_any_more_cannot_take_up_a_run() {
    let plain = without_tools().tool(tool("pay")).tool(tool("clerk"));
    assert_eq!(
        issues(&paused(), &plain),
        [r#"tool "clerk" of agent "triage" is not an agent, but its call "c3" is a paused run"#]
    );
}

#[test]
fn the_agent_whose_turn_it_is_must_be_reachable() {
    let mut state = paused();
    state.agent = "archive".to_owned();
    assert_eq!(
        issues(&state, &triage()),
        [r#"agent "archive" is not reachable from "triage" (reachable agents: refunds, triage)"#]
    );
}

#[test]
fn a_run_inside_goes_on_with_an_agent_of_its_own_graph() {
    let renamed =
        without_tools().tool(tool("pay")).tool(Agent::new("notary").tool(tool("sign")).as_tool().name("clerk"));
    assert_eq!(
        issues(&paused(), &renamed),
        [r#"agent "clerk" is not reachable from "notary" (reachable agents: notary)"#]
    );
}

#[rstest]
#[case::to_another_agent(Handoff::to_agent(Agent::new("sales")).tool_name("transfer_to_refunds"))]
#[case::of_another_name(Handoff::to_agent(Agent::new("refunds")).tool_name("to_refunds"))]
fn a_handoff_that_is_due_must_be_there_and_lead_where_it_led(#[case] handoff: Handoff) {
    let due = PlannedHandoff {
        tool_name: "transfer_to_refunds".to_owned(),
        variant: 0,
        target: "refunds".to_owned(),
        call_id: "h1".to_owned(),
        arguments: "{}".to_owned(),
    };
    let state = at(Phase::HandoffDue { handoffs: vec![due] });
    assert_eq!(issues(&state, &triage()), [""; 0]);
    assert_eq!(
        issues(&state, &Agent::new("triage").handoff(handoff)),
        [r#"agent "triage" has no handoff "transfer_to_refunds", but the handoff is due"#]
    );
}

/// The round of a state of [`paused`], whose calls `c1` and `c3` are pending and whose handoff is
/// planned.
fn round() -> ToolRound {
    let Phase::Interrupted { round } = paused().phase else { panic!("it is paused") };
    *round
}

fn to_refunds() -> PlannedHandoff {
    round().handoffs.swap_remove(0)
}

#[rstest]
#[case::paused(Phase::Interrupted { round: Box::new(round()) })]
#[case::resumed(Phase::ResumeDue { round: Box::new(round()) })]
#[case::tools(Phase::ToolsDue { round: Box::new(round()) })]
#[case::questions(Phase::McpDue { round: Box::new(round()) })]
#[case::results(Phase::ToolUseDue { round: Box::new(round()) })]
fn what_a_round_names_must_be_there(#[case] phase: Phase) {
    assert_eq!(issues(&at(phase.clone()), &triage()), [""; 0]);
    assert_eq!(
        issues(&at(phase), &Agent::new("triage").tool(tool("pay")).tool(clerk().as_tool())),
        [r#"agent "triage" has no handoff "transfer_to_refunds", but the handoff is due"#]
    );
}

#[test]
fn a_handoff_that_the_model_is_about_to_be_offered_must_be_there() {
    let mut setup = setup();
    setup.definitions.handoffs.truncate(1);
    let state = at(Phase::ModelDue { setup: Box::new(setup) });
    assert_eq!(issues(&state, &triage()), [""; 0]);
    assert_eq!(
        issues(&state, &Agent::new("triage")),
        [r#"agent "triage" has no handoff "transfer_to_refunds", but its next model call offers it"#]
    );
}

#[test]
fn a_handoff_that_was_taken_needs_the_agent_it_came_from() {
    let rewrite_due = |source: &str| RunState {
        agent: "refunds".to_owned(),
        ..at(Phase::RewriteDue { handoff: to_refunds(), source: source.to_owned() })
    };
    assert_eq!(issues(&rewrite_due("triage"), &triage()), [""; 0]);
    assert_eq!(
        issues(&rewrite_due("nobody"), &triage()),
        [r#"agent "nobody" is not reachable from "triage" (reachable agents: refunds, triage)"#]
    );
    let by_another_name = Handoff::to_agent(Agent::new("refunds")).tool_name("to_refunds");
    assert_eq!(
        issues(&rewrite_due("triage"), &Agent::new("triage").handoff(by_another_name)),
        [r#"agent "triage" has no handoff "transfer_to_refunds", but the handoff is due"#]
    );
}

#[test]
fn a_run_that_failed_half_way_through_a_turn_cannot_go_on() {
    assert_eq!(
        issues(&at(Phase::Failed { reason: "no funds".to_owned() }), &triage()),
        ["the run has failed and cannot be resumed; start a new run: no funds"]
    );
}

#[test]
fn of_functions_of_one_name_the_one_that_was_offered_must_be_there() {
    let refunds = |name: &str| Handoff::to_agent(Agent::new(name)).tool_name("transfer_to_refunds");
    let both = Agent::new("triage").handoff(refunds("basic")).handoff(refunds("refunds"));
    let due = |variant| at(Phase::HandoffDue { handoffs: vec![PlannedHandoff { variant, ..to_refunds() }] });
    assert_eq!(issues(&due(1), &both), [""; 0]);
    assert_eq!(
        issues(&due(0), &both),
        [r#"agent "triage" has no handoff "transfer_to_refunds", but the handoff is due"#],
        "the first one leads elsewhere"
    );
    let setup = TurnSetup { variants: [("transfer_to_refunds".to_owned(), 1)].into(), ..setup() };
    let mut setup = Box::new(setup);
    setup.definitions.handoffs.truncate(1);
    assert_eq!(issues(&at(Phase::ModelDue { setup }), &both), [""; 0]);

    let mut second = round();
    second.calls[0].call.variant = 1;
    let pending = at(Phase::Interrupted { round: Box::new(second) });
    assert_eq!(issues(&pending, &triage().tool(tool("pay"))), [""; 0]);
    assert_eq!(issues(&pending, &triage()), [r#"agent "triage" has no tool "pay", but call "c1" of it is pending"#]);
}

#[test]
fn a_handoff_that_is_due_is_named() {
    assert_eq!(
        issues(&at(Phase::HandoffDue { handoffs: Vec::new() }), &triage()),
        [r#"a handoff of agent "triage" is due, but the state names none"#]
    );
}

#[rstest]
#[case::turns(|state: &mut RunState| state.turn = u32::MAX)]
#[case::places(|state: &mut RunState| {
    let TurnMark { items, .. } = &mut state.turn_began;
    *items = usize::MAX;
    state.rewritten = Some(Rewritten { items: Vec::new(), stands_for: usize::MAX, in_input: vec![usize::MAX] });
})]
fn absurd_numbers_in_a_state_are_no_panic(#[case] change: fn(&mut RunState)) {
    let mut run = ByHand::with_max_turns(None);
    let mut state = run.engine.state().clone();
    change(&mut state);
    run.take_up(state);
    run.turn(setup(), vec![call("h1", "transfer_to_refunds", "{}")]).unwrap();
    change(&mut run.engine.state);
    let Step::TakeHandoff { .. } = run.next() else { panic!("a handoff is due, but {:?}", run.next()) };
    run.resolve(Resolution::HandedOff).unwrap();
    let Step::Rewrite { data, .. } = run.next() else { panic!("a rewrite is due, but {:?}", run.next()) };
    run.resolve(Resolution::Rewritten(Some(data))).unwrap();
    run.turn(setup(), vec![message("noon")]).unwrap();
    assert_eq!(run.output(), "noon");
}

#[test]
fn a_call_of_a_tool_that_never_was_needs_none() {
    let mut run = ByHand::with_rules(telling_the_model());
    run.turn(setup(), vec![call("c1", "nonsense", "{}"), call("c2", "pay", "{}")]).unwrap();
    assert_eq!(issues(run.engine.state(), &triage()), [""; 0]);
}

#[test]
fn a_state_of_another_major_version_is_told_so_and_not_looked_into() {
    let mut state = paused();
    state.version = WireVersion { major: 9, minor: 2 };
    assert_eq!(
        issues(&state, &Agent::new("another")),
        ["run state has wire version 9.2, this build reads 0.x and 1.2; deploy a newer worker"]
    );
}

#[rstest]
#[case::the_major_before(WireVersion { major: WIRE_VERSION.major - 1, minor: 3 })]
#[case::a_later_minor(WireVersion { minor: WIRE_VERSION.minor + 1, ..WIRE_VERSION })]
fn a_state_of_a_version_that_is_read_here_is_taken_up(#[case] version: WireVersion) {
    let state = RunState { version, ..paused() };
    assert_eq!(issues(&state, &triage()), [""; 0]);
    let json = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<RunState>(&json).unwrap(), state);
}

#[rstest]
#[case::a_later_major(
    r#"{"kind": "of another shape", "version": {"major": 2, "minor": 0}}"#,
    "run state has wire version 2.0, this build reads 0.x and 1.2; deploy a newer worker"
)]
#[case::none(r#"{"kind": "of another shape"}"#, "missing field `version`")]
fn the_version_of_a_state_is_read_before_anything_else(#[case] json: &str, #[case] expected: &str) {
    assert_eq!(serde_json::from_str::<RunState>(json).unwrap_err().to_string(), expected);
}
