//! The setting `reasoning`, as the API takes it: `thinking` and `output_config.effort`.
//!
//! Newer models take an effort and decide by themselves; older ones take a number of tokens, which
//! an effort is mapped to.

use serde_json::{Map, Value, json};

use super::models::{Efforts, ModelTraits, ThinkingForm};
use crate::provider::{ModelError, http::outgoing::unsupported};

/// The least number of tokens that a model may be told to think with.
const MIN_BUDGET: u64 = 1_024;
const MEDIUM_BUDGET: u64 = 8_000;
const HIGH_BUDGET: u64 = 24_000;

/// Why a request has no `thinking` although the settings ask for it.
pub(super) const NO_ROOM: &str = "`max_tokens` leaves no room for thinking";
pub(super) const NO_THINKING_BEFORE: &str =
    "the turn that continues began without thinking, and the API then refuses to think in the middle of it";
pub(super) const NO_BUDGET: &str = "the model takes no `budget_tokens`; it is told to think by itself";

/// How much a model should think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

impl Effort {
    fn from_keyword(word: &str) -> Option<Self> {
        Some(match word {
            "none" | "zero" => Self::None,
            "minimal" => Self::Minimal,
            "low" => Self::Low,
            "medium" => Self::Medium,
            "high" => Self::High,
            "xhigh" => Self::XHigh,
            "max" => Self::Max,
            _ => return None,
        })
    }

    /// Returns the API's word for the effort, or for the next lower one that the model takes.
    fn word(self, efforts: Efforts) -> &'static str {
        match self {
            Self::None | Self::Minimal | Self::Low => "low",
            Self::Medium => "medium",
            Self::XHigh if efforts >= Efforts::All => "xhigh",
            Self::Max if efforts >= Efforts::AndMax => "max",
            Self::High | Self::XHigh | Self::Max => "high",
        }
    }

    /// Returns the number of tokens that stands for the effort; `None` if there is no room for it.
    fn budget(self, max_tokens: u64) -> Option<u64> {
        let budget = match self {
            Self::None | Self::Minimal | Self::Low => MIN_BUDGET,
            Self::Medium => MEDIUM_BUDGET,
            Self::High | Self::XHigh | Self::Max => HIGH_BUDGET,
        };
        // Thinking counts among the tokens of the answer: a quarter is left for the rest.
        Some(budget.min(max_tokens / 4 * 3)).filter(|budget| *budget >= MIN_BUDGET)
    }
}

/// Splits a model's name that ends in an effort: `claude-opus-4-5-high`.
pub(super) fn split_effort(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('-') {
        Some((model, word)) if Effort::from_keyword(word).is_some() => (model, Some(word)),
        _ => (name, None),
    }
}

/// Returns the setting with the effort of a model's name, unless it has one.
pub(super) fn with_effort(reasoning: Option<Value>, word: &str) -> Value {
    let mut reasoning = reasoning.filter(Value::is_object).unwrap_or_else(|| json!({}));
    if reasoning["effort"].is_null() && reasoning["budget_tokens"].is_null() {
        reasoning["effort"] = word.into();
    }
    reasoning
}

/// The setting `reasoning`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reasoning {
    amount: Option<Amount>,
    /// `true` if the thinking is shown, in a summary.
    is_shown: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Amount {
    Effort(Effort),
    Budget(u64),
}

impl Reasoning {
    /// Reads the setting.
    ///
    /// # Errors
    /// Members that the API does not have, and values that are none of theirs.
    pub(super) fn from_setting(adapter: &str, setting: Option<Value>) -> Result<Self, ModelError> {
        let mut members = match setting {
            None => return Ok(Self::default()),
            Some(Value::Object(members)) => members,
            Some(_) => {
                return Err(unsupported(
                    "`reasoning` must be an object with `effort` or `budget_tokens`, and `summary`",
                ));
            }
        };
        members.retain(|_, value| !value.is_null());
        let effort = members.shift_remove("effort");
        let budget = members.shift_remove("budget_tokens");
        let is_shown = members.shift_remove("summary").is_some();
        if let Some((name, _)) = members.iter().next() {
            return Err(unsupported(format_args!("the {adapter} API has no `reasoning.{name}`; remove it")));
        }
        let amount = match (effort, budget) {
            (None, None) => None,
            (None, Some(budget)) => Some(Amount::Budget(budget.as_u64().ok_or_else(|| {
                unsupported(format_args!("`reasoning.budget_tokens` is {budget}, not a number of tokens"))
            })?)),
            (Some(Value::String(word)), None) => {
                Some(Amount::Effort(Effort::from_keyword(&word).ok_or_else(|| {
                    unsupported(format_args!(
                        "`reasoning.effort` is {word:?}; it is one of none, minimal, low, medium, high, xhigh, max"
                    ))
                })?))
            }
            (Some(effort), None) => {
                return Err(unsupported(format_args!("`reasoning.effort` is {effort}, not a string")));
            }
            (Some(_), Some(_)) => {
                return Err(unsupported("`reasoning` has both `effort` and `budget_tokens`; set one of them"));
            }
        };
        Ok(Self { amount, is_shown })
    }

    /// Writes `thinking` and the effort for a model. Returns the reason that it is not told to think
    /// as the setting says.
    pub(super) fn write(
        self,
        traits: &ModelTraits,
        max_tokens: u64,
        body: &mut Map<String, Value>,
        output_config: &mut Map<String, Value>,
    ) -> Option<&'static str> {
        let Self { amount, is_shown } = self;
        let amount = amount?;
        if amount == Amount::Effort(Effort::None) {
            if traits.thinks_by_default {
                body.insert("thinking".to_owned(), json!({"type": "disabled"}));
            }
            return None;
        }
        if let Amount::Effort(effort) = amount
            && traits.efforts > Efforts::None
        {
            output_config.insert("effort".to_owned(), effort.word(traits.efforts).into());
        }
        let mut adaptive = json!({"type": "adaptive"});
        if is_shown {
            adaptive["display"] = "summarized".into();
        }
        let enabled = |budget: u64| json!({"type": "enabled", "budget_tokens": budget});
        let (thinking, reason) = match (traits.thinking, amount) {
            (ThinkingForm::Budget | ThinkingForm::AdaptiveOrBudget, Amount::Budget(budget)) => (enabled(budget), None),
            (ThinkingForm::Adaptive, Amount::Budget(_)) => (adaptive, Some(NO_BUDGET)),
            (ThinkingForm::Adaptive | ThinkingForm::AdaptiveOrBudget, Amount::Effort(_)) => (adaptive, None),
            // The effort is enough.
            (ThinkingForm::Budget, Amount::Effort(_)) if traits.efforts > Efforts::None => return None,
            (ThinkingForm::Budget, Amount::Effort(effort)) => match effort.budget(max_tokens) {
                Some(budget) => (enabled(budget), None),
                None => return Some(NO_ROOM),
            },
        };
        body.insert("thinking".to_owned(), thinking);
        reason
    }
}

/// Removes `thinking` from a request that the API would refuse for it; returns `true` if it did.
///
/// A model that thinks with a number of tokens requires the turn that it continues to begin with
/// thinking. A turn that another model began, or that began before thinking was requested, does
/// not; and no later request changes that.
pub(super) fn leave_out_in_turn_without(body: &mut Map<String, Value>) -> bool {
    let is_enabled = body.get("thinking").is_some_and(|thinking| thinking["type"] == "enabled");
    let messages = body.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let leaves_out = is_enabled && is_turn_without_thinking(messages);
    if leaves_out {
        body.shift_remove("thinking");
    }
    leaves_out
}

/// Returns `true` if the last turn of the model calls tools, and does not begin with thinking.
///
/// Results of tools may be followed by images and by words of the user, and all of that is one
/// message to the API. Whether such words begin a turn is not documented, so both readings count.
fn is_turn_without_thinking(messages: &[Value]) -> bool {
    // Neighbouring messages of the user are one to the API, so results may be in any of them.
    let mut start = messages.len();
    while start > 0 {
        let group = messages[..start].iter().rev().take_while(|message| message["role"] == "user").count();
        let users = &messages[start - group..start];
        if group > 0 && !users.iter().any(|message| has_block(message, "tool_result")) {
            break;
        }
        start -= group;
        start -= messages[..start].iter().rev().take_while(|message| message["role"] != "user").count();
    }
    let is_words = |message: &Value| message["role"] == "user" && !has_block(message, "tool_result");
    let after_words = messages.iter().rposition(is_words).map_or(0, |last| last + 1);
    calls_without_thinking(&messages[start..]) || calls_without_thinking(&messages[after_words..])
}

/// Returns `true` if a turn calls tools, and does not begin with thinking.
fn calls_without_thinking(turn: &[Value]) -> bool {
    let mut answers = turn.iter().filter(|message| message["role"] == "assistant").peekable();
    let begins_with_thinking = answers
        .peek()
        .is_some_and(|first| matches!(first["content"][0]["type"].as_str(), Some("thinking" | "redacted_thinking")));
    !begins_with_thinking && answers.any(|message| has_block(message, "tool_use"))
}

fn has_block(message: &Value, kind: &str) -> bool {
    message["content"].as_array().into_iter().flatten().any(|block| block["type"] == kind)
}

#[cfg(test)]
mod tests;
