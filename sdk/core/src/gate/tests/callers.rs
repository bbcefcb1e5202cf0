//! The gates of callers, in the child workflows of their agents.

use rstest::rstest;
use serde_json::{Value, json};

use super::{Gate, GateMode, GateVerdict, GatedCall, Rule, found};
use crate::agent::Agent;
use crate::{gate::Judgement, wire::PassedGate};

fn rule(value: Value) -> Rule {
    serde_json::from_value(value).expect("a rule")
}

fn deny(program: &str) -> Rule {
    rule(json!({"id": format!("no-{program}"), "decision": "deny", "program": program}))
}

fn allow(program: &str) -> Rule {
    rule(json!({"id": program, "decision": "allow", "program": program}))
}

fn judging(mode: GateMode, name: &str) -> Gate {
    Gate::new(mode).judge(&Agent::new(name).output::<Judgement>())
}

/// Returns the verdict of a child's gate about a command.
fn verdict(child: &Gate, command: &str) -> &'static str {
    let arguments = json!({"command": command}).to_string();
    let call = GatedCall { tool: "run", place: "", arguments: &arguments, mode: None };
    found(child.verdict(&call)).0
}

#[rstest]
#[case::the_child_forbids(Gate::new(GateMode::Autonomous), Gate::new(GateMode::Autonomous).rules([deny("rm")]), "deny")]
#[case::the_caller_forbids(Gate::new(GateMode::Autonomous).rules([deny("rm")]), Gate::new(GateMode::Autonomous), "deny")]
#[case::the_caller_asks(Gate::new(GateMode::ApproveEach), Gate::new(GateMode::Autonomous).rules([allow("rm")]), "ask")]
#[case::both_allow(
    Gate::new(GateMode::ApproveUnknown).rules([allow("rm")]),
    Gate::new(GateMode::ApproveUnknown).rules([allow("rm")]),
    "run"
)]
#[case::privileged(Gate::new(GateMode::Autonomous).privileged(["run"]), Gate::new(GateMode::Autonomous), "deny")]
#[case::no_judge_here(judging(GateMode::Judge, "judge"), Gate::new(GateMode::Autonomous), "ask")]
#[case::another_judge(judging(GateMode::Judge, "judge"), judging(GateMode::Autonomous, "lax"), "ask")]
#[case::the_same_judge(judging(GateMode::Judge, "judge"), judging(GateMode::Autonomous, "judge"), "judge")]
fn the_strictest_gate_decides(#[case] caller: Gate, #[case] child: Gate, #[case] expected: &str) {
    let child = child.with_callers(&caller.passed_gates()).untrusted(true);
    assert_eq!(verdict(&child, "rm x"), expected);
}

#[test]
fn grandchildren_obey_all_gates() {
    let child = Gate::new(GateMode::Autonomous)
        .rules([deny("mv")])
        .with_callers(&Gate::new(GateMode::Autonomous).rules([deny("rm")]).passed_gates());
    let passed = child.passed_gates();
    let grandchild = Gate::new(GateMode::Autonomous).with_callers(&passed);
    assert_eq!(["rm x", "mv x y", "ls"].map(|command| verdict(&grandchild, command)), ["deny", "deny", "run"]);
    // A gate that repeats, or permits everything, is not passed again.
    assert_eq!(grandchild.passed_gates(), passed);
}

#[rstest]
#[case::an_unknown_decision(json!({"id": "a", "decision": "quarantine", "program": "rm"}))]
#[case::an_unknown_member(json!({"id": "a", "decision": "allow", "program": "ls", "only_at_night": true}))]
#[case::a_pattern_of_another_engine(json!({"id": "a", "decision": "deny", "pattern": "(?<=x)y"}))]
#[case::no_rule(json!("rm"))]
fn unreadable_rules_make_each_call_ask(#[case] rule: Value) {
    let passed = PassedGate { mode: GateMode::Autonomous, rules: vec![rule.clone()], ..PassedGate::default() };
    let child = Gate::new(GateMode::Autonomous).with_callers([&passed]);
    assert_eq!(verdict(&child, "ls"), "ask");
    assert!(child.approves_each(None));
    // The grandchild may understand it.
    assert_eq!(child.passed_gates()[0].rules, [rule]);
}

#[test]
fn the_verdict_names_the_missing_judge() {
    let child = Gate::new(GateMode::Autonomous).with_callers(&judging(GateMode::Judge, "judge").passed_gates());
    let call = GatedCall { tool: "run", place: "", arguments: "{}", mode: None };
    let GateVerdict::Ask { reason, .. } = child.verdict(&call) else { panic!("a person decides") };
    assert_eq!(reason, "the caller's gate asks the judge \"judge\", which the gate of this workflow does not have");
}

#[test]
fn callers_gates_do_not_open_silent_devices() {
    let caller = Gate::new(GateMode::Autonomous).rules([deny("rm")]);
    let passed = caller.passed_gates();
    let child = Gate::from_callers(&passed);
    assert_eq!(["rm x", "ls"].map(|command| verdict(&child.for_silent_device(), command)), ["deny", "ask"]);
    // The gate of the workflow itself says who decides.
    let child = Gate::new(GateMode::Autonomous).with_callers(&passed);
    assert_eq!(verdict(&child.for_silent_device(), "ls"), "run");
}
