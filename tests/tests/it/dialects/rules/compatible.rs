//! The rules of servers with the Chat Completions form.
//!
//! The servers are vLLM, SGLang, llama.cpp, DeepSeek and Mistral. A rule of one vendor applies
//! only to models with the vendor's names.

use serde_json::Value;

use crate::dialects::rules::names::{bare_model, is_mistral_id};
use crate::dialects::rules::openai_schema::check_function_name;
use crate::dialects::rules::report::{Report, child, elements, is_filled, is_given};
use crate::dialects::rules::{chat, chat_messages};

pub(crate) const RULES: &[&str] = &[
    "compatible/arguments-json-object",
    "compatible/mistral-call-id",
    "compatible/mistral-user-after-tool",
    "compatible/deepseek-reasoning",
    "compatible/deepseek-tool-choice",
];

const MISTRAL: &[&str] = &["mistral", "ministral", "devstral", "codestral", "magistral", "pixtral"];

/// Reports the rules that the body breaks.
pub(crate) fn check(report: &mut Report, model: &str, body: &Value) {
    chat_messages::check_pairs(report, body);
    for (at, function) in chat::functions(body) {
        check_function_name(report, &function["name"], &child(&at, "name"));
    }
    for (at, call) in calls(body) {
        check_arguments(report, &at, &call["function"]["arguments"]);
    }
    let model = bare_model(model);
    if MISTRAL.iter().any(|name| model.contains(name)) {
        check_mistral(report, body);
    }
    let thinks = body["thinking"]["type"] != "disabled";
    if model.starts_with("deepseek-v4") && thinks {
        check_deepseek(report, body);
    }
}

fn calls(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    chat_messages::messages(body).flat_map(|(at, message)| elements(&message["tool_calls"], &child(&at, "tool_calls")))
}

fn check_arguments(report: &mut Report, at: &str, arguments: &Value) {
    let is_object = arguments
        .as_str()
        .and_then(|text| serde_json::from_str::<Value>(text).ok())
        .is_some_and(|parsed| parsed.is_object());
    if !is_object {
        let at = child(&child(at, "function"), "arguments");
        let detail = format!("the arguments are {arguments}");
        report.refuse("compatible/arguments-json-object", at, detail);
    }
}

fn check_mistral(report: &mut Report, body: &Value) {
    let call_ids = calls(body).map(|(at, call)| (child(&at, "id"), &call["id"]));
    let result_ids = chat_messages::messages(body)
        .filter(|(_, message)| message["role"] == "tool")
        .map(|(at, message)| (child(&at, "tool_call_id"), &message["tool_call_id"]));
    for (at, id) in call_ids.chain(result_ids) {
        if !id.as_str().is_some_and(is_mistral_id) {
            let detail = format!("the id {id} is not nine letters and digits");
            report.refuse("compatible/mistral-call-id", at, detail);
        }
    }
    let mut after_tool = false;
    for (at, message) in chat_messages::messages(body) {
        if after_tool && message["role"] == "user" {
            let detail = "a user message follows a tool message";
            report.refuse("compatible/mistral-user-after-tool", at, detail);
        }
        after_tool = message["role"] == "tool";
    }
}

fn check_deepseek(report: &mut Report, body: &Value) {
    for (at, message) in chat_messages::messages(body) {
        let calls_tools = is_filled(&message["tool_calls"]);
        if calls_tools && !is_given(&message["reasoning_content"]) {
            let detail = "an assistant message with calls has no reasoning_content";
            report.refuse("compatible/deepseek-reasoning", at, detail);
        }
    }
    let choice = &body["tool_choice"];
    if *choice == "required" || choice.is_object() {
        let detail = format!("tool_choice is {choice}");
        report.refuse("compatible/deepseek-tool-choice", "/tool_choice", detail);
    }
}
