//! The rules of Anthropic's extended thinking.
//!
//! Whether a signature is valid is known to the API only. With the answers that came before, the
//! checker sees whether a thinking block was changed.

use serde_json::Value;

use crate::dialects::rules::anthropic::{Message, Version};
use crate::dialects::rules::report::{Report, child, elements, is_filled};

pub(crate) const RULES: &[&str] = &[
    "anthropic/tool-choice-with-thinking",
    "anthropic/thinking-budget",
    "anthropic/thinking-enabled-unsupported",
    "anthropic/thinking-unsigned",
    "anthropic/thinking-final-block",
    "anthropic/thinking-first",
    "anthropic/thinking-modified",
    "anthropic/temperature-with-thinking",
];

const MIN_BUDGET: u64 = 1024;

/// Reports the rules of thinking that the body breaks.
pub(crate) fn check(
    report: &mut Report,
    version: Option<Version>,
    body: &Value,
    messages: &[Message<'_>],
    answers: &[Value],
) {
    let mode = body["thinking"]["type"].as_str().unwrap_or_default();
    if mode == "enabled" {
        check_enabled(report, version, body);
        check_first(report, messages);
    }
    let temperature = body["temperature"].as_f64().unwrap_or(1.0);
    let is_default = (temperature - 1.0).abs() <= f64::EPSILON;
    // From 4.7 on, `anthropic/sampling-unsupported` covers the temperature.
    let is_judged = version.is_none_or(|version| version < Version::V4_7);
    if matches!(mode, "enabled" | "adaptive") && !is_default && is_judged {
        let detail = format!("temperature is {temperature} with thinking {mode}");
        report.refuse("anthropic/temperature-with-thinking", "/temperature", detail);
    }
    for message in messages.iter().filter(|message| message.role == "assistant") {
        check_message(report, message);
    }
    if let Some(latest) = messages.iter().rfind(|message| message.role == "assistant") {
        check_unmodified(report, latest, answers);
    }
}

fn check_enabled(report: &mut Report, version: Option<Version>, body: &Value) {
    if version >= Some(Version::V4_7) {
        let detail = "the model takes adaptive thinking only";
        report.refuse("anthropic/thinking-enabled-unsupported", "/thinking/type", detail);
    }
    if matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool")) {
        let detail = format!("tool_choice is {}", body["tool_choice"]);
        report.refuse("anthropic/tool-choice-with-thinking", "/tool_choice", detail);
    }
    let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or(0);
    let max_tokens = body["max_tokens"].as_u64().unwrap_or(u64::MAX);
    // With tools the budget may exceed max_tokens (interleaved thinking).
    let exceeds_max = budget >= max_tokens && !is_filled(&body["tools"]);
    if budget < MIN_BUDGET || exceeds_max {
        let detail = format!("the budget is {budget} with max_tokens {max_tokens}");
        report.refuse("anthropic/thinking-budget", "/thinking/budget_tokens", detail);
    }
}

/// Checks that the current turn begins with thinking when it calls tools.
fn check_first(report: &mut Report, messages: &[Message<'_>]) {
    let has_result = |message: &Message<'_>| message.blocks_of("tool_result").next().is_some();
    let start = messages.iter().rposition(|message| message.role == "user" && !has_result(message)).unwrap_or(0);
    let turn = &messages[start..];
    // Whether a message with results and text begins a turn is not documented.
    let is_mixed = turn
        .iter()
        .any(|message| has_result(message) && message.blocks().any(|(_, block)| block["type"] != "tool_result"));
    let mut own = turn.iter().filter(|message| message.role == "assistant").peekable();
    let Some(first) = own.peek().map(|first| first.at.clone()) else {
        return;
    };
    let own: Vec<&Message<'_>> = own.collect();
    let calls_tools = own.iter().any(|message| message.blocks_of("tool_use").next().is_some());
    let has_thinking = own.iter().any(|message| message.blocks().next().is_some_and(|(_, block)| is_thinking(block)));
    if calls_tools && !has_thinking && !is_mixed {
        let at = child(&child(&first, "content"), 0);
        let detail = "the turn calls tools and does not begin with a thinking block";
        report.refuse("anthropic/thinking-first", at, detail);
    }
}

fn check_message(report: &mut Report, message: &Message<'_>) {
    for (at, block) in message.blocks() {
        let seal = match block["type"].as_str() {
            Some("thinking") => "signature",
            Some("redacted_thinking") => "data",
            _ => continue,
        };
        if !block[seal].is_string() {
            let detail = format!("the {seal} is {}", block[seal]);
            report.refuse("anthropic/thinking-unsigned", child(&at, seal), detail);
        }
    }
    if let Some((at, _)) = message.blocks().last().filter(|(_, block)| is_thinking(block)) {
        let detail = "the final block of an assistant message is thinking";
        report.refuse("anthropic/thinking-final-block", at, detail);
    }
}

/// Checks that the thinking of the latest assistant message is what an answer held.
fn check_unmodified(report: &mut Report, latest: &Message<'_>, answers: &[Value]) {
    let known: Vec<&Value> =
        answers.iter().flat_map(|answer| elements(&answer["content"], "")).map(|(_, block)| block).collect();
    let knows_call = latest.blocks_of("tool_use").any(|(_, call)| known.iter().any(|block| is_same(block, call, "id")));
    for (at, block) in latest.blocks().filter(|(_, block)| is_thinking(block)) {
        let knows_seal = known.iter().any(|other| is_same(other, block, "signature") || is_same(other, block, "data"));
        let is_original = known
            .iter()
            .any(|other| ["type", "thinking", "signature", "data"].iter().all(|member| other[member] == block[member]));
        if (knows_call || knows_seal) && !is_original {
            let detail = "the block differs from the answer that it came from";
            report.refuse("anthropic/thinking-modified", at, detail);
        }
    }
}

fn is_same(one: &Value, other: &Value, member: &str) -> bool {
    one["type"] == other["type"] && one[member].is_string() && one[member] == other[member]
}

fn is_thinking(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
}
