//! The rules of Anthropic `POST /v1/messages`, apart from strict schemas and thinking.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::dialects::rules::names::{bare_model, is_word};
use crate::dialects::rules::report::{Report, child, elements, is_filled, is_given};
use crate::dialects::rules::{anthropic_strict, anthropic_thinking};

pub(crate) const RULES: &[&str] = &[
    "anthropic/max-tokens-required",
    "anthropic/messages-empty",
    "anthropic/role",
    "anthropic/content-empty",
    "anthropic/text-empty",
    "anthropic/text-blank",
    "anthropic/final-whitespace",
    "anthropic/prefill-unsupported",
    "anthropic/tool-use-in-user",
    "anthropic/tool-use-unanswered",
    "anthropic/tool-result-unexpected",
    "anthropic/tool-result-not-first",
    "anthropic/tool-result-duplicate",
    "anthropic/tool-use-id-duplicate",
    "anthropic/tool-use-id-pattern",
    "anthropic/tool-use-input-object",
    "anthropic/tool-name-pattern",
    "anthropic/tool-name-duplicate",
    "anthropic/tool-schema-root-type",
    "anthropic/tool-schema-root-combinator",
    "anthropic/tool-choice-without-tools",
    "anthropic/tool-choice-forced",
    "anthropic/temperature-and-top-p",
    "anthropic/sampling-unsupported",
    "anthropic/cache-control-limit",
];

const MAX_TOOL_NAME: usize = 128;
const MAX_CACHE_CONTROLS: usize = 4;

/// Reports the rules that the body breaks.
pub(crate) fn check(report: &mut Report, model: &str, body: &Value, answers: &[Value]) {
    let version = Version::from_model(model);
    let messages: Vec<Message<'_>> = elements(&body["messages"], "/messages").map(Message::from).collect();
    check_request(report, version, body, &messages);
    for (index, message) in messages.iter().enumerate() {
        check_message(report, message, index + 1 == messages.len());
        let previous = index.checked_sub(1).and_then(|previous| messages.get(previous));
        check_results(report, message, previous);
        check_uses(report, message, messages.get(index + 1));
    }
    check_unique_uses(report, &messages);
    // A request for a summary (`compaction`) may end with an answer: it asks for no further message.
    let asks_summary = is_given(&body["compaction"]);
    if let Some(last) = messages.last().filter(|last| last.role == "assistant" && !asks_summary) {
        check_final_assistant(report, version, last);
    }
    check_tools(report, body);
    anthropic_thinking::check(report, version, body, &messages, answers);
    anthropic_strict::check(report, body);
}

/// The major and minor version of a Claude model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32);

impl Version {
    /// Opus 4.1.
    pub(crate) const V4_1: Self = Self(4, 1);
    /// Opus and Sonnet 4.6.
    pub(crate) const V4_6: Self = Self(4, 6);
    /// Opus 4.7.
    pub(crate) const V4_7: Self = Self(4, 7);
    /// Opus and Sonnet 5.5, and Fable 5.1.
    pub(crate) const V5_5: Self = Self(5, 5);

    /// Reads the version from a name such as `claude-opus-4-7` or `claude-3-7-sonnet-20250219`.
    ///
    /// Returns `None` for a name that it cannot read.
    pub(crate) fn from_model(model: &str) -> Option<Self> {
        let name = bare_model(model);
        let name = &name[name.find("claude-")?..];
        if name.starts_with("claude-mythos") {
            return Some(Self(5, 0));
        }
        if name.starts_with("claude-fable-5-1") {
            return Some(Self::V5_5);
        }
        let mut numbers =
            name.split(['-', '.', '@', ':']).filter(|token| token.len() <= 2).filter_map(|token| token.parse().ok());
        let major = numbers.next()?;
        Some(Self(major, numbers.next().unwrap_or(0)))
    }
}

/// A message and its place.
pub(crate) struct Message<'a> {
    /// The JSON pointer of the message.
    pub(crate) at: String,
    /// The role, empty when it is not a string.
    pub(crate) role: &'a str,
    /// The content as it stands in the message.
    pub(crate) content: &'a Value,
}

impl<'a> From<(String, &'a Value)> for Message<'a> {
    fn from((at, value): (String, &'a Value)) -> Self {
        Self { at, role: value["role"].as_str().unwrap_or_default(), content: &value["content"] }
    }
}

impl<'a> Message<'a> {
    /// Iterates the blocks with their pointers; a string has none.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (String, &'a Value)> + use<'a> {
        elements(self.content, &child(&self.at, "content"))
    }

    /// Iterates the blocks of a type.
    pub(crate) fn blocks_of(&self, block_type: &'static str) -> impl Iterator<Item = (String, &'a Value)> + use<'a> {
        self.blocks().filter(move |(_, block)| block["type"] == block_type)
    }

    /// Returns the ids of the tool calls.
    fn use_ids(&self) -> Vec<&'a str> {
        self.blocks_of("tool_use").filter_map(|(_, block)| block["id"].as_str()).collect()
    }

    /// Iterates the texts with their pointers, the content itself when it is a string.
    fn texts(&self) -> Vec<(String, &'a str)> {
        if let Some(text) = self.content.as_str() {
            return vec![(child(&self.at, "content"), text)];
        }
        self.blocks_of("text").filter_map(|(at, block)| Some((child(&at, "text"), block["text"].as_str()?))).collect()
    }

    /// Returns the text that ends the content.
    fn final_text(&self) -> Option<(String, &'a str)> {
        let (last_at, last) = match self.content {
            Value::String(text) => return Some((child(&self.at, "content"), text)),
            _ => self.blocks().last()?,
        };
        let text = last["text"].as_str().filter(|_| last["type"] == "text")?;
        Some((child(&last_at, "text"), text))
    }
}

fn check_request(report: &mut Report, version: Option<Version>, body: &Value, messages: &[Message<'_>]) {
    if !is_given(&body["max_tokens"]) {
        report.refuse("anthropic/max-tokens-required", "/max_tokens", "max_tokens is missing");
    }
    if messages.is_empty() {
        report.refuse("anthropic/messages-empty", "/messages", "there is no message");
    }
    for (at, block) in elements(&body["system"], "/system") {
        if block["text"] == "" {
            report.refuse("anthropic/text-empty", at, "a system block has an empty text");
        }
    }
    if is_given(&body["tool_choice"]) && !is_filled(&body["tools"]) {
        let detail = "tool_choice is given without tools";
        report.refuse("anthropic/tool-choice-without-tools", "/tool_choice", detail);
    }
    if version >= Some(Version::V5_5) && matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool")) {
        let detail = format!("tool_choice is {}", body["tool_choice"]);
        report.refuse("anthropic/tool-choice-forced", "/tool_choice", detail);
    }
    check_sampling(report, version, body);
    let cache_controls =
        ["tools", "system", "messages"].into_iter().map(|member| cache_controls(&body[member], member)).sum::<usize>();
    if cache_controls > MAX_CACHE_CONTROLS {
        let detail = format!("{cache_controls} blocks have cache_control");
        report.refuse("anthropic/cache-control-limit", "", detail);
    }
}

fn check_sampling(report: &mut Report, version: Option<Version>, body: &Value) {
    let Some(version) = version else {
        return;
    };
    if version >= Version::V4_7 {
        for name in ["temperature", "top_p"] {
            if body[name].as_f64().is_some_and(|value| (value - 1.0).abs() > f64::EPSILON) {
                let detail = format!("{name} is {} and not the default", body[name]);
                report.refuse("anthropic/sampling-unsupported", child("", name), detail);
            }
        }
        if is_given(&body["top_k"]) {
            report.refuse("anthropic/sampling-unsupported", "/top_k", "top_k is given");
        }
    } else if version >= Version::V4_1 && is_given(&body["temperature"]) && is_given(&body["top_p"]) {
        let detail = "temperature and top_p are both given";
        report.refuse("anthropic/temperature-and-top-p", "/top_p", detail);
    }
}

/// Counts the tools, system blocks or content blocks with `cache_control`.
fn cache_controls(value: &Value, member: &str) -> usize {
    let elements = value.as_array().map(Vec::as_slice).unwrap_or_default();
    elements
        .iter()
        .map(|element| {
            let own = usize::from(is_given(&element["cache_control"]));
            // The content of a message and of a tool result holds blocks again.
            let below = if member == "messages" { cache_controls(&element["content"], member) } else { 0 };
            own + below
        })
        .sum()
}

fn check_message(report: &mut Report, message: &Message<'_>, is_last: bool) {
    if !matches!(message.role, "user" | "assistant" | "system") {
        let detail = format!("the role is {:?}", message.role);
        report.refuse("anthropic/role", child(&message.at, "role"), detail);
    }
    let is_empty = match message.content {
        Value::String(text) => text.is_empty(),
        Value::Array(blocks) => blocks.is_empty(),
        _ => false,
    };
    let may_be_empty = is_last && message.role == "assistant";
    if is_empty && !may_be_empty {
        let detail = format!("the content of a {} message is empty", message.role);
        report.refuse("anthropic/content-empty", child(&message.at, "content"), detail);
    }
    if is_empty || message.role == "system" {
        return;
    }
    for (at, text) in message.texts() {
        if text.is_empty() {
            report.refuse("anthropic/text-empty", at, "the text is empty");
        } else if text.trim().is_empty() {
            report.refuse("anthropic/text-blank", at, format!("the text is {text:?}"));
        }
    }
}

/// Checks the tool calls of a message and that the next message answers them.
fn check_uses(report: &mut Report, message: &Message<'_>, next: Option<&Message<'_>>) {
    for (at, block) in message.blocks_of("tool_use") {
        if message.role == "user" {
            report.refuse("anthropic/tool-use-in-user", at.clone(), "a user message has a call");
        }
        check_id(report, &block["id"], child(&at, "id"));
        if !block["input"].is_object() {
            let detail = format!("the input is {}", block["input"]);
            report.refuse("anthropic/tool-use-input-object", child(&at, "input"), detail);
        }
    }
    let results: BTreeSet<&str> = next
        .into_iter()
        .filter(|next| next.role == "user")
        .flat_map(|next| next.blocks_of("tool_result"))
        .filter_map(|(_, block)| block["tool_use_id"].as_str())
        .collect();
    if message.role != "assistant" {
        return;
    }
    for id in message.use_ids() {
        if !results.contains(id) {
            let detail = format!("the next message has no tool_result for {id}");
            report.refuse("anthropic/tool-use-unanswered", message.at.clone(), detail);
        }
    }
}

/// Checks the tool results of a message against the calls of the message before.
fn check_results(report: &mut Report, message: &Message<'_>, previous: Option<&Message<'_>>) {
    let calls = previous.map(Message::use_ids).unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut after_other = false;
    for (at, block) in message.blocks() {
        if block["type"] != "tool_result" {
            after_other = true;
            continue;
        }
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        check_id(report, &block["tool_use_id"], child(&at, "tool_use_id"));
        if after_other {
            let detail = format!("the result of {id} comes after another block");
            report.refuse("anthropic/tool-result-not-first", at.clone(), detail);
        }
        if !calls.contains(&id) {
            let detail = format!("the message before has no call {id}");
            report.refuse("anthropic/tool-result-unexpected", at.clone(), detail);
        }
        if !seen.insert(id) {
            let detail = format!("{id} has two results");
            report.refuse("anthropic/tool-result-duplicate", at, detail);
        }
    }
}

fn check_id(report: &mut Report, id: &Value, at: String) {
    if !id.as_str().is_some_and(is_word) {
        report.refuse("anthropic/tool-use-id-pattern", at, format!("the id is {id}"));
    }
}

fn check_unique_uses(report: &mut Report, messages: &[Message<'_>]) {
    let mut seen = BTreeSet::new();
    for (at, block) in messages.iter().flat_map(|message| message.blocks_of("tool_use")) {
        if let Some(id) = block["id"].as_str().filter(|id| !seen.insert(*id)) {
            let detail = format!("{id} is used by two calls");
            report.refuse("anthropic/tool-use-id-duplicate", child(&at, "id"), detail);
        }
    }
}

fn check_final_assistant(report: &mut Report, version: Option<Version>, last: &Message<'_>) {
    if let Some((at, text)) = last.final_text()
        && text.ends_with(char::is_whitespace)
        && !text.trim().is_empty()
    {
        let detail = format!("the final assistant text ends with {:?}", text.chars().last());
        report.refuse("anthropic/final-whitespace", at, detail);
    }
    // A turn that paused for server tools or after a compaction is sent back as it came.
    let is_paused = last.blocks().any(|(_, block)| {
        let block_type = block["type"].as_str().unwrap_or_default();
        matches!(block_type, "server_tool_use" | "mcp_tool_use" | "compaction") || block_type.ends_with("_tool_result")
    });
    if !is_paused && version >= Some(Version::V4_6) {
        let detail = "the conversation ends with an assistant message";
        report.refuse("anthropic/prefill-unsupported", last.at.clone(), detail);
    }
}

fn check_tools(report: &mut Report, body: &Value) {
    let mut seen = BTreeSet::new();
    for (at, tool) in elements(&body["tools"], "/tools") {
        // The tools of an MCP server (`mcp_toolset`) have no name of their own.
        let name = tool["name"].as_str();
        if let Some(name) = name.filter(|name| !seen.insert(*name)) {
            let detail = format!("two tools are named {name:?}");
            report.refuse("anthropic/tool-name-duplicate", child(&at, "name"), detail);
        }
        // A tool of Anthropic has a type such as `web_search_20250305` and no schema.
        let is_custom = !is_given(&tool["type"]) || tool["type"] == "custom";
        if is_custom {
            check_custom_tool(report, &at, name.unwrap_or_default(), &tool["input_schema"]);
        }
    }
}

fn check_custom_tool(report: &mut Report, at: &str, name: &str, schema: &Value) {
    if !is_word(name) || name.len() > MAX_TOOL_NAME {
        let detail = format!("the name is {name:?}");
        report.refuse("anthropic/tool-name-pattern", child(at, "name"), detail);
    }
    let at = child(at, "input_schema");
    if schema["type"] != "object" {
        let detail = format!("the type is {}", schema["type"]);
        report.refuse("anthropic/tool-schema-root-type", at.clone(), detail);
    }
    for keyword in ["oneOf", "anyOf", "allOf"] {
        if schema.get(keyword).is_some() {
            let detail = format!("the root has {keyword}");
            report.refuse("anthropic/tool-schema-root-combinator", at.clone(), detail);
        }
    }
}
