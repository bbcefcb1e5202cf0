use temporal_agents_core::tool::idempotency_key;

use super::key;

#[test]
fn two_executions_of_a_standalone_activity_have_different_keys() {
    let activity = ["default", "", "", "review-7"];
    assert_ne!(key(activity, Some("run-1")), key(activity, Some("run-2")));
    assert_eq!(key(activity, Some("run-1")), key(activity, Some("run-1")));
}

#[test]
fn an_activity_of_a_workflow_is_named_by_its_workflow() {
    let activity = ["default", "office", "run-1", "review-7"];
    assert_eq!(key(activity, None), idempotency_key(activity), "sessions under way keep their names");
}
