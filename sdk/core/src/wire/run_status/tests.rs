use rstest::rstest;
use serde_json::json;

use super::RunStatus;
use crate::wire::{AgentState, decode};

#[rstest]
#[case("queued", RunStatus::Queued)]
#[case("idle", RunStatus::Queued)]
#[case("running", RunStatus::Running)]
#[case("waiting", RunStatus::Waiting)]
#[case("completed", RunStatus::Completed)]
#[case("finished", RunStatus::Completed)]
#[case("failed", RunStatus::Failed)]
#[case("cancelled", RunStatus::Cancelled)]
#[case("terminated", RunStatus::Terminated)]
#[case("timed_out", RunStatus::TimedOut)]
#[case("gone", RunStatus::Gone)]
#[case("evaporated", RunStatus::Other)]
fn a_status_is_read_in_both_spellings_and_an_unknown_one_is_no_error(#[case] word: &str, #[case] status: RunStatus) {
    assert_eq!(serde_json::from_value::<RunStatus>(json!(word)).unwrap(), status);
    let state = json!({"version": "1.2", "status": word});
    assert_eq!(decode::<AgentState>("agent state", state).unwrap().status, status);
}

#[test]
fn a_status_is_written_with_its_own_name_but_in_the_state_of_a_workflow() {
    assert_eq!(
        serde_json::to_value([RunStatus::Queued, RunStatus::Completed]).unwrap(),
        json!(["queued", "completed"])
    );
    let state = json!({"version": "1.2", "status": "completed"});
    let state: AgentState = decode("agent state", state).unwrap();
    assert_eq!(serde_json::to_value(state).unwrap()["status"], "finished");
}

#[test]
fn a_run_of_an_unknown_status_may_still_change() {
    assert!(!RunStatus::Other.has_ended());
    assert!(RunStatus::Gone.has_ended());
}
