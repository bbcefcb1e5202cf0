//! The rules of OpenAI `POST /v1/chat/completions`.

use serde_json::Value;

use crate::dialects::rules::chat_messages;
use crate::dialects::rules::openai_models::Family;
use crate::dialects::rules::openai_schema::{self, Limits};
use crate::dialects::rules::report::{Report, child, elements, is_filled, is_given, mentions};

pub(crate) const RULES: &[&str] = &[
    "chat/tools-empty",
    "chat/tools-limit",
    "chat/tool-choice-without-tools",
    "chat/parallel-without-tools",
    "chat/max-tokens-unsupported",
    "chat/sampling-unsupported",
    "chat/reasoning-with-tools",
    "chat/json-word",
];

const MAX_TOOLS: usize = 128;

/// Parameters that a reasoning model refuses, with the default that it takes.
const SAMPLING: &[(&str, f64)] =
    &[("temperature", 1.0), ("top_p", 1.0), ("presence_penalty", 0.0), ("frequency_penalty", 0.0)];

/// Reports the rules that the body breaks.
pub(crate) fn check(report: &mut Report, model: &str, body: &Value, limits: &Limits) {
    check_model(report, Family::from_model(model), body);
    check_tools(report, body, limits);
    chat_messages::check(report, body);
    chat_messages::check_pairs(report, body);
    let format = &body["response_format"];
    if format["type"] == "json_schema" {
        let at = "/response_format/json_schema";
        openai_schema::check_format(report, &format["json_schema"], at, limits);
    }
    if format["type"] == "json_object" && !mentions(&body["messages"], "json") {
        let detail = "no message contains the word json";
        report.refuse("chat/json-word", "/messages", detail);
    }
}

/// Lists the schemas of strict functions and of a strict format.
pub(crate) fn strict_schemas(body: &Value) -> Vec<(String, &Value)> {
    let tools = functions(body)
        .filter(|(_, function)| function["strict"] == true)
        .map(|(at, function)| (child(&at, "parameters"), &function["parameters"]));
    let format = &body["response_format"]["json_schema"];
    let is_strict = body["response_format"]["type"] == "json_schema" && format["strict"] == true;
    let format = is_strict.then(|| ("/response_format/json_schema/schema".to_owned(), &format["schema"]));
    tools.chain(format).collect()
}

/// Iterates the functions of the tools with their pointers.
pub(crate) fn functions(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    elements(&body["tools"], "/tools")
        .filter(|(_, tool)| tool["type"] == "function")
        .map(|(at, tool)| (child(&at, "function"), &tool["function"]))
}

fn check_model(report: &mut Report, family: Family, body: &Value) {
    let effort = body["reasoning_effort"].as_str();
    if family.refuses_max_tokens() && is_given(&body["max_tokens"]) {
        let detail = "the model takes max_completion_tokens";
        report.refuse("chat/max-tokens-unsupported", "/max_tokens", detail);
    }
    if family.refuses_tools_in_chat(effort) && functions(body).next().is_some() {
        let detail = format!("tools are given with the effort {effort:?}");
        report.refuse("chat/reasoning-with-tools", "/tools", detail);
    }
    if !family.refuses_sampling(effort) {
        return;
    }
    for &(name, default) in SAMPLING {
        if body[name].as_f64().is_some_and(|value| (value - default).abs() > f64::EPSILON) {
            let detail = format!("{name} is {}", body[name]);
            report.refuse("chat/sampling-unsupported", child("", name), detail);
        }
    }
    for name in ["logprobs", "top_logprobs", "logit_bias"] {
        if is_given(&body[name]) && body[name] != false {
            let detail = format!("{name} is {}", body[name]);
            report.refuse("chat/sampling-unsupported", child("", name), detail);
        }
    }
}

fn check_tools(report: &mut Report, body: &Value, limits: &Limits) {
    if let Some(tools) = body["tools"].as_array() {
        if tools.is_empty() {
            report.refuse("chat/tools-empty", "/tools", "tools is empty");
        }
        if tools.len() > MAX_TOOLS {
            let detail = format!("there are {} tools", tools.len());
            report.refuse("chat/tools-limit", "/tools", detail);
        }
    }
    if !is_filled(&body["tools"]) {
        let without_tools =
            [("tool_choice", "chat/tool-choice-without-tools"), ("parallel_tool_calls", "chat/parallel-without-tools")];
        for (name, rule) in without_tools {
            // A request with the older `functions` is not judged.
            if is_given(&body[name]) && !is_given(&body["functions"]) {
                report.refuse(rule, child("", name), format!("{name} is given without tools"));
            }
        }
    }
    for (at, function) in functions(body) {
        openai_schema::check_function(report, function, &at, limits);
    }
}
