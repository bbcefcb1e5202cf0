use super::*;

#[test]
fn a_call_beside_the_model_call_is_still_to_come_when_a_workflow_task_ends() {
    let gate = LocalGate::default();
    let guardrail = gate.let_in(900_000);
    gate.reset_task_budget();
    assert!(!gate.has_room(200_000), "what the guardrail returns comes in this task");
    guardrail.returned(10_000);
    drop(guardrail);
    assert_eq!(gate.bytes.get(), 10_000 + AROUND);
    assert!(gate.has_room(200_000));
    gate.reset_task_budget();
    assert_eq!(gate.bytes.get(), 0);
}
