//! Every phase of a stored state: its kind, and its next step after it is read again.

use rstest::rstest;

use super::*;
use crate::wire::run_state::{FinalOutput, FinalSource, Phase, ToolRound};

fn round() -> ToolRound {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c1", "pay", "{}"), call("h1", "transfer_to_sales", "{}")]).unwrap();
    let Phase::ToolsDue { round } = run.engine.into_state().phase else { panic!("tools are due") };
    *round
}

fn planned() -> PlannedHandoff {
    round().handoffs.swap_remove(0)
}

/// Returns the name of a phase in JSON. A new phase does not compile until it is added here and to
/// the table below.
fn kind(phase: &Phase) -> &'static str {
    match phase {
        Phase::TurnDue => "turn_due",
        Phase::ModelDue { .. } => "model_due",
        Phase::ToolsDue { .. } => "tools_due",
        Phase::Interrupted { .. } => "interrupted",
        Phase::ResumeDue { .. } => "resume_due",
        Phase::McpDue { .. } => "mcp_due",
        Phase::ToolUseDue { .. } => "tool_use_due",
        Phase::HandoffDue { .. } => "handoff_due",
        Phase::RewriteDue { .. } => "rewrite_due",
        Phase::OutputDue { .. } => "output_due",
        Phase::ErrorDue { .. } => "error_due",
        Phase::FinalDue { .. } => "final_due",
        Phase::Finished { .. } => "finished",
        Phase::Failed { .. } => "failed",
    }
}

#[rstest]
#[case(Phase::TurnDue)]
#[case(Phase::ModelDue { setup: Box::new(structured()) })]
#[case(Phase::ToolsDue { round: Box::new(round()) })]
#[case(Phase::Interrupted { round: Box::new(round()) })]
#[case(Phase::ResumeDue { round: Box::new(round()) })]
#[case(Phase::McpDue { round: Box::new(round()) })]
#[case(Phase::ToolUseDue { round: Box::new(round()) })]
#[case(Phase::HandoffDue { handoffs: vec![planned()] })]
#[case(Phase::RewriteDue { handoff: planned(), source: "triage".to_owned() })]
#[case(Phase::OutputDue { text: "{}".to_owned(), incomplete: Some("max_output_tokens".to_owned()) })]
#[case(Phase::ErrorDue { error: Recoverable::EmptyFinalOutput })]
#[case(Phase::FinalDue { output: FinalOutput { value: json!({"hour": 12}), source: FinalSource::Message } })]
#[case(Phase::Finished { output: Value::Null })]
#[case(Phase::Failed { reason: "it is down".to_owned() })]
fn a_state_in_this_phase_is_stored_under_its_kind_and_read_again(#[case] phase: Phase) {
    let mut run = ByHand::start();
    run.engine.state.phase = phase;
    run.through_json();
    let json = serde_json::to_value(run.engine.state()).unwrap();
    assert_eq!(json["phase"]["kind"], kind(&run.engine.state().phase));
    run.next();
}

#[test]
fn a_phase_of_a_later_release_is_not_read() {
    let mut json = serde_json::to_value(ByHand::start().engine.state()).unwrap();
    json["phase"] = json!({"kind": "dream_due"});
    let error = serde_json::from_value::<RunState>(json).unwrap_err().to_string();
    assert!(error.starts_with("unknown variant `dream_due`, expected one of `turn_due`, "), "{error}");
}
