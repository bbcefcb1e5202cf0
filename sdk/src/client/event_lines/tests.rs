use serde_json::json;
use temporal_agents_core::wire::RunEvent;

use super::{EventLines, visible};

fn event(kind: serde_json::Value) -> RunEvent {
    let mut event = json!({"version": "1.2", "id": "k/1", "run": "k", "agent": "desk", "turn": 2, "time": ""});
    event.as_object_mut().expect("an object").extend(kind.as_object().expect("an object").clone());
    serde_json::from_value(event).expect("an event")
}

#[test]
fn what_would_steer_a_terminal_is_printed_as_an_escape() {
    assert_eq!(visible("a\u{1b}[2Jb\r\n\tc"), "a\\u001b[2Jb\\u000d\n\tc");
    assert_eq!(visible("\u{9b}31m \u{7f} \u{202e}txt"), "\\u009b31m \\u007f \\u202etxt");
    assert_eq!(visible("Grüße, 世界 👋"), "Grüße, 世界 👋");
    let json = json!({"text": "\u{9b}31m\u{202e}"}).to_string();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&visible(&json)).ok(), serde_json::from_str(&json).ok());
    let message = event(json!({"kind": "message", "text": "a\u{1b}[2J\nb", "item": {}}));
    assert_eq!(EventLines::new().with_colours().line(&message).as_deref(), Some("desk · turn 2 · says: a\\u001b[2J b"));
}

/// The lines of these events, in this order.
fn lines(events: &[serde_json::Value]) -> Vec<String> {
    let mut lines = EventLines::new();
    events.iter().filter_map(|kind| lines.line(&event(kind.clone()))).collect()
}

#[test]
fn an_event_is_a_line_indented_by_its_path() {
    let mut lines = EventLines::new();
    let call = event(json!({"kind": "model_call_scheduled", "model": "gpt-5", "path": ["1-tool-0"]}));
    assert_eq!(lines.line(&call).as_deref(), Some("    desk · turn 2 · asks gpt-5"));
    assert_eq!(lines.line(&event(json!({"kind": "turn_started"}))), None);
    let failed = json!({"type": "Timeout", "message": "too late", "cause": {"type": "Io", "message": "gone"}});
    let failed = event(json!({"kind": "tool_failed", "call_id": "c", "name": "t", "attempts": 3, "failure": failed}));
    let expected = "! t failed after 3 attempts: Timeout: too late, caused by Io: gone";
    assert_eq!(lines.line(&failed), Some(format!("desk · turn 2 · {expected}")));
    assert_eq!(lines.line(&failed), Some(format!("  {expected}")));
    let coloured = lines.with_colours().line(&failed);
    assert_eq!(coloured, Some(format!("\u{1b}[31m  {expected}\u{1b}[0m")));
}

#[test]
fn a_line_begins_with_its_turn_again_after_one_of_another_run() {
    let asks = |run: &str| json!({"kind": "model_call_scheduled", "model": "m", "run": run, "agent": run});
    let says = |run: &str, text: &str| json!({"kind": "message", "text": text, "item": {}, "run": run, "agent": run});
    let nested = json!({"kind": "message", "text": "3", "item": {}, "run": "a", "agent": "c", "path": ["2-tool-0"]});
    let events = [asks("a"), asks("b"), says("a", "1"), says("a", "2"), nested, says("a", "4"), says("b", "5")];
    let expected = [
        "a · turn 2 · asks m",
        "b · turn 2 · asks m",
        "a · turn 2 · says: 1",
        "  says: 2",
        "    c · turn 2 · says: 3",
        "  says: 4",
        "b · turn 2 · says: 5",
    ];
    assert_eq!(lines(&events), expected);
}

#[test]
fn what_another_line_says_is_not_repeated() {
    let plan = json!({"kind": "message", "text": "{\"city\": \"Oslo\"}", "item": {}});
    let finished = |output: serde_json::Value| json!({"kind": "run_finished", "output": output});
    assert_eq!(lines(&[plan.clone(), finished(json!({"city": "Oslo"}))])[1..], ["desk has finished"]);
    assert_eq!(lines(&[plan, finished(json!({"city": "Rome"}))])[1..], ["desk has finished: {\"city\":\"Rome\"}"]);
    let output = |output: &str| json!({"kind": "tool_output", "call_id": "c", "name": "t", "output": output});
    let events = [
        json!({"kind": "model_call_scheduled", "model": "m"}),
        output("{\"assistant\": \"billing\"}"),
        json!({"kind": "handoff", "from": "desk", "to": "billing"}),
        output("done"),
    ];
    assert_eq!(lines(&events)[1..], ["  => desk hands off to billing", "  <- t = done"]);
}

#[test]
fn a_failure_is_told_with_the_causes_that_add_something() {
    let cause = json!({"type": "Activity", "message": "", "cause": {"type": "Model.Auth", "message": "no key"}});
    let failed = |message: &str| json!({"type": "Model", "message": message, "cause": cause});
    let events = [
        json!({"kind": "run_failed", "failure": failed("call 1 failed: no key")}),
        json!({"kind": "run_failed", "failure": failed("call 1 failed"), "run": "", "agent": ""}),
    ];
    let expected = [
        "desk has failed: Model: call 1 failed: no key",
        "the workflow has failed: Model: call 1 failed, caused by Model.Auth: no key",
    ];
    assert_eq!(lines(&events), expected);
}

#[test]
fn attempts_and_questions_name_what_happens_next() {
    let failure = json!({"type": "Timeout", "message": "late"});
    let failed = json!({
        "kind": "attempt_delta", "effect": "2-tool-0", "attempt": 1, "failure": failure, "agent": "",
        "next_at": "2026-11-23T15:11:43.8265Z",
    });
    let asked = |waits_for: &str| {
        json!({
            "kind": "question_asked", "question_id": "c1", "asked_by": "desk", "tool": "t", "arguments": "{}",
            "waits_for": waits_for, "turn": 0,
        })
    };
    let expected = [
        "  ! attempt 1 of a tool call failed, Temporal tries again at 15:11:43 UTC: Timeout: late",
        "  ? desk wants to call t({}), question c1",
        "  ? desk waits for the output of t({}), question c1",
    ];
    assert_eq!(lines(&[failed, asked("approval"), asked("output")]), expected);
}

#[test]
fn the_summary_adds_up_the_model_calls() {
    let mut lines = EventLines::new();
    assert_eq!(lines.summary(), None);
    let usage = json!({"requests": 1, "input_tokens": 100, "output_tokens": 20, "total_tokens": 120});
    let answered = event(json!({"kind": "model_call_answered", "attempts": 1, "usage": usage}));
    lines.line(&answered);
    assert_eq!(lines.summary().as_deref(), Some("Used 1 model call, 100 tokens in, 20 out."));
    lines.line(&answered);
    assert_eq!(lines.summary().as_deref(), Some("Used 2 model calls, 200 tokens in, 40 out."));
}
