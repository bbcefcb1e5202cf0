//! Checkpoints of agentic sessions.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};

use crate::wire::{
    ModelReply, NewItem, NewItemKind, RunState, SessionCheckpoint, ToolReply,
    digest::Digest,
    session_checkpoint::{EffectAnswer, KeptAs, KeptCheckpoint, SessionRun, ToolFailed},
    session_facts::SessionFacts,
    tool_error::FailureDetail,
};

use super::{items, model_reply_full, run_states, tool_reply_content, tool_reply_question, tool_reply_side_data};

pub(in crate::wire::tests) fn session_checkpoints() -> Vec<(&'static str, SessionCheckpoint)> {
    let state = |phase: &str| -> Option<Box<RunState>> {
        run_states().into_iter().find(|(kind, _)| *kind == phase).map(|(_, state)| Box::new(state))
    };
    let run = |agent: &str| SessionRun { agent: agent.to_owned(), ..SessionRun::default() };
    let everything = SessionCheckpoint {
        turns: 3,
        results: vec![json!({"file": "a.rs", "line": 7}), json!("summary"), json!(null)],
        origins: vec![Some(0), None, Some(1)],
        runs: vec![
            SessionRun { state: state("finished"), ..run("triage") },
            SessionRun {
                state: state("turn_due"),
                session_writes: 2,
                memory: Some(items().into_iter().take(1).collect()),
                answers: answers(),
                ..run("triage")
            },
            SessionRun { state: state("interrupted"), ..run("triage") },
        ],
        ..SessionCheckpoint::new()
    };
    let handed_over = SessionCheckpoint {
        results: vec![json!({"file": "a.rs", "line": 7})],
        origins: vec![Some(0)],
        runs: vec![SessionRun { conversation: Some(items().into_iter().take(2).collect()), ..SessionRun::default() }],
        ..SessionCheckpoint::new()
    };
    let mut answered = state("turn_due").expect("there is a state in each phase");
    let message = json!({"type": "message", "role": "assistant",
        "content": [{"type": "output_text", "text": "12 degrees"}]});
    let message = serde_json::from_value(message).expect("an item");
    answered.items = vec![NewItem::new(NewItemKind::MessageOutput, "triage", message)];
    let with_facts = SessionCheckpoint {
        runs: vec![SessionRun { state: Some(answered), facts: Some(facts()), ..run("triage") }],
        ..SessionCheckpoint::new()
    };
    let begun = SessionCheckpoint { runs: vec![run("triage")], ..SessionCheckpoint::new() };
    let ToolReply { output, context_patch, side_data, question, .. } = tool_reply_side_data();
    let answer = EffectAnswer::Tool { output, context_patch, side_data, question };
    let with_side_data = SessionCheckpoint {
        runs: vec![SessionRun { answers: BTreeMap::from([("1-tool-0".to_owned(), answer)]), ..run("triage") }],
        ..SessionCheckpoint::new()
    };
    vec![
        ("empty", SessionCheckpoint::new()),
        ("begun", begun),
        ("everything", everything),
        ("handed_over", handed_over),
        ("with_facts", with_facts),
        ("with_side_data", with_side_data),
    ]
}

/// Facts whose content is in the state, and one whose content is not.
fn facts() -> SessionFacts {
    let fact = |value: Value| value.as_object().expect("an object").clone();
    let common = |id: &str, kind: &str, time: &str| json!({"id": id, "agent": "triage", "time": time, "kind": kind});
    let with = |mut value: Value, member: &str, content: Value| {
        value[member] = content;
        fact(value)
    };
    SessionFacts {
        run: "trip-1/run-1/activity-5-0".to_owned(),
        facts: vec![
            with(common("/started", "run_started", "2026-11-23T12:00:00Z"), "input_from", json!(0)),
            with(common("/1-model/0", "message", "2026-11-23T12:00:01Z"), "item_at", json!(0)),
            with(common("/1-tool-0-1-model/0", "other_item", "2026-11-23T12:00:02Z"), "item", json!({"type": "new"})),
        ],
        settled: 2,
        dropped: 7,
        observed: json!({
            "runs": {"trip-1/run-1/activity-5-0": {
                "root": "trip-1/run-1/activity-5-0", "path": [], "agent": "triage", "turn": 1,
                "has_begun": true, "is_paused": true, "has_ended": false,
                "open": [{"call_id": "call_1", "name": "refund", "index": 0, "told": null, "outputs": 0}],
                "calls": ["call_1"], "handoffs": {"triage": {"transfer_to_billing": "billing"}},
                "hands_off_to": null, "text": "12 degrees", "asked": ["call_1"],
                "numbers": {"1-question": 1, "1-paused": 1},
            }},
            "order": ["trip-1/run-1/activity-5-0"],
        }),
    }
}

/// Every kind of answer.
fn answers() -> BTreeMap<String, EffectAnswer> {
    let ModelReply { response, .. } = model_reply_full();
    let tool = |ToolReply { output, context_patch, side_data, question, .. }| EffectAnswer::Tool {
        output,
        context_patch,
        side_data,
        question,
    };
    let failed = |how| EffectAnswer::ToolFailed { how, message: "no funds".to_owned() };
    let told = ToolFailed::Error { detail: FailureDetail::read(Some("There are no funds.".into())).into() };
    let answers = [
        EffectAnswer::Model { response },
        tool(tool_reply_content()),
        tool(tool_reply_question()),
        failed(told),
        failed(ToolFailed::Error { detail: Box::default() }),
        failed(ToolFailed::Panic),
        failed(ToolFailed::Oversized),
        failed(ToolFailed::Timeout { after: Duration::from_millis(1_500) }),
        failed(ToolFailed::OutcomeUnknown),
        EffectAnswer::Begun,
    ];
    let id = |index| if index == 0 { "2-model".to_owned() } else { format!("2-tool-{}", index - 1) };
    answers.into_iter().enumerate().map(|(index, answer)| (id(index), answer)).collect()
}

pub(in crate::wire::tests) fn kept_checkpoint() -> KeptCheckpoint {
    let kept = KeptAs { key: "Xv7-1-3".to_owned(), bytes: 3_000_000, digest: Digest::of_text("{}") };
    KeptCheckpoint::new(kept)
}
