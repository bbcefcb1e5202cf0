//! The text and reasoning parts: streamed from deltas, and completed by facts.
//!
//! # Design
//! **A fact decides.** A part is complete with its fact. If the deltas were not the beginning of
//! the fact, some were lost, and the part is sent again as a whole.
//!
//! **A later attempt replaces an earlier one.** In version 7 a reset of the step removes the parts
//! of the earlier attempt. In version 6 they are completed, and a `data-attempt` part with their
//! ids in `discards` follows: the page leaves out the last parts before it, as many as there are
//! ids, not counting data parts.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Version, steps::Steps};
use crate::http::ai_sdk::chunk::{Chunk, TextKind};

/// The parts that are open, and the attempts at the model calls that send them.
#[derive(Default)]
pub(super) struct Texts {
    open: Vec<OpenText>,
    /// By model call: `2-model`.
    attempts: BTreeMap<String, Attempt>,
}

struct OpenText {
    kind: TextKind,
    id: String,
    /// The model call that sends it.
    call: String,
    sent: String,
}

#[derive(Clone, Copy, Default)]
struct Attempt {
    number: u32,
    /// `true` once the model has answered: deltas come too late.
    is_answered: bool,
}

/// A part of a text.
#[derive(Clone, Copy)]
pub(super) struct Delta<'e> {
    pub(super) kind: TextKind,
    /// Id of the fact that completes the text.
    pub(super) id: &'e str,
    pub(super) attempt: u32,
    pub(super) text: &'e str,
}

impl Texts {
    /// Observes an attempt at a model call, and discards the parts of an earlier one.
    pub(super) fn attempt(&mut self, call: &str, number: u32, steps: &mut Steps) {
        let known = self.attempts.entry(call.to_owned()).or_default();
        if !known.is_answered && number > known.number {
            known.number = number;
            self.discard(Some(number), steps, |text| text.call == call);
        }
    }

    /// Observes that the model has answered, with this attempt.
    pub(super) fn answered(&mut self, call: &str, attempt: u32, steps: &mut Steps) {
        self.attempt(call, attempt, steps);
        self.attempts.entry(call.to_owned()).or_default().is_answered = true;
    }

    /// Returns `true` for a delta that continues its text, or begins one.
    pub(super) fn accepts(&self, delta: Delta<'_>, version: Version) -> bool {
        let known = self.attempts.get(call_of(delta.id)).copied().unwrap_or_default();
        let is_current = !known.is_answered && delta.attempt >= known.number;
        version != Version::V6Whole && is_current && !delta.text.is_empty()
    }

    /// Sends a delta that was accepted.
    pub(super) fn delta(&mut self, delta: Delta<'_>, steps: &mut Steps) {
        let Delta { kind, id, attempt, text } = delta;
        self.attempt(call_of(id), attempt, steps);
        if let Some(open) = self.open.iter_mut().find(|open| open.kind == kind && open.id == id) {
            open.sent.push_str(text);
        } else {
            let (id, call) = (id.to_owned(), call_of(id).to_owned());
            steps.send(kind.start(&id));
            self.open.push(OpenText { kind, id, call, sent: text.to_owned() });
        }
        steps.send(kind.delta(id, text));
    }

    /// Completes a part with its whole text.
    pub(super) fn fact(&mut self, kind: TextKind, id: &str, whole: &str, steps: &mut Steps) {
        let is_it = |open: &OpenText| open.kind == kind && open.id == id;
        let sent = self.open.iter().find(|open| is_it(open)).map(|open| open.sent.clone());
        match sent.as_deref().map(|sent| (sent, whole.strip_prefix(sent))) {
            Some((_, Some(rest))) => {
                if !rest.is_empty() {
                    steps.send(kind.delta(id, rest));
                }
                self.close(steps, is_it, whole);
            }
            // A reasoning item may hold its text in another form, or encrypted.
            Some((sent, None)) if kind == TextKind::Reasoning || whole.is_empty() => self.close(steps, is_it, sent),
            Some((_, None)) => {
                self.discard(None, steps, is_it);
                send_whole(kind, id, whole, steps);
            }
            None if whole.is_empty() => {}
            None => send_whole(kind, id, whole, steps),
        }
    }

    /// Completes the reasoning that was sent under the id of a message.
    pub(super) fn close_reasoning(&mut self, id: &str, steps: &mut Steps) {
        let is_it = |open: &OpenText| open.kind == TextKind::Reasoning && open.id == id;
        if let Some(sent) = self.open.iter().find(|open| is_it(open)).map(|open| open.sent.clone()) {
            self.close(steps, is_it, &sent);
        }
    }

    /// Completes all parts, without their facts.
    pub(super) fn close_all(&mut self, steps: &mut Steps) {
        for open in self.open.drain(..) {
            steps.send(open.kind.end(&open.id));
        }
    }

    /// Takes back the step, because the run continues from an earlier event.
    pub(super) fn rewind(&mut self, steps: &mut Steps) {
        self.attempts.clear();
        let mut remaining = steps.rewind();
        for open in self.open.drain(..) {
            if steps.version != Version::V7 {
                steps.send(open.kind.end(&open.id));
                remaining.push(open.id);
            }
        }
        send_discards(None, remaining, steps);
    }

    fn close(&mut self, steps: &mut Steps, is_it: impl Fn(&OpenText) -> bool, whole: &str) {
        for open in self.open.extract_if(.., |open| is_it(open)) {
            let end = open.kind.end(&open.id);
            steps.note(open.kind.start(&open.id));
            steps.note(open.kind.delta(&open.id, whole));
            steps.keep(end);
        }
    }

    /// Takes back open parts.
    fn discard(&mut self, attempt: Option<u32>, steps: &mut Steps, is_void: impl Fn(&OpenText) -> bool) {
        let void: Vec<OpenText> = self.open.extract_if(.., |open| is_void(open)).collect();
        if void.is_empty() {
            return;
        }
        if steps.version == Version::V7 {
            steps.reset();
            for open in &self.open {
                steps.send(open.kind.start(&open.id));
                steps.send(open.kind.delta(&open.id, &open.sent));
            }
            return;
        }
        for open in &void {
            steps.send(open.kind.end(&open.id));
        }
        send_discards(attempt, void.into_iter().map(|open| open.id).collect(), steps);
    }
}

/// Sends the ids of complete parts that the page leaves out.
fn send_discards(attempt: Option<u32>, ids: Vec<String>, steps: &mut Steps) {
    if ids.is_empty() {
        return;
    }
    let attempt = attempt.map(|attempt| ("attempt".to_owned(), Value::from(attempt)));
    let data: Map<String, Value> = attempt.into_iter().chain([("discards".to_owned(), ids.into())]).collect();
    steps.send(Chunk::data("attempt", None, data.into()));
}

fn send_whole(kind: TextKind, id: &str, whole: &str, steps: &mut Steps) {
    steps.keep(kind.start(id));
    steps.keep(kind.delta(id, whole));
    steps.keep(kind.end(id));
}

/// Returns the model call of an item or a fact, from its id: `2-model` of `k3x9q2ab/2-model/0`.
pub(super) fn call_of(id: &str) -> &str {
    let call = id.rsplit_once('/').map_or(id, |(call, _)| call);
    call.rsplit_once('/').map_or(call, |(_, call)| call)
}
