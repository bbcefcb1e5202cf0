//! Handoffs: their items, their messages, and the next agent.

use super::*;
use crate::wire::run_state::HandoffEnds;

fn to_refunds() -> Item {
    call("h1", "transfer_to_refunds", "{}")
}

#[test]
fn of_handoffs_of_one_name_the_one_that_was_offered_is_taken() {
    let mut run = ByHand::start();
    let setup = TurnSetup { variants: [("transfer_to_refunds".to_owned(), 2)].into(), ..setup() };
    run.turn(setup, vec![to_refunds()]).unwrap();
    let Step::TakeHandoff { handoff, .. } = run.next() else { panic!("a handoff is due, but {:?}", run.next()) };
    assert_eq!((&*handoff.tool_name, handoff.variant), ("transfer_to_refunds", 2));
}

#[test]
fn a_handoff_switches_the_agent_and_answers_the_call_in_the_words_of_the_reference() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![message("one moment"), call("h1", "transfer_to_refunds", r#"{"reason":"broken"}"#)])
        .unwrap();
    assert_eq!(
        run.next(),
        Step::TakeHandoff {
            agent: "triage".to_owned(),
            handoff: PlannedHandoff {
                tool_name: "transfer_to_refunds".to_owned(),
                variant: 0,
                target: "refunds".to_owned(),
                call_id: "h1".to_owned(),
                arguments: r#"{"reason":"broken"}"#.to_owned(),
            },
        },
        "a handoff beats the message beside it"
    );
    run.hand_off();
    assert_eq!(
        run.transcript(),
        [
            "triage: message_output_item one moment",
            "triage: handoff_call_item h1",
            r#"triage: handoff_output_item h1 = {"assistant": "refunds"}"#,
        ]
    );
    assert_eq!(
        run.engine.state().items[2].handoff,
        Some(HandoffEnds { source: "triage".to_owned(), target: "refunds".to_owned() })
    );
    assert_eq!(run.next(), starts("refunds", 2));
    let call = run.prepare(setup());
    assert_eq!((&*call.agent, call.turn, call.input.len()), ("refunds", 2, 4), "the conversation goes on");
}

#[test]
fn an_agent_name_that_json_escapes_is_escaped_in_the_answer() {
    let mut setup = setup();
    setup.definitions.handoffs[0].agent_name = r#"the ":" one"#.to_owned();
    let mut run = ByHand::start();
    run.turn(setup, vec![to_refunds()]).unwrap();
    run.hand_off();
    assert_eq!(run.transcript()[1], r#"triage: handoff_output_item h1 = {"assistant": "the \":\" one"}"#);
}

#[test]
fn of_two_handoffs_the_first_is_taken_and_tools_run_before_it() {
    let mut run = ByHand::start();
    let output =
        vec![message("look"), call("t1", "weather", "{}"), to_refunds(), call("h2", "transfer_to_sales", "{}")];
    run.turn(setup(), output).unwrap();
    run.tools_return(&["sunny"]);
    run.hand_off();
    assert_eq!(
        run.transcript(),
        [
            "triage: message_output_item look",
            "triage: tool_call_item t1",
            "triage: handoff_call_item h1",
            "triage: handoff_call_item h2",
            "triage: tool_call_output_item t1 = sunny",
            "triage: tool_call_output_item h2 = Multiple handoffs detected, ignoring this one.",
            r#"triage: handoff_output_item h1 = {"assistant": "refunds"}"#,
        ]
    );
    assert_eq!(run.next(), starts("refunds", 2));
}

#[test]
fn handoffs_may_go_in_circles_until_the_turns_are_used_up() {
    let mut run = ByHand::with_max_turns(Some(4));
    let mut back = setup();
    back.definitions.handoffs = vec![handoff("triage")];
    for (turn, setup, name) in [
        (1, setup(), "transfer_to_refunds"),
        (2, back.clone(), "transfer_to_triage"),
        (3, setup(), "transfer_to_refunds"),
        (4, back, "transfer_to_triage"),
    ] {
        run.turn(setup, vec![call(&format!("h{turn}"), name, "{}")]).unwrap();
        run.hand_off();
    }
    assert_eq!(run.next(), out_of_turns(4, "triage"));
    let agents: Vec<&str> = run.engine.state().items.iter().map(|item| &*item.agent).collect();
    assert_eq!(agents, ["triage", "triage", "refunds", "refunds", "triage", "triage", "refunds", "refunds"]);
}

#[test]
fn an_agent_may_hand_off_to_itself() {
    let mut setup = setup();
    setup.definitions.handoffs = vec![handoff("triage")];
    let mut run = ByHand::start();
    run.turn(setup, vec![call("h1", "transfer_to_triage", "{}")]).unwrap();
    run.hand_off();
    assert_eq!(run.next(), starts("triage", 2));
}

#[test]
fn a_handoff_beats_a_tool_of_its_name() {
    let mut setup = setup();
    setup.definitions.tools.push(tool("transfer_to_refunds"));
    let mut run = ByHand::start();
    run.turn(setup, vec![to_refunds()]).unwrap();
    run.hand_off();
    assert_eq!(run.next(), starts("refunds", 2));
}

#[test]
fn of_two_handoffs_with_one_name_the_last_declared_is_meant() {
    let mut setup = setup();
    setup.definitions.handoffs[1].tool_name = "transfer_to_refunds".to_owned();
    let mut run = ByHand::start();
    run.turn(setup, vec![to_refunds()]).unwrap();
    run.hand_off();
    assert_eq!(run.next(), starts("sales", 2));
}

#[test]
fn a_handoff_that_is_not_offered_at_this_turn_is_an_unknown_tool() {
    let mut setup = setup();
    setup.definitions.handoffs.clear();
    let error = ByHand::start().turn(setup, vec![to_refunds()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"Tool transfer_to_refunds not found in agent triage (model behaviour, agent "triage", turn 1)"#
    );
}
