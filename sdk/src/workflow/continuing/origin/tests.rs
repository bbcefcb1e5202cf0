use serde_json::{Value, json};

use super::*;

#[test]
fn only_a_workflow_that_has_continued_itself_leaves_something() {
    use ContinueAsNewInitiator::{CronSchedule, Retry, Unspecified, Workflow};

    assert_eq!(continued(Some("before"), Workflow, false), Ok("before"));
    assert_eq!(continued(Some("before"), Unspecified, false), Ok("before"));
    assert_eq!(continued(None, Unspecified, false), Err(NotContinued::Started));
    assert_eq!(continued(None, Unspecified, true), Err(NotContinued::Started));
    assert_eq!(continued(Some("before"), Retry, false), Err(NotContinued::Retry));
    assert_eq!(continued(Some("before"), Retry, true), Err(NotContinued::Retry));
    assert_eq!(continued(Some("before"), CronSchedule, true), Err(NotContinued::Cron));
    assert_eq!(continued(Some("before"), Workflow, true), Err(NotContinued::Cron));
    assert_eq!(
        check("desk", Err(NotContinued::Cron), &inline(&json!({"kind": "turn_due"}))).unwrap_err().to_string(),
        "the run that the input carries is refused: the workflow has a cron schedule, whose executions all begin with \
         the same input; start it by a Temporal schedule instead (agent \"desk\")"
    );
}

fn state(phase: &Value) -> RunState {
    let usage = json!({"requests": 0, "input_tokens": 0, "output_tokens": 0, "total_tokens": 0});
    let state = json!({
        "version": "1.1", "agent": "desk", "input": [], "items": [], "turn": 1, "usage": usage, "phase": phase
    });
    serde_json::from_value(state).expect("a state")
}

fn inline(phase: &Value) -> CarriedState {
    CarriedState::Inline { state: Box::new(state(phase)) }
}

#[test]
fn a_state_is_read_from_the_execution_before_and_from_no_other() {
    let kept = json!({"kind": "kept", "run_id": "victim", "activity_ids": ["a"], "bytes": 1, "digest": digest()});
    let kept: CarriedState = serde_json::from_value(kept).expect("a place");
    assert!(check("desk", Ok("victim".to_owned()), &kept).is_ok());
    assert_eq!(
        check("desk", Ok("before".to_owned()), &kept).unwrap_err().to_string(),
        "the run that the input carries is refused: its state is in the history of execution \"victim\", but the \
         previous execution is \"before\" (agent \"desk\")"
    );
}

fn digest() -> Value {
    serde_json::to_value(temporal_agents_core::wire::digest::Digest::of_text("{}")).expect("a digest")
}

#[test]
fn a_run_is_taken_up_only_where_runs_are_left() {
    for left in [
        json!({"kind": "turn_due"}),
        json!({"kind": "interrupted", "round": {"calls": []}}),
        json!({"kind": "finished", "output": "done"}),
    ] {
        assert!(check_phase("desk", &state(&left)).is_ok(), "{left}");
    }
    let refused = |phase: &Value| check_phase("desk", &state(phase)).map_err(|error| error.to_string());
    assert_eq!(
        refused(&json!({"kind": "tools_due", "round": {"calls": []}})),
        Err("the run that the input carries is refused: it is in phase \"tools_due\", but a run is carried only at \
             the beginning of a turn (\"turn_due\"), while it waits for decisions (\"interrupted\"), or at its end \
             (\"finished\") (agent \"desk\")"
            .to_owned())
    );
    for inside in [
        json!({"kind": "resume_due", "round": {"calls": []}}),
        json!({"kind": "mcp_due", "round": {"calls": []}}),
        json!({"kind": "tool_use_due", "round": {"calls": []}}),
        json!({"kind": "output_due", "text": "{}"}),
        json!({"kind": "failed", "reason": "no"}),
    ] {
        assert!(refused(&inside).is_err(), "{inside}");
    }
}
