//! The rules of OpenAI `POST /v1/responses`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::dialects::rules::names::is_word;
use crate::dialects::rules::openai_models::Family;
use crate::dialects::rules::openai_schema::{self, Limits};
use crate::dialects::rules::report::{Report, child, elements, is_filled, is_given, mentions};

pub(crate) const RULES: &[&str] = &[
    "responses/tool-shape",
    "responses/tool-choice-without-tools",
    "responses/unknown-parameter",
    "responses/content-type",
    "responses/call-id-length",
    "responses/item-id-prefix",
    "responses/item-id-characters",
    "responses/item-id-length",
    "responses/call-unanswered",
    "responses/output-without-call",
    "responses/reasoning-without-following",
    "responses/item-without-reasoning",
    "responses/reasoning-for-plain-model",
    "responses/reasoning-not-persisted",
    "responses/reasoning-summary",
    "responses/encrypted-content-unsupported",
    "responses/sampling-unsupported",
    "responses/json-word",
];

const MAX_ID: usize = 64;
const ENCRYPTED: &str = "reasoning.encrypted_content";

/// Parameters of Chat Completions that Responses does not have.
const UNKNOWN: &[&str] = &[
    "max_tokens",
    "max_completion_tokens",
    "messages",
    "response_format",
    "reasoning_effort",
    "stop",
    "n",
    "seed",
    "presence_penalty",
    "frequency_penalty",
];

/// Reports the rules that the body breaks.
pub(crate) fn check(report: &mut Report, model: &str, body: &Value, answers: &[Value], limits: &Limits) {
    let family = Family::from_model(model);
    let items: Vec<Item<'_>> = elements(&body["input"], "/input").map(Item::from).collect();
    check_request(report, family, body);
    check_tools(report, body, limits);
    for item in &items {
        check_item(report, family, body, item);
    }
    check_calls(report, body, &items);
    for (index, item) in items.iter().enumerate() {
        if item.kind == "reasoning" {
            check_following(report, item, &items[index + 1..]);
        }
    }
    if !continues_stored(body) {
        check_reasoning_sent(report, &items, answers);
    }
}

/// Lists the schemas of strict functions and of a strict format.
pub(crate) fn strict_schemas(body: &Value) -> Vec<(String, &Value)> {
    let tools = functions(body)
        .filter(|(_, tool)| tool["strict"] == true)
        .map(|(at, tool)| (child(&at, "parameters"), &tool["parameters"]));
    let format = &body["text"]["format"];
    let format = (format["type"] == "json_schema" && format["strict"] == true)
        .then(|| ("/text/format/schema".to_owned(), &format["schema"]));
    tools.chain(format).collect()
}

fn functions(body: &Value) -> impl Iterator<Item = (String, &Value)> {
    elements(&body["tools"], "/tools").filter(|(_, tool)| tool["type"] == "function")
}

/// An item of the input and its place.
struct Item<'a> {
    at: String,
    value: &'a Value,
    kind: &'a str,
}

impl<'a> From<(String, &'a Value)> for Item<'a> {
    fn from((at, value): (String, &'a Value)) -> Self {
        let kind = match value["type"].as_str() {
            Some(kind) => kind,
            None if value["role"].is_string() => "message",
            None => "",
        };
        Self { at, value, kind }
    }
}

impl<'a> Item<'a> {
    fn id(&self) -> Option<&'a str> {
        self.value["id"].as_str()
    }

    fn call_id(&self) -> Option<&'a str> {
        self.value["call_id"].as_str()
    }

    fn is_encrypted(&self) -> bool {
        is_given(&self.value["encrypted_content"])
    }
}

/// Returns whether items of the conversation are stored at the API and not in the body.
fn continues_stored(body: &Value) -> bool {
    is_given(&body["previous_response_id"]) || is_given(&body["conversation"])
}

fn check_request(report: &mut Report, family: Family, body: &Value) {
    for &name in UNKNOWN {
        if is_given(&body[name]) {
            let detail = format!("{name} is a parameter of Chat Completions");
            report.refuse("responses/unknown-parameter", child("", name), detail);
        }
    }
    let effort = body["reasoning"]["effort"].as_str();
    if family.refuses_sampling(effort) {
        for name in ["temperature", "top_p"] {
            if body[name].as_f64().is_some_and(|value| (value - 1.0).abs() > f64::EPSILON) {
                let detail = format!("{name} is {}", body[name]);
                report.refuse("responses/sampling-unsupported", child("", name), detail);
            }
        }
    }
    let asks_encrypted = elements(&body["include"], "/include").find(|(_, member)| *member == ENCRYPTED);
    if let Some((at, _)) = asks_encrypted.filter(|_| family.is_plain()) {
        let detail = "the model does not reason";
        report.refuse("responses/encrypted-content-unsupported", at, detail);
    }
    let says_json = mentions(&body["input"], "json") || mentions(&body["instructions"], "json");
    if body["text"]["format"]["type"] == "json_object" && !says_json && !continues_stored(body) {
        let detail = "neither input nor instructions contain the word json";
        report.refuse("responses/json-word", "/input", detail);
    }
}

fn check_tools(report: &mut Report, body: &Value, limits: &Limits) {
    // A refusal is known for a choice that forces a call, not for `auto` and `none`.
    let choice = &body["tool_choice"];
    let forces_call = *choice == "required" || choice.is_object();
    if forces_call && !is_filled(&body["tools"]) {
        let detail = format!("tool_choice is {choice} without tools");
        report.refuse("responses/tool-choice-without-tools", "/tool_choice", detail);
    }
    for (at, tool) in functions(body) {
        if tool["name"].is_string() {
            openai_schema::check_function(report, tool, &at, limits);
        } else {
            report.refuse("responses/tool-shape", child(&at, "name"), "the tool has no name");
        }
    }
    let format = &body["text"]["format"];
    if format["type"] == "json_schema" {
        openai_schema::check_format(report, format, "/text/format", limits);
    }
}

fn check_item(report: &mut Report, family: Family, body: &Value, item: &Item<'_>) {
    if item.kind == "message" {
        check_content(report, item);
    }
    check_item_id(report, item);
    if let Some(call_id) = item.call_id().filter(|call_id| call_id.len() > MAX_ID) {
        let detail = format!("the call_id has {} characters", call_id.len());
        report.refuse("responses/call-id-length", child(&item.at, "call_id"), detail);
    }
    let is_unstored = body["store"] == false;
    if item.kind == "item_reference" && is_unstored {
        let detail = "store is false and the item is only referenced";
        report.refuse("responses/reasoning-not-persisted", item.at.clone(), detail);
    }
    if item.kind != "reasoning" {
        return;
    }
    if family.is_plain() {
        let detail = "the model does not reason";
        report.refuse("responses/reasoning-for-plain-model", item.at.clone(), detail);
    }
    if is_unstored && item.id().is_some() && !item.is_encrypted() {
        let detail = "store is false and the item has no encrypted_content";
        report.refuse("responses/reasoning-not-persisted", item.at.clone(), detail);
    }
    if item.value.get("summary").is_none() {
        let at = child(&item.at, "summary");
        report.refuse("responses/reasoning-summary", at, "the summary is missing");
    }
}

fn check_content(report: &mut Report, item: &Item<'_>) {
    let is_assistant = item.value["role"] == "assistant";
    for (at, part) in elements(&item.value["content"], &child(&item.at, "content")) {
        let part_type = part["type"].as_str().unwrap_or_default();
        let is_output = matches!(part_type, "output_text" | "refusal");
        if is_output != is_assistant {
            let detail = format!("{part_type:?} in a message of {}", item.value["role"]);
            report.refuse("responses/content-type", child(&at, "type"), detail);
        }
    }
}

fn check_item_id(report: &mut Report, item: &Item<'_>) {
    let prefix = match item.kind {
        "message" => "msg",
        "function_call" => "fc",
        "reasoning" => "rs",
        _ => return,
    };
    let Some(id) = item.id() else {
        return;
    };
    let at = child(&item.at, "id");
    if !is_word(id) {
        report.refuse("responses/item-id-characters", at.clone(), format!("the id is {id:?}"));
    } else if !id.starts_with(prefix) {
        let detail = format!("{id:?} does not begin with {prefix:?}");
        report.refuse("responses/item-id-prefix", at.clone(), detail);
    }
    if id.len() > MAX_ID {
        let detail = format!("the id has {} characters", id.len());
        report.refuse("responses/item-id-length", at, detail);
    }
}

fn check_calls(report: &mut Report, body: &Value, items: &[Item<'_>]) {
    let call_ids = |kind: &str| -> BTreeSet<&str> {
        let items = items.iter().filter(|item| item.kind == kind);
        items.filter_map(Item::call_id).collect()
    };
    let calls = call_ids("function_call");
    let outputs = call_ids("function_call_output");
    for item in items {
        let Some(call_id) = item.call_id() else {
            continue;
        };
        if item.kind == "function_call" && !outputs.contains(call_id) {
            let detail = format!("the call {call_id} has no output");
            report.refuse("responses/call-unanswered", item.at.clone(), detail);
        }
        let is_orphan = item.kind == "function_call_output" && !calls.contains(call_id);
        if is_orphan && !continues_stored(body) {
            let detail = format!("the output of {call_id} has no call");
            report.refuse("responses/output-without-call", item.at.clone(), detail);
        }
    }
}

/// Checks that the item after a reasoning item is one that the model wrote.
fn check_following(report: &mut Report, reasoning: &Item<'_>, rest: &[Item<'_>]) {
    // Reasoning without an id was never stored and is tied to no item.
    if !reasoning.id().is_some_and(|id| id.starts_with("rs")) {
        return;
    }
    let detail = match rest.iter().find(|item| item.kind != "reasoning") {
        None => "no item follows the reasoning".to_owned(),
        Some(next) if next.kind == "message" && next.value["role"] != "assistant" => {
            format!("a message of {} follows the reasoning", next.value["role"])
        }
        Some(next) if next.kind.ends_with("_output") => {
            format!("a {} follows the reasoning", next.kind)
        }
        Some(next) if next.kind == "message" && next.id().is_none() && !reasoning.is_encrypted() => {
            "an assistant message without id follows the reasoning".to_owned()
        }
        Some(_) => return,
    };
    report.refuse("responses/reasoning-without-following", reasoning.at.clone(), detail);
}

/// Checks that an item goes back with the reasoning that it came with.
fn check_reasoning_sent(report: &mut Report, items: &[Item<'_>], answers: &[Value]) {
    for answer in answers {
        let output: Vec<Item<'_>> = elements(&answer["output"], "/output").map(Item::from).collect();
        let mut reasoning: Vec<&Item<'_>> = Vec::new();
        for answered in &output {
            if answered.kind == "reasoning" {
                reasoning.push(answered);
                continue;
            }
            for required in std::mem::take(&mut reasoning) {
                check_companion(report, items, answered, required);
            }
        }
    }
}

fn check_companion(report: &mut Report, items: &[Item<'_>], answered: &Item<'_>, required: &Item<'_>) {
    let is_sent = |wanted: &Item<'_>| items.iter().find(|item| item.id().is_some() && item.id() == wanted.id());
    let has_encrypted = items
        .iter()
        .any(|item| item.is_encrypted() && item.value["encrypted_content"] == required.value["encrypted_content"]);
    if let Some(item) = is_sent(answered)
        && is_sent(required).is_none()
        && !has_encrypted
    {
        let detail = format!("{} came with {}", answered.value["id"], required.value["id"]);
        report.refuse("responses/item-without-reasoning", item.at.clone(), detail);
    }
}
