//! What people say to a run that waits for them, and what they are told.

use serde_json::json;

use super::object;

use crate::wire::{
    AgentDecision, AgentInterruption, AgentState, DecidedInterruption, DecisionAnswer, DecisionReply, InterruptionKind,
    McpQuestion, RunStatus, SuppliedOutput, Verdict, WIRE_VERSION, asked_questions::AskedQuestions,
};

pub(in crate::wire::tests) fn agent_decisions() -> Vec<(&'static str, AgentDecision)> {
    let supplied = Verdict::SupplyOutput { output: "paid by hand".to_owned() };
    vec![
        ("approve", AgentDecision::approve("call_1")),
        ("approve_with", AgentDecision::approve_with("call_1", object(json!({"amount": 1})))),
        ("approve_always", AgentDecision::approve("call_1").always()),
        ("reject", AgentDecision::reject("call_1/call_2")),
        ("reject_with_a_message", AgentDecision::reject_with("call_1", "too much")),
        ("supply_output", AgentDecision::new("call_1", supplied)),
        ("approve_by", AgentDecision::approve("call_1").by("ann@shop.test")),
    ]
}

pub(in crate::wire::tests) fn supplied_outputs() -> Vec<(&'static str, SuppliedOutput)> {
    vec![
        ("text", SuppliedOutput::new("call_1", "paid by hand")),
        ("json", SuppliedOutput::new("call_1", json!({"paid": true}))),
        ("by", SuppliedOutput::new("call_1", "paid by hand").by("ann@shop.test")),
    ]
}

pub(in crate::wire::tests) fn decision_replies() -> Vec<(&'static str, DecisionReply)> {
    let waits_for = vec!["call_1".to_owned(), "call_2/call_3".to_owned()];
    let rejected = || Verdict::Reject { message: Some("too much".to_owned()) };
    let answers = [
        ("accepted", DecisionAnswer::Accepted),
        ("kept", DecisionAnswer::Kept { waits_for: waits_for.clone() }),
        ("unmatched", DecisionAnswer::Unmatched { waits_for: waits_for.clone() }),
        ("already_decided", DecisionAnswer::AlreadyDecided { decision: rejected(), always: false }),
        ("already_decided_for_good", DecisionAnswer::AlreadyDecided { decision: Verdict::Approve, always: true }),
        ("unknown", DecisionAnswer::Unknown { waits_for }),
        (
            "refused",
            DecisionAnswer::Refused { reason: "an MCP server's tool runs there; approve or reject".to_owned() },
        ),
    ];
    answers.into_iter().map(|(name, answer)| (name, DecisionReply::from(answer))).collect()
}

/// What a pause records of the questions that a state names.
pub(in crate::wire::tests) fn asked_questions() -> Vec<(&'static str, AskedQuestions)> {
    let states = agent_states().into_iter().filter(|(_, state)| !state.interruptions.is_empty());
    let asked = states.map(|(name, state)| (name, AskedQuestions::new("refunds", state.turn, state.interruptions)));
    let long = AgentInterruption {
        id: "call_1".to_owned(),
        agent: "refunds".to_owned(),
        tool: "photograph".to_owned(),
        arguments: "x".repeat(600),
        server: None,
        kind: InterruptionKind::Output,
        question: None,
        expires_at: None,
    };
    let many = (0..9).map(|_| long.clone());
    let [own, other] = ["call_1", "call_2"].map(|id| AgentInterruption {
        id: id.to_owned(),
        arguments: "{}".to_owned(),
        kind: InterruptionKind::Approval,
        ..long.clone()
    });
    let beside = AskedQuestions::beside("refunds", 3, [own.clone()], [other]);
    let update = AskedQuestions { is_update: true, ..AskedQuestions::new("refunds", 3, [own.clone()]) };
    let without_inbox = AskedQuestions { without_inbox: true, ..AskedQuestions::new("refunds", 3, [own]) };
    let more = [
        ("cut", AskedQuestions::new("refunds", 3, many)),
        ("beside_other_runs", beside),
        ("update", update),
        ("without_inbox", without_inbox),
    ];
    asked.chain(more).collect()
}

pub(in crate::wire::tests) fn agent_states() -> Vec<(&'static str, AgentState)> {
    let state = |status, agent: Option<&str>, turn| AgentState {
        version: WIRE_VERSION,
        status,
        agent: agent.map(str::to_owned),
        turn,
        interruptions: Vec::new(),
        decided: Vec::new(),
    };
    let interruption = |id: &str, tool: &str, server: Option<&str>| AgentInterruption {
        id: id.to_owned(),
        agent: "refunds".to_owned(),
        tool: tool.to_owned(),
        arguments: "{\"amount\": 5}".to_owned(),
        server: server.map(str::to_owned),
        kind: InterruptionKind::Approval,
        question: None,
        expires_at: None,
    };
    let decided = |id: &str, decision, always, taken| DecidedInterruption {
        id: id.to_owned(),
        decision,
        always,
        taken,
        by: None,
    };
    let waiting = AgentState {
        interruptions: vec![
            interruption("call_1", "issue_refund", None),
            interruption("call_2/call_3", "sign", None),
            interruption("mcpr_1", "delete", Some("docs")),
        ],
        decided: vec![
            decided("call_0", Verdict::Approve, true, true),
            decided("call_9", Verdict::Reject { message: None }, false, false),
        ],
        ..state(RunStatus::Waiting, Some("refunds"), 2)
    };
    let waiting_for_output = AgentState {
        interruptions: vec![AgentInterruption {
            kind: InterruptionKind::Output,
            ..interruption("call_1#2", "pick_file", None)
        }],
        decided: vec![decided("call_1", Verdict::Approve, false, true)],
        ..state(RunStatus::Waiting, Some("editor"), 2)
    };
    let schema = json!({"type": "object", "properties": {"quantity": {"type": "integer"}}, "required": ["quantity"]});
    let question = McpQuestion { message: "How many?".to_owned(), schema };
    let waiting_for_input = AgentState {
        interruptions: vec![AgentInterruption {
            kind: InterruptionKind::Input,
            question: Some(question),
            ..interruption("call_1", "order", None)
        }],
        ..state(RunStatus::Waiting, Some("clerk"), 1)
    };
    let by_ann = DecidedInterruption {
        by: Some("ann@shop.test".to_owned()),
        ..decided("call_0", Verdict::Reject { message: Some("too much".to_owned()) }, false, true)
    };
    let decided_by = AgentState { decided: vec![by_ann], ..state(RunStatus::Running, Some("refunds"), 2) };
    vec![
        ("decided_by", decided_by),
        ("waiting_for_input", waiting_for_input),
        ("waiting_for_output", waiting_for_output),
        ("idle", state(RunStatus::Queued, None, 0)),
        ("running", state(RunStatus::Running, Some("triage"), 1)),
        ("waiting", waiting),
        ("finished", state(RunStatus::Completed, Some("refunds"), 3)),
        ("failed", state(RunStatus::Failed, Some("refunds"), 3)),
        ("cancelled", state(RunStatus::Cancelled, Some("refunds"), 3)),
    ]
}
