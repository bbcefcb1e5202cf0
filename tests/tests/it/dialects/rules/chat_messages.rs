//! The rules of the messages in Chat Completions.
//!
//! The pairing of calls and tool messages also holds for xAI and the compatible servers.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::dialects::rules::report::{Report, child, elements, is_filled, is_given};

pub(crate) const RULES: &[&str] = &[
    "chat/messages-empty",
    "chat/tool-calls-limit",
    "chat/tool-calls-empty",
    "chat/tool-calls-unanswered",
    "chat/tool-without-call",
    "chat/call-id-length",
    "chat/content-null",
    "chat/image-not-user",
    "chat/call-arguments-string",
];

const MAX_CALLS: usize = 128;
const MAX_CALL_ID: usize = 64;

/// Members that an assistant message may have in place of content.
const IN_PLACE_OF_CONTENT: &[&str] = &["tool_calls", "function_call", "refusal", "audio"];

/// Reports the rules that single messages break.
pub(crate) fn check(report: &mut Report, body: &Value) {
    for (at, message) in messages(body) {
        check_content(report, &at, message);
        check_tool_calls(report, &child(&at, "tool_calls"), &message["tool_calls"]);
        let id = message["tool_call_id"].as_str().unwrap_or_default();
        if id.len() > MAX_CALL_ID {
            let detail = format!("the id has {} characters", id.len());
            report.refuse("chat/call-id-length", child(&at, "tool_call_id"), detail);
        }
    }
}

/// Reports missing messages, calls without tool message and tool messages without call.
pub(crate) fn check_pairs(report: &mut Report, body: &Value) {
    if !is_filled(&body["messages"]) {
        report.refuse("chat/messages-empty", "/messages", "there is no message");
    }
    let mut pending: Option<Pending<'_>> = None;
    for (at, message) in messages(body) {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let is_call = pending.as_mut().is_some_and(|pending| pending.answer(id));
            if !is_call {
                let detail = format!("no call {id:?} directly before");
                report.refuse("chat/tool-without-call", at, detail);
            }
            continue;
        }
        if let Some(pending) = pending.take() {
            pending.finish(report);
        }
        if message["role"] == "assistant" && is_filled(&message["tool_calls"]) {
            pending = Some(Pending::new(at, message));
        }
    }
    if let Some(pending) = pending {
        pending.finish(report);
    }
}

/// Iterates the messages with their pointers.
pub(crate) fn messages(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    elements(&body["messages"], "/messages")
}

/// An assistant message whose calls await tool messages.
struct Pending<'a> {
    at: String,
    ids: BTreeSet<&'a str>,
    open: BTreeSet<&'a str>,
}

impl<'a> Pending<'a> {
    fn new(at: String, message: &'a Value) -> Self {
        let ids: BTreeSet<&str> =
            elements(&message["tool_calls"], "").filter_map(|(_, call)| call["id"].as_str()).collect();
        Self { at, open: ids.clone(), ids }
    }

    /// Records a tool message and returns whether it belongs to one of the calls.
    fn answer(&mut self, id: &str) -> bool {
        self.open.remove(id);
        self.ids.contains(id)
    }

    fn finish(self, report: &mut Report) {
        if !self.open.is_empty() {
            let detail = format!("no tool message directly after for {:?}", self.open);
            report.refuse("chat/tool-calls-unanswered", self.at, detail);
        }
    }
}

fn check_content(report: &mut Report, at: &str, message: &Value) {
    let content_at = child(at, "content");
    let is_assistant = message["role"] == "assistant";
    let may_lack = is_assistant && IN_PLACE_OF_CONTENT.iter().any(|name| is_given(&message[name]));
    if !is_given(&message["content"]) && !may_lack {
        let detail = format!("a message of {} has no content", message["role"]);
        report.refuse("chat/content-null", content_at.clone(), detail);
    }
    for (at, part) in elements(&message["content"], &content_at) {
        if part["type"] == "image_url" && message["role"] != "user" {
            let detail = format!("a message of {} has an image", message["role"]);
            report.refuse("chat/image-not-user", at, detail);
        }
    }
}

fn check_tool_calls(report: &mut Report, at: &str, calls: &Value) {
    let count = calls.as_array().map(Vec::len);
    if count == Some(0) {
        report.refuse("chat/tool-calls-empty", at, "tool_calls is empty");
    }
    if count.is_some_and(|count| count > MAX_CALLS) {
        report.refuse("chat/tool-calls-limit", at, format!("there are {count:?} calls"));
    }
    for (at, call) in elements(calls, at) {
        let id = call["id"].as_str().unwrap_or_default();
        if id.len() > MAX_CALL_ID {
            let detail = format!("the id has {} characters", id.len());
            report.refuse("chat/call-id-length", child(&at, "id"), detail);
        }
        let arguments = &call["function"]["arguments"];
        if call["function"].is_object() && !arguments.is_string() {
            let at = child(&child(&at, "function"), "arguments");
            let detail = format!("the arguments are {arguments} and not a string");
            report.refuse("chat/call-arguments-string", at, detail);
        }
    }
}
