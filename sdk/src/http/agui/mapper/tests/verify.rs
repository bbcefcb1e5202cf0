//! The rules by which the protocol's client checks a stream.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The events that open, continue and close something, and the member with its id.
const SPANS: [(&str, &str, &str, &str); 6] = [
    ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "messageId"),
    ("REASONING_START", "", "REASONING_END", "messageId"),
    ("REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "messageId"),
    ("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "toolCallId"),
    ("STEP_STARTED", "", "STEP_FINISHED", "stepName"),
    ("SUBAGENT_STARTED", "", "SUBAGENT_FINISHED", "subagentRunId"),
];

/// Checks a whole stream.
pub(super) fn verify(events: &[Value]) -> Result<(), String> {
    let mut open: BTreeMap<(&str, String), Option<&str>> = BTreeMap::new();
    let mut subagents = BTreeSet::new();
    let mut end = None;
    for (at, event) in events.iter().enumerate() {
        let kind = event["type"].as_str().ok_or("an event without a type")?;
        let refuse = |reason: &str| Err(format!("event {at}, {event}: {reason}"));
        if has_null(event) {
            return refuse("null in place of an optional member");
        }
        match (at, kind) {
            _ if end.is_some() => return refuse("an event after the end"),
            (0, "RUN_STARTED" | "RUN_ERROR") => {}
            (0, _) => return refuse("the first event does not start the run"),
            (_, "RUN_STARTED") => return refuse("the run starts twice"),
            _ => {}
        }
        let owner = event["subagentRunId"].as_str();
        if owner.is_some_and(|owner| kind != "SUBAGENT_STARTED" && !subagents.contains(owner)) {
            return refuse("the subagent is not open");
        }
        for (opens, continues, closes, member) in SPANS {
            let id = event[member].as_str().unwrap_or_default();
            // A step belongs to its owner.
            let of_owner = if opens == "STEP_STARTED" { owner.unwrap_or_default() } else { "" };
            let key = (opens, format!("{of_owner}|{id}"));
            let is_end = kind == closes || (kind == "SUBAGENT_ERROR" && closes == "SUBAGENT_FINISHED");
            if kind == opens {
                if open.insert(key, owner).is_some() {
                    return refuse("it is open already");
                }
            } else if is_end || kind == continues {
                match open.get(&key) {
                    None => return refuse("it is not open"),
                    Some(opener) if *opener != owner => return refuse("another subagent has opened it"),
                    Some(_) if is_end => drop(open.remove(&key)),
                    Some(_) => {}
                }
            }
        }
        match kind {
            "SUBAGENT_STARTED" => drop(subagents.insert(owner.unwrap_or_default())),
            "SUBAGENT_FINISHED" | "SUBAGENT_ERROR" => {
                if open.values().any(|opener| *opener == owner) {
                    return refuse("the subagent has left something open");
                }
                subagents.remove(owner.unwrap_or_default());
            }
            "RUN_FINISHED" | "RUN_ERROR" if !open.is_empty() => return refuse(&format!("open: {open:?}")),
            "RUN_FINISHED" => {
                let outcome = &event["outcome"];
                let interrupts = outcome["interrupts"].as_array().map_or(0, Vec::len);
                if (outcome["type"] == "interrupt") != (interrupts > 0) {
                    return refuse("an interrupt without interrupts");
                }
                end = Some(at);
            }
            "RUN_ERROR" => end = Some(at),
            _ => {}
        }
    }
    if end.is_none() { Err("no end".to_owned()) } else { Ok(()) }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        _ => false,
    }
}
