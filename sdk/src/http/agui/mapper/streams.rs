//! Text and reasoning, streamed or whole, and the attempts at the model call that streams them.
//!
//! # Design
//! **A new attempt replaces what the one before has streamed.** Clients cannot take back a part of
//! a message: the message is closed, removed by a snapshot, and begun again under another id.

use serde_json::{Value, json};
use temporal_agents_core::wire::{Item, RunEvent};

use super::AguiMapper;
use crate::http::agui::{AguiEvent, AguiMessage, AguiRole};

/// The kind of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamKind {
    Text,
    Reasoning,
}

/// A message or a reasoning item.
#[derive(Debug)]
pub(super) struct Stream {
    /// Id of the event of the item.
    source: String,
    kind: StreamKind,
    turn: u32,
    /// Id of the message in the stream.
    id: String,
    text: String,
    is_open: bool,
    /// `true` once the fact has come: deltas after it are late.
    is_whole: bool,
}

/// A model call, as far as its deltas depend on it.
#[derive(Debug, Default)]
pub(super) struct ModelCall {
    /// Number of the latest attempt; 0 before the first delta.
    attempt: u32,
    is_scheduled: bool,
    /// `true` once the call has an answer or has failed: deltas after it are late.
    has_ended: bool,
}

impl StreamKind {
    fn role(self) -> AguiRole {
        match self {
            Self::Text => AguiRole::Assistant,
            Self::Reasoning => AguiRole::Reasoning,
        }
    }
}

impl AguiMapper {
    /// Observes that a model call was scheduled, or was scheduled again.
    pub(super) fn model_scheduled(&mut self, scope: usize, turn: u32, model: &str) {
        self.close_streams(scope, |stream| stream.turn != turn);
        model.clone_into(&mut self.scopes[scope].model);
        let call = self.scopes[scope].model_calls.entry(turn).or_default();
        // Deltas may come before the fact that the call was scheduled.
        if call.is_scheduled {
            *call = ModelCall::default();
            self.discard_partial(scope, turn, 1);
        }
        self.scopes[scope].model_calls.entry(turn).or_default().is_scheduled = true;
    }

    /// Observes that a model has answered. What an earlier attempt has streamed is discarded.
    pub(super) fn model_answered(&mut self, scope: usize, turn: u32, attempts: u32) {
        let call = self.scopes[scope].model_calls.entry(turn).or_default();
        let is_of_earlier_attempt = call.attempt > 0 && attempts > call.attempt;
        call.has_ended = true;
        if is_of_earlier_attempt {
            self.discard_partial(scope, turn, attempts);
        }
    }

    /// Observes that a model call has failed.
    pub(super) fn model_failed(&mut self, scope: usize, turn: u32) {
        self.scopes[scope].model_calls.entry(turn).or_default().has_ended = true;
        self.close_streams(scope, |stream| stream.turn == turn);
    }

    /// Observes an attempt at a model call. Returns `false` if its deltas are late: a later attempt
    /// has begun, or the call has ended.
    pub(super) fn is_latest_attempt(&mut self, scope: usize, turn: u32, attempt: u32) -> bool {
        let call = self.scopes[scope].model_calls.entry(turn).or_default();
        if call.has_ended || attempt < call.attempt {
            return false;
        }
        if attempt > std::mem::replace(&mut call.attempt, attempt) {
            self.discard_partial(scope, turn, attempt);
        }
        true
    }

    /// Sends a part of a message: its id, the number of the attempt, and the text.
    pub(super) fn delta(
        &mut self,
        scope: usize,
        turn: u32,
        kind: StreamKind,
        (source, attempt, delta): (&str, u32, &str),
    ) {
        let turn = source.rsplit('/').nth(1).and_then(turn_of).unwrap_or(turn);
        if delta.is_empty() || !self.is_latest_attempt(scope, turn, attempt) {
            return;
        }
        let known = self.scopes[scope].streams.iter().position(|stream| stream.source == source);
        let stream = match known.map(|at| (at, &self.scopes[scope].streams[at])) {
            Some((_, stream)) if stream.is_whole || stream.kind != kind => return,
            Some((at, _)) => at,
            None => self.add_stream(scope, turn, kind, source),
        };
        if kind == StreamKind::Text {
            self.close_streams(scope, |stream| stream.kind == StreamKind::Reasoning);
        }
        self.send(scope, stream, delta);
    }

    /// Sends a whole item: what was not streamed of it.
    pub(super) fn item(&mut self, scope: usize, event: &RunEvent, kind: StreamKind, text: &str) {
        let source = &event.id;
        let is_meant = |stream: &Stream| !source.is_empty() && stream.source == *source && stream.kind == kind;
        let Some(at) = self.scopes[scope].streams.iter().position(is_meant) else {
            let at = self.add_stream(scope, event.turn, kind, source);
            if !text.is_empty() {
                self.send(scope, at, text);
            }
            return self.complete(scope, at);
        };
        let Stream { id, text: streamed, is_whole, .. } = &self.scopes[scope].streams[at];
        // Content that the reader cannot decode, or reasoning that is only streamed.
        let is_absent = text.is_empty() && (event.is_opaque || kind == StreamKind::Reasoning);
        let is_same = match kind {
            StreamKind::Text => text == streamed,
            StreamKind::Reasoning => without_breaks(text) == without_breaks(streamed),
        };
        if *is_whole || is_absent || is_same {
            return self.complete(scope, at);
        }
        if let Some(rest) = text.strip_prefix(&**streamed).map(str::to_owned) {
            self.send(scope, at, &rest);
            return self.complete(scope, at);
        }
        let id = id.clone();
        self.complete(scope, at);
        text.clone_into(&mut self.scopes[scope].streams[at].text);
        if self.log.replace(&id, &kind.role(), text) {
            self.snapshot();
        }
    }

    /// Closes the open messages of a scope for which the condition holds.
    pub(super) fn close_streams(&mut self, scope: usize, condition: impl Fn(&Stream) -> bool) {
        let subagent_run_id = self.owner(scope);
        let is_meant = |stream: &&mut Stream| stream.is_open && condition(stream);
        for stream in self.scopes[scope].streams.iter_mut().filter(is_meant) {
            stream.is_open = false;
            let (message_id, subagent_run_id) = (stream.id.clone(), subagent_run_id.clone());
            if stream.kind == StreamKind::Text {
                self.out.push(AguiEvent::TextMessageEnd { message_id, subagent_run_id });
                continue;
            }
            let (span, of_subagent) = (message_id.clone(), subagent_run_id.clone());
            self.out.push(AguiEvent::ReasoningMessageEnd { message_id, subagent_run_id });
            self.out.push(AguiEvent::ReasoningEnd { message_id: span, subagent_run_id: of_subagent });
        }
    }

    /// Removes what earlier attempts at a model call have streamed.
    fn discard_partial(&mut self, scope: usize, turn: u32, attempt: u32) {
        let is_partial = |stream: &Stream| stream.turn == turn && !stream.is_whole;
        self.close_streams(scope, is_partial);
        let partial: Vec<Stream> = self.scopes[scope].streams.extract_if(.., |stream| is_partial(stream)).collect();
        if partial.is_empty() {
            return;
        }
        for stream in partial {
            self.log.remove(&stream.id, &stream.kind.role());
        }
        self.custom(scope, "temporal.attempt", json!({"attempt": attempt}));
        self.snapshot();
    }

    /// Adds a message that is not open yet, and returns its index.
    fn add_stream(&mut self, scope: usize, turn: u32, kind: StreamKind, source: &str) -> usize {
        let attempt = self.scopes[scope].model_calls.get(&turn).map_or(0, |call| call.attempt);
        let id = self.fresh_id(if source.is_empty() { "message" } else { source }, attempt);
        let (source, text) = (source.to_owned(), String::new());
        let stream = Stream { source, kind, turn, id, text, is_open: false, is_whole: false };
        self.scopes[scope].streams.push(stream);
        self.scopes[scope].streams.len() - 1
    }

    /// Sends a part of a message, which it opens if necessary.
    fn send(&mut self, scope: usize, at: usize, delta: &str) {
        let owner = self.owner(scope);
        let name = Some(&self.scopes[scope].agent).filter(|agent| !agent.is_empty()).cloned();
        let stream = &mut self.scopes[scope].streams[at];
        let (kind, role) = (stream.kind, stream.kind.role());
        let is_new = stream.text.is_empty();
        let is_opened = !std::mem::replace(&mut stream.is_open, true);
        stream.text.push_str(delta);
        let (message_id, delta) = (stream.id.clone(), delta.to_owned());
        if is_new {
            let mut message = AguiMessage::new(&*message_id, role.clone(), "");
            message.name = name.clone().filter(|_| kind == StreamKind::Text);
            self.log.push(owner.clone(), message);
        }
        self.log.append(&message_id, &role, &delta);
        let ids = || (message_id.clone(), owner.clone());
        if is_opened {
            let (message_id, subagent_run_id) = ids();
            if kind == StreamKind::Text {
                let role = "assistant";
                self.out.push(AguiEvent::TextMessageStart { message_id, role, name, subagent_run_id });
            } else {
                self.out.push(AguiEvent::ReasoningStart { message_id, subagent_run_id });
                let (message_id, subagent_run_id) = ids();
                let role = "reasoning";
                self.out.push(AguiEvent::ReasoningMessageStart { message_id, role, subagent_run_id });
            }
        }
        let (message_id, subagent_run_id) = ids();
        self.out.push(match kind {
            StreamKind::Text => AguiEvent::TextMessageContent { message_id, delta, subagent_run_id },
            StreamKind::Reasoning => AguiEvent::ReasoningMessageContent { message_id, delta, subagent_run_id },
        });
    }

    /// Closes a message whose fact has come.
    fn complete(&mut self, scope: usize, at: usize) {
        let stream = &mut self.scopes[scope].streams[at];
        stream.is_whole = true;
        let id = stream.id.clone();
        self.close_streams(scope, |stream| stream.id == id);
    }
}

/// Returns the turn of the effect of a model call: `2-model` is that of turn 2.
pub(super) fn turn_of(effect: &str) -> Option<u32> {
    effect.split_once("-model")?.0.parse().ok()
}

/// Returns the text of a reasoning item: its summaries, or else its content.
pub(super) fn reasoning_text(item: &Item) -> String {
    let parts = |member: &str| -> Vec<String> {
        let parts = item.get(member).and_then(Value::as_array).into_iter().flatten();
        parts.filter_map(|part| part["text"].as_str()).map(str::to_owned).collect()
    };
    let summary = parts("summary");
    if summary.is_empty() { parts("content") } else { summary }.join("\n\n")
}

/// Returns a text without the breaks between its parts, which are not streamed.
fn without_breaks(text: &str) -> String {
    text.replace("\n\n", "")
}
