use serde_json::{Value, json};
use temporal_agents_core::wire::RunEvent;

use super::{EventLines, Writing};

/// The output for these events, in this order, and at their end.
fn written(events: &[Value]) -> String {
    let (mut lines, mut writing, mut out) = (EventLines::new(), Writing::default(), String::new());
    for event in events {
        writing.event(&mut lines, &self::event(event), &mut out);
    }
    writing.interrupt(&mut out);
    out
}

fn event(members: &Value) -> RunEvent {
    let mut event = json!({"version": "1.2", "id": "", "run": "a", "agent": "desk", "turn": 1, "time": ""});
    event.as_object_mut().expect("an object").extend(members.as_object().expect("an object").clone());
    serde_json::from_value(event).expect("an event")
}

/// The event, of another run.
fn of(run: &str, event: Value) -> Value {
    let mut event = event;
    event["run"] = run.into();
    event["agent"] = run.into();
    for name in ["id", "message_id"] {
        if let Some(id) = event[name].as_str().filter(|id| !id.is_empty()) {
            event[name] = id.replace("a/", &format!("{run}/")).into();
        }
    }
    event
}

fn asks() -> Value {
    json!({"kind": "model_call_scheduled", "model": "m", "id": "a/1-model"})
}

fn part_at(attempt: u32, text: &str) -> Value {
    json!({"kind": "text_delta", "message_id": "a/1-model/0", "attempt": attempt, "delta": text})
}

fn part(text: &str) -> Value {
    part_at(1, text)
}

fn answered() -> Value {
    let usage = json!({"requests": 1, "input_tokens": 2, "output_tokens": 3, "total_tokens": 5});
    json!({"kind": "model_call_answered", "attempts": 1, "usage": usage, "id": "a/1-model/answered"})
}

fn message(text: &str) -> Value {
    json!({"kind": "message", "text": text, "item": {}, "id": "a/1-model/0"})
}

fn finished(output: &str) -> Value {
    json!({"kind": "run_finished", "output": output})
}

fn failed(attempt: u32) -> Value {
    let failure = json!({"type": "Timeout", "message": "late"});
    json!({"kind": "attempt_delta", "effect": "1-model", "attempt": attempt, "failure": failure, "agent": ""})
}

fn begun(attempt: u32) -> Value {
    json!({"kind": "attempt_delta", "effect": "1-model", "attempt": attempt})
}

#[test]
fn a_text_is_written_part_by_part_and_not_again_as_a_message() {
    let (mut lines, mut writing) = (EventLines::new(), Writing::default());
    let mut output = |members: &Value| {
        let mut out = String::new();
        writing.event(&mut lines, &event(members), &mut out);
        out
    };
    assert_eq!(output(&asks()), "desk · turn 1 · asks m\n");
    assert_eq!(output(&begun(1)), "");
    assert_eq!(output(&part("It is")), "  says: It is");
    assert_eq!(output(&part(" 12\nde")), " 12 de");
    assert_eq!(output(&answered()), "");
    assert_eq!(output(&message("It is 12\ndegrees.")), "grees.\n  2 tokens in, 3 out\n");
    assert_eq!(output(&finished("It is 12\ndegrees.")), "desk has finished\n");
}

#[test]
fn without_parts_the_output_is_that_of_the_lines() {
    let expected = "desk · turn 1 · asks m\n  2 tokens in, 3 out\n  says: hi\ndesk has finished\n";
    assert_eq!(written(&[asks(), answered(), message("hi"), finished("hi")]), expected);
    let arguments = json!({"kind": "tool_arguments_delta", "message_id": "a/1-model/0", "attempt": 1, "delta": "{"});
    let reasoning = json!({"kind": "reasoning_delta", "message_id": "a/1-model/0", "attempt": 1, "delta": "hm"});
    assert_eq!(written(&[arguments, reasoning]), "");
}

#[test]
fn the_lines_of_an_answer_follow_its_text() {
    let reasons = json!({"kind": "reasoning", "item": {}, "id": "a/1-model/1"});
    let call = json!({"kind": "tool_call", "call_id": "c", "name": "t", "arguments": "{}", "item": {}});
    let expected = "desk · turn 1 · asks m\n  says: hi there\n  2 tokens in, 3 out\n  reasons\n  -> t({})\n";
    assert_eq!(written(&[asks(), part("hi"), answered(), reasons, message("hi there"), call]), expected);
}

#[test]
fn a_text_that_begins_again_is_marked() {
    let begins = "desk · turn 1 · asks m\n  says: The keeper of the l [cut off]\n";
    let failure = "  ! attempt 1 of the model call failed, Temporal tries again: Timeout: late\n";
    let rest = "  says again, at attempt 2: The keeper.\n  2 tokens in, 3 out\n";
    let last = [part_at(2, "The keep"), answered(), message("The keeper.")];
    let events = |between: &[Value]| [&[asks(), part("The keeper of the l")], between, &last].concat();
    assert_eq!(written(&events(&[failed(1), begun(2)])), format!("{begins}{failure}{rest}"));
    // A part of the failed attempt that comes late.
    assert_eq!(written(&events(&[failed(1), part("ighth")])), format!("{begins}{failure}{rest}"));
    // A reader that does not see the failure.
    assert_eq!(written(&events(&[begun(2)])), format!("{begins}{rest}"));
    assert_eq!(written(&events(&[])), format!("{begins}{rest}"));
}

#[test]
fn a_text_that_is_not_the_answer_is_marked() {
    let whole = "  says: The captain.\n";
    let begins = "desk · turn 1 · asks m\n  says: The keeper [cut off]\n";
    let usage = "  2 tokens in, 3 out\n";
    let events = [asks(), part("The keeper"), answered(), message("The captain.")];
    assert_eq!(written(&events), format!("{begins}{usage}{whole}"));
    let failure = json!({"type": "Auth", "message": "no key"});
    let failed = json!({"kind": "model_call_failed", "attempts": 1, "failure": failure});
    let expected = format!("{begins}  ! the model call failed after 1 attempt: Auth: no key\n");
    assert_eq!(written(&[asks(), part("The keeper"), failed]), expected);
    let cancelled = json!({"kind": "run_cancelled"});
    assert_eq!(written(&[asks(), part("The keeper"), cancelled]), format!("{begins}desk was cancelled\n"));
}

#[test]
fn one_text_at_a_time_is_written() {
    let events = [
        asks(),
        of("b", asks()),
        part("I am "),
        of("b", part("Sor")),
        part("so sorry."),
        of("b", part("ry.")),
        answered(),
        message("I am so sorry."),
        of("b", part(" Really.")),
        of("b", answered()),
        of("b", message("Sorry. Really.")),
    ];
    let expected = [
        "desk · turn 1 · asks m",
        "b · turn 1 · asks m",
        "desk · turn 1 · says: I am so sorry.",
        "  2 tokens in, 3 out",
        "b · turn 1 · 2 tokens in, 3 out",
        "  says: Sorry. Really.",
        "",
    ];
    assert_eq!(written(&events), expected.join("\n"));
}

#[test]
fn a_line_in_between_ends_a_piece_of_the_text() {
    let events = [
        asks(),
        of("b", asks()),
        part("I am "),
        of("b", answered()),
        of("b", message("Sorry.")),
        part("so "),
        answered(),
        message("I am so sorry."),
    ];
    let expected = [
        "desk · turn 1 · asks m",
        "b · turn 1 · asks m",
        "desk · turn 1 · says: I am  …",
        "b · turn 1 · 2 tokens in, 3 out",
        "  says: Sorry.",
        "desk · turn 1 · … so sorry.",
        "  2 tokens in, 3 out",
        "",
    ];
    assert_eq!(written(&events), expected.join("\n"));
}

#[test]
fn nested_runs_are_written_at_their_depth() {
    let nested = |mut event: Value| {
        event["path"] = json!(["1-tool-0"]);
        event["agent"] = "judge".into();
        event
    };
    let events = [asks(), nested(part("yes")), nested(message("yes")), part("Done."), message("Done.")];
    let expected = "desk · turn 1 · asks m\n    judge · turn 1 · says: yes\n  says: Done.\n";
    assert_eq!(written(&events), expected);
}

#[test]
fn two_messages_of_an_answer_are_two_lines() {
    let second = |mut event: Value| {
        for name in ["id", "message_id"] {
            if event.get(name).is_some() {
                event[name] = "a/1-model/1".into();
            }
        }
        event
    };
    let events = [asks(), part("one"), second(part("tw")), answered(), message("one"), second(message("two"))];
    let expected = "desk · turn 1 · asks m\n  says: one\n  says: two\n  2 tokens in, 3 out\n";
    assert_eq!(written(&events), expected);
}

#[test]
fn what_would_steer_a_terminal_is_an_escape_and_a_long_text_is_cut() {
    let expected = "desk · turn 1 · says: a\\u001b[2Jb\n";
    assert_eq!(written(&[part("a\u{1b}[2J"), part("b"), message("a\u{1b}[2Jb")]), expected);
    let long = "x".repeat(5_000);
    let whole = written(&[message(&long)]);
    assert_eq!(whole, format!("desk · turn 1 · says: {}…\n", "x".repeat(4_000)));
    assert_eq!(written(&[part(&long[..3_000]), part(&long[3_000..]), message(&long)]), whole);
}
