//! The replies of a scripted model.

use std::{fmt, sync::Arc, time::Duration};

use serde::Serialize;
use serde_json::{Value, json};
use temporal_agents::{
    provider::ModelError,
    wire::{Item, ItemView, ModelCall, ModelFailureKind, ModelResponse, Usage},
};

use super::chunks::{Chunks, Mishap};

/// One reply: output items, or a failure, with usage, delay and expectations.
#[derive(Clone)]
pub struct Reply {
    outcome: Outcome,
    usage: Usage,
    delay: Duration,
    incomplete: Option<String>,
    expectations: Vec<Expectation>,
    pub(super) chunks: Chunks,
}

#[derive(Clone, Debug)]
enum Outcome {
    Items(Vec<Item>),
    Failure(Failure),
}

#[derive(Clone, Debug)]
struct Failure {
    kind: ModelFailureKind,
    message: String,
    status: Option<u16>,
    retry_after: Option<Duration>,
    retryable: Option<bool>,
}

type Expectation = Arc<dyn Fn(&ModelCall) -> Result<(), String> + Send + Sync>;

/// Creates a message with this text.
pub fn text(text: impl Into<String>) -> Reply {
    item(message(text))
}

/// Creates a message with this value as JSON: the answer of an agent with an output type.
///
/// # Panics
/// If the value cannot be serialized as JSON.
pub fn structured<T: Serialize>(value: &T) -> Reply {
    text(serde_json::to_string(value).expect("a structured answer can be written as JSON"))
}

/// Creates a call of a function tool. The model assigns the call ids: `call_<call>_<item>`, both
/// counted from 0 in a script.
pub fn tool_call(name: &str, arguments: Value) -> Reply {
    item(json!({"type": "function_call", "name": name, "arguments": arguments_text(arguments)}))
}

/// Creates several calls in one response.
pub fn tool_calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Reply {
    calls
        .into_iter()
        .fold(Reply::of(Outcome::Items(Vec::new())), |all, (name, arguments)| all.and(tool_call(name, arguments)))
}

/// Creates a handoff to the agent of this name, under its default function name.
pub fn handoff(agent: &str) -> Reply {
    tool_call(&format!("transfer_to_{}", temporal_agents_core::agent::to_tool_name(agent)), json!({}))
}

/// Creates a refusal to answer.
pub fn refusal(refusal: &str) -> Reply {
    item(json!({
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "refusal", "refusal": refusal}],
    }))
}

/// Creates a reasoning item with this summary.
pub fn reasoning(summary: &str) -> Reply {
    item(json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": summary}]}))
}

/// Creates any output item.
///
/// # Panics
/// If the value is not a JSON object.
pub fn item(value: Value) -> Reply {
    let item = Item::try_from(value).expect("an output item is a JSON object");
    Reply::of(Outcome::Items(vec![item]))
}

/// Returns a message item with this text, in the form of the Responses API.
pub fn message(text: impl Into<String>) -> Value {
    json!({
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text.into(), "annotations": []}],
    })
}

/// Creates a failure of this kind, which determines whether Temporal retries the call.
pub fn failure(kind: ModelFailureKind, message: impl Into<String>) -> Reply {
    let message = message.into();
    Reply::of(Outcome::Failure(Failure { kind, message, status: None, retry_after: None, retryable: None }))
}

impl Reply {
    fn of(outcome: Outcome) -> Self {
        Self {
            outcome,
            usage: Usage::of_tokens(100, 20),
            delay: Duration::ZERO,
            incomplete: None,
            expectations: Vec::new(),
            chunks: Chunks::default(),
        }
    }

    /// Appends the items of another reply to those of this one.
    ///
    /// # Panics
    /// If one of the replies is a failure.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        match (&mut self.outcome, other.outcome) {
            (Outcome::Items(items), Outcome::Items(more)) => items.extend(more),
            _ => panic!("a failure has no items to which others can be appended"),
        }
        self.expectations.extend(other.expectations);
        self
    }

    /// Sets the usage of the call. Default 100 input and 20 output tokens.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Delays the answer.
    #[must_use]
    pub fn delayed(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Marks the answer as incomplete, for this reason.
    #[must_use]
    pub fn incomplete(mut self, reason: impl Into<String>) -> Self {
        self.incomplete = Some(reason.into());
        self
    }

    /// Sets the number of characters in each part of a streamed answer. Default 8.
    #[must_use]
    pub fn chunk_size(mut self, characters: usize) -> Self {
        self.chunks.size = characters;
        self
    }

    /// Sets the pause between two parts of a streamed answer. Default: that of the model
    /// ([`FakeModel::chunk_pause`](super::FakeModel::chunk_pause)).
    #[must_use]
    pub fn chunk_pause(mut self, pause: Duration) -> Self {
        self.chunks.pause = Some(pause);
        self
    }

    /// Breaks the connection after this number of parts of a streamed answer, at its first attempt:
    /// it fails like a lost connection, and the next attempt receives this reply whole. An answer
    /// with fewer parts breaks after its last one. Calls without streaming do not fail.
    #[must_use]
    pub fn breaking_after(mut self, chunks: usize) -> Self {
        self.chunks.mishap = Some((chunks, Mishap::Break));
        self
    }

    /// Sends garbage after this number of parts of a streamed answer, at its first attempt, which
    /// fails as an invalid response; otherwise as [`breaking_after`](Self::breaking_after).
    #[must_use]
    pub fn garbage_after(mut self, chunks: usize) -> Self {
        self.chunks.mishap = Some((chunks, Mishap::Garbage));
        self
    }

    /// Sets the HTTP status of a failure.
    ///
    /// # Panics
    /// If this reply is not a failure.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.failure().status = Some(status);
        self
    }

    /// Sets the delay that a failure requests before the next attempt.
    ///
    /// # Panics
    /// If this reply is not a failure.
    #[must_use]
    pub fn retry_after(mut self, pause: Duration) -> Self {
        self.failure().retry_after = Some(pause);
        self
    }

    /// Marks a failure as retryable or not, regardless of its kind.
    ///
    /// # Panics
    /// If this reply is not a failure.
    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> Self {
        self.failure().retryable = Some(retryable);
        self
    }

    /// Checks the call that this reply answers; an error of the check fails the call, and fails the
    /// test in `FakeModel::verify`.
    #[must_use]
    pub fn expecting(mut self, check: impl Fn(&ModelCall) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.expectations.push(Arc::new(check));
        self
    }

    fn failure(&mut self) -> &mut Failure {
        match &mut self.outcome {
            Outcome::Failure(failure) => failure,
            Outcome::Items(_) => panic!("only a failure has a status and retry settings"),
        }
    }

    pub(super) fn check(&self, call: &ModelCall) -> Result<(), String> {
        self.expectations.iter().try_for_each(|expectation| expectation(call))
    }

    pub(super) async fn answer(self, call: usize) -> Result<ModelResponse, ModelError> {
        tokio::time::sleep(self.delay).await;
        match self.outcome {
            Outcome::Items(items) => {
                let output = items.into_iter().enumerate().map(|(place, item)| with_ids(&item, call, place)).collect();
                let mut response = ModelResponse::new(output, self.usage);
                response.response_id = Some(format!("resp_{call}"));
                response.incomplete = self.incomplete;
                Ok(response)
            }
            Outcome::Failure(Failure { kind, message, status, retry_after, retryable }) => {
                let mut error = ModelError::new(kind, message);
                error.status = status;
                error.retry_after = retry_after;
                error.retryable = retryable;
                Err(error)
            }
        }
    }
}

/// Adds the missing ids to an item: its own, and that of its call.
fn with_ids(item: &Item, call: usize, place: usize) -> Item {
    let prefix = match item.view() {
        ItemView::Message { .. } => "msg",
        ItemView::FunctionCall(_) => "fc",
        ItemView::Reasoning => "rs",
        _ => "item",
    };
    let mut item = item.clone();
    if item.id().is_none() {
        item = item.with("id", format!("{prefix}_{call}_{place}").into());
    }
    if item.kind() == "function_call" && item.call_id().is_none() {
        item = item.with("call_id", format!("call_{call}_{place}").into());
    }
    item
}

fn arguments_text(arguments: Value) -> String {
    match arguments {
        Value::String(text) => text,
        arguments => arguments.to_string(),
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.outcome.fmt(f)
    }
}
