//! Items and stop reasons that the answers of Anthropic and genai have in common.

use serde_json::{Map, Value, json};

use super::{ModelError, http::answer::Answer};
use crate::wire::{Item, ModelFailureKind};

/// The reason that a response stops early.
#[derive(Debug)]
pub(super) enum Stopped {
    /// The limit of tokens was reached.
    Length,
    /// A filter, or the model itself, refuses; with the provider's name for it.
    Filter(String),
    /// Another reason, with the provider's name for it.
    Otherwise(String),
}

impl Stopped {
    /// Returns the name of the reason in the Responses API, or the provider's own if it has none
    /// there.
    pub(super) fn reason(self) -> String {
        match self {
            Self::Length => "max_output_tokens".to_owned(),
            Self::Filter(_) => "content_filter".to_owned(),
            Self::Otherwise(reason) => reason,
        }
    }

    /// Returns the text of the refusal that a filter left; `None` if it left an answer, or if the
    /// response stops for another reason.
    pub(super) fn withheld(&self, output: &[Item]) -> Option<String> {
        let Self::Filter(reason) = self else { return None };
        let is_empty = output.iter().filter_map(Item::text).all(|text| text.is_empty());
        is_empty.then(|| format!("The answer was withheld (stop reason {reason})."))
    }
}

/// Returns the items with a refusal in place of their messages.
pub(super) fn with_refusal(mut output: Vec<Item>, refusal: &str) -> Vec<Item> {
    output.retain(|item| item.kind() != "message");
    output.push(assistant_message(vec![json!({"type": "refusal", "refusal": refusal})]));
    output
}

/// Returns a message of the model with these parts.
pub(super) fn assistant_message(content: Vec<Value>) -> Item {
    Item::from(Map::from_iter([
        ("type".to_owned(), "message".into()),
        ("role".to_owned(), "assistant".into()),
        ("content".to_owned(), content.into()),
    ]))
}

/// Returns a call of the model.
pub(super) fn function_call(id: String, name: String, arguments: String) -> Item {
    Item::from(Map::from_iter([
        ("type".to_owned(), "function_call".into()),
        ("call_id".to_owned(), id.into()),
        ("name".to_owned(), name.into()),
        ("arguments".to_owned(), arguments.into()),
    ]))
}

/// Returns the failure of a call that the end of the response may have cut off. It must not run:
/// its arguments may be incomplete.
pub(super) fn cut_call(answer: &Answer, name: &str) -> ModelError {
    let mut error = answer.failure(
        ModelFailureKind::InvalidResponse,
        &format!("the answer reached its limit of tokens in a call of `{name}`; raise max_tokens"),
    );
    // The same limit would also cut off the next response.
    error.retryable = Some(false);
    error
}
