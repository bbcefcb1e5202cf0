use serde_json::json;
use temporal_agents::wire::RunEvent;

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
    assert_eq!(EventLines::new().with_colours().line(&message).as_deref(), Some("  desk: a\\u001b[2J b"));
}

#[test]
fn an_event_is_a_line_indented_by_its_path() {
    let lines = EventLines::new();
    let call = event(json!({"kind": "model_call_scheduled", "model": "gpt-5", "path": ["1-tool-0"]}));
    assert_eq!(lines.line(&call).as_deref(), Some("    desk · turn 2 · asks gpt-5"));
    assert_eq!(lines.line(&event(json!({"kind": "turn_started"}))), None);
    let failed = json!({"type": "Timeout", "message": "too late", "cause": {"type": "Io", "message": "gone"}});
    let failed = event(json!({"kind": "tool_failed", "call_id": "c", "name": "t", "attempts": 3, "failure": failed}));
    let expected = "  ! t failed after 3 attempts: Timeout: too late, caused by Io: gone";
    assert_eq!(lines.line(&failed).as_deref(), Some(expected));
    let coloured = EventLines::new().with_colours().line(&failed);
    assert_eq!(coloured.as_deref(), Some(&*format!("\u{1b}[31m{expected}\u{1b}[0m")));
}
