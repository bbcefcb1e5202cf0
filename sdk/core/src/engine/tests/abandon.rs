//! The items that a run keeps of a turn that an error has ended, and the items that its session
//! receives.

use rstest::rstest;

use super::*;
use crate::wire::run_state::{InputGuardrailResult, OutputGuardrailResult, ServerConversation};

fn with_session() -> Beginning {
    Beginning { session_input: Some(vec![Item::user("hi")]), ..beginning() }
}

/// The error of a failed model call.
fn no_model() -> RunError {
    let (agent, model, reason) = ("triage".to_owned(), "gpt-5".to_owned(), "it is down".to_owned());
    RunError::Model { agent, turn: 1, model, source: reason.clone().into(), reason }
}

fn panicked() -> RunError {
    let (function, agent) = ("the hooks".to_owned(), "triage".to_owned());
    RunError::Panicked { function, agent, message: "oh".to_owned() }
}

fn guardrail_failed() -> RunError {
    let (function, agent) = ("output guardrail \"polite\"".to_owned(), "triage".to_owned());
    RunError::Function { function, agent, source: "it is down".into() }
}

fn tripped_input() -> RunError {
    let result =
        InputGuardrailResult { guardrail: "polite".to_owned(), tripwire_triggered: true, output_info: Value::Null };
    RunError::InputGuardrailTripped { agent: "triage".to_owned(), result: Box::new(result) }
}

/// Ends the run with this error. Returns the items for the session, one line each.
fn abandon(run: &mut ByHand, error: &RunError) -> Vec<String> {
    let left = run.engine.abandon(error);
    run.through_json();
    left.iter().map(content).collect()
}

/// Starts a run whose first turn has reasoning, a message and calls `c1` and `c2`, of which `c2`
/// was complete when `c1` ended the run.
fn half_done(beginning: Beginning, setup: TurnSetup) -> ByHand {
    let mut run = ByHand::begin(beginning, Rules::default());
    let output = vec![
        reasoning("rs_1"),
        call("c1", "weather", "{}"),
        message("a moment"),
        reasoning("rs_2"),
        reasoning("rs_3"),
        call("c2", "time", "{}"),
    ];
    run.turn(setup, output).unwrap();
    let complete = ToolOutcome {
        input_guardrails: vec![finding("before")],
        output_guardrails: vec![finding("after")],
        ..outcome(1, CallResult::Output("noon".into()))
    };
    let found = GuardrailResults { tool_input: vec![finding("before c1")], ..GuardrailResults::default() };
    run.resolve(Resolution::ToolsFailed { outcomes: vec![complete], found }).unwrap();
    run
}

fn findings(run: &ByHand) -> (usize, usize) {
    let found = &run.engine.state().guardrails;
    (found.tool_input.len(), found.tool_output.len())
}

#[test]
fn of_a_broken_turn_the_calls_that_ran_stay_with_their_outputs_and_their_reasoning() {
    let mut run = half_done(with_session(), setup());
    let left = abandon(&mut run, &no_model());
    assert_eq!(
        run.transcript(),
        [
            "triage: reasoning_item reasoning",
            "triage: reasoning_item reasoning",
            "triage: tool_call_item c2",
            "triage: tool_call_output_item c2 = noon",
        ]
    );
    assert_eq!(left, ["reasoning", "reasoning", "c2", "c2 = noon"]);
    assert_eq!(findings(&run), (2, 1), "what guardrails found stays with what ran");
}

#[test]
fn a_rejected_call_has_an_output_but_did_not_run() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c1", "weather", "{}"), call("c2", "time", "{}")]).unwrap();
    let rejected = ToolOutcome::new(0, CallResult::Output("not approved".into()));
    let outcomes = vec![rejected, outcome(1, CallResult::Output("noon".into()))];
    run.resolve(Resolution::ToolsFailed { outcomes, found: GuardrailResults::default() }).unwrap();
    abandon(&mut run, &no_model());
    assert_eq!(run.transcript(), ["triage: tool_call_item c2", "triage: tool_call_output_item c2 = noon"]);
}

#[test]
fn hosted_calls_stay_when_the_provider_says_they_are_complete() {
    let hosted = |id: &str, status: &str| item(json!({"type": "web_search_call", "id": id, "status": status}));
    let mut run = ByHand::start();
    let output = vec![hosted("ws_1", "completed"), hosted("ws_2", "in_progress"), call("c1", "weather", "{}")];
    run.turn(setup(), output).unwrap();
    abandon(&mut run, &no_model());
    assert_eq!(run.raw_items(), [hosted("ws_1", "completed")]);
}

#[rstest]
#[case::nothing_ran(ByHand::start())]
#[case::the_provider_keeps_the_conversation(half_done(
    Beginning {
        server: Some(ServerConversation {
            conversation_id: None,
            previous_response_id: None,
            chained: true,
            has_input: false,
            began_here: true,
            seen_items: 0,
        }),
        ..beginning()
    },
    setup()
))]
#[case::an_output_guardrail_would_look_at_the_outputs(half_done(
    beginning(),
    TurnSetup { tool_use: ToolUse::StopOnFirstTool, guards_output: true, ..setup() }
))]
fn nothing_of_the_turn_stays_when(#[case] mut run: ByHand) {
    if let Step::PrepareTurn { .. } = run.next() {
        run.turn(setup(), vec![message("a moment"), call("c1", "weather", "{}")]).unwrap();
        let found = GuardrailResults { tool_input: vec![finding("before c1")], ..GuardrailResults::default() };
        run.resolve(Resolution::ToolsFailed { outcomes: Vec::new(), found }).unwrap();
    }
    assert_eq!(abandon(&mut run, &no_model()), [""; 0]);
    assert_eq!(run.transcript(), [""; 0]);
    assert_eq!(findings(&run), (0, 0));
}

#[test]
fn complete_turns_stay_and_are_not_written_twice() {
    let mut run = ByHand::begin(with_session(), Rules::default());
    run.turn(setup(), vec![call("c1", "weather", "{}")]).unwrap();
    run.tools_return(&["sunny"]);
    assert_eq!(run.saved(), ["c1", "c1 = sunny"]);
    run.prepare(setup());
    assert_eq!(abandon(&mut run, &no_model()), [""; 0]);
    assert_eq!(run.transcript(), ["triage: tool_call_item c1", "triage: tool_call_output_item c1 = sunny"]);
}

#[test]
fn a_complete_turn_that_is_not_written_yet_is_left_for_the_session() {
    let mut run = ByHand::begin(with_session(), Rules::default());
    run.turn(setup(), vec![message("a moment"), call("c1", "weather", "{}")]).unwrap();
    run.tools_return(&["sunny"]);
    assert_eq!(abandon(&mut run, &no_model()), ["a moment", "c1", "c1 = sunny"]);
}

#[test]
fn a_handoff_that_has_not_come_about_leaves_the_run_with_its_agent() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("h1", "transfer_to_refunds", "{}")]).unwrap();
    run.resolve(Resolution::HandedOff).unwrap();
    assert_eq!(run.engine.state().agent, "refunds");
    abandon(&mut run, &guardrail_failed());
    assert_eq!((&*run.engine.state().agent, run.transcript()), ("triage", vec![]));
}

#[test]
fn a_run_whose_session_cannot_be_written_keeps_everything_and_writes_nothing_again() {
    let mut run = ByHand::begin(with_session(), Rules::default());
    run.turn(setup(), vec![message("noon")]).unwrap();
    run.resolve(Resolution::OutputChecked(vec![])).unwrap();
    assert!(matches!(run.next(), Step::Save { .. }));
    let (session, source) = ("customer 7".to_owned(), "it is down".into());
    assert_eq!(abandon(&mut run, &RunError::Session { session, verb: "written", source }), [""; 0]);
    assert_eq!(run.transcript(), ["triage: message_output_item noon"]);
    assert!(matches!(run.engine.state().phase, Phase::Finished { .. }));
}

#[test]
fn a_finished_run_whose_last_write_was_cancelled_keeps_its_answer() {
    let mut run = ByHand::begin(with_session(), Rules::default());
    run.turn(setup(), vec![message("noon")]).unwrap();
    run.resolve(Resolution::OutputChecked(vec![])).unwrap();
    assert_eq!(run.saved(), ["noon"]);
    let cancelled = RunError::Cancelled { agent: "triage".to_owned(), turn: 1 };
    assert_eq!(abandon(&mut run, &cancelled), [""; 0]);
    assert_eq!(run.transcript(), ["triage: message_output_item noon"]);
}

#[rstest]
#[case::fails(guardrail_failed(), &["triage: message_output_item noon"])]
#[case::panics(panicked(), &[])]
fn a_final_output_stays_when_its_guardrail(#[case] error: RunError, #[case] stays: &[&str]) {
    let mut run = ByHand::begin(with_session(), Rules::default());
    run.turn(setup(), vec![message("noon")]).unwrap();
    let left = abandon(&mut run, &error);
    assert_eq!((run.transcript().len(), left.len()), (stays.len(), stays.len()));
    assert_eq!(run.transcript(), stays);
}

fn cancelled() -> RunError {
    RunError::Cancelled { agent: "triage".to_owned(), turn: 1 }
}

#[test]
fn what_ran_in_a_broken_turn_does_not_run_again() {
    for error in [no_model(), cancelled()] {
        let mut run = half_done(beginning(), setup());
        abandon(&mut run, &error);
        assert_eq!(run.next(), Step::Failed { reason: error.to_string() });
        assert_eq!(abandon(&mut run, &panicked()), [""; 0]);
        assert_eq!(run.next(), Step::Failed { reason: error.to_string() }, "the first error counts");
    }
}

#[test]
fn an_output_that_was_held_back_is_not_looked_at_again() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![message("noon")]).unwrap();
    let result = OutputGuardrailResult {
        guardrail: "polite".to_owned(),
        agent: "triage".to_owned(),
        agent_output: "noon".into(),
        tripwire_triggered: true,
        output_info: Value::Null,
    };
    let error = run.resolve(Resolution::OutputChecked(vec![result])).unwrap_err();
    abandon(&mut run, &error);
    assert_eq!(run.next(), Step::Failed { reason: error.to_string() });
}

#[rstest]
#[case::failed(no_model())]
#[case::was_cancelled(cancelled())]
fn a_run_whose_model_call_goes_on_with_it(#[case] error: RunError) {
    let mut run = ByHand::begin(with_session(), Rules::default());
    run.turn(setup(), vec![call("c1", "weather", "{}")]).unwrap();
    run.tools_return(&["sunny"]);
    run.saved();
    let asked = run.prepare(setup());
    abandon(&mut run, &error);
    run.take_up(run.engine.state().clone());
    assert_eq!(run.next(), Step::CallModel(Box::new(asked)));
    run.resolve(Resolution::Answered(response(vec![message("sunny")]))).unwrap();
    assert_eq!(run.output(), "sunny");
}

#[test]
fn a_run_out_of_turns_goes_on_when_it_gets_more() {
    let mut run = ByHand::with_max_turns(Some(1));
    run.turn(setup(), vec![call("c1", "weather", "{}")]).unwrap();
    run.tools_return(&["sunny"]);
    let error = run.resolve(Resolution::Handled(None)).unwrap_err();
    abandon(&mut run, &error);
    let state = RunState { max_turns: Some(2), ..run.engine.state().clone() };
    run.take_up(state);
    run.turn(setup(), vec![message("sunny")]).unwrap();
    assert_eq!(run.output(), "sunny");
}

#[test]
fn nothing_stays_of_a_first_turn_that_an_input_guardrail_has_stopped() {
    let mut run = ByHand { engine: Engine::start(with_session(), Rules::default()) };
    run.resolve(Resolution::InputChecked { results: vec![], more: true }).unwrap();
    run.turn(setup(), vec![call("c1", "weather", "{}"), call("h1", "transfer_to_refunds", "{}")]).unwrap();
    run.tools_return(&["sunny"]);
    run.hand_off();
    assert_eq!(run.next(), Step::AdmitInput);
    assert_eq!(abandon(&mut run, &tripped_input()), [""; 0], "the input is not kept");
    assert_eq!((&*run.engine.state().agent, run.transcript()), ("triage", vec![]));
}

#[test]
fn a_guardrail_inside_an_agent_used_as_a_tool_is_a_failure_of_that_tool() {
    let mut run = half_done(beginning(), setup());
    abandon(&mut run, &tripped_input());
    assert_eq!(run.transcript().last().unwrap(), "triage: tool_call_output_item c2 = noon");
}
