//! Gives a call an id of its own if its server left the id out or repeats it.
//!
//! An id is unique within one answer at most: some servers count calls from 0 in each answer, some
//! send one constant, some send none. A run tells calls apart by their ids, in the whole
//! conversation. So a call whose id an earlier call has is a new call, and is renamed here, before
//! anything reads the answer.
//!
//! # Design
//! **A new id is a pure function of the answer and the conversation.** Every attempt at a model call
//! gives its deltas and its response the same ids: `list_dir:0`, then `list_dir:0-2`. The ids of
//! Gemini's calls are the exception: `genai/response.rs` makes them at random.
//!
//! **A call that one answer repeats word for word is one call.** It keeps its id, and the engine
//! drops the repetition (`engine/calls.rs`). Its deltas have an id of their own, which the answer
//! supersedes.
//!
//! **A conversation that the provider keeps is left alone,** because the provider knows the ids. The
//! first call of a chain does not say that it begins one: there a repeated id is renamed, and the
//! server does not know the new one. No server that keeps conversations is known to repeat ids.
//!
//! **Calls that a handoff filter hides are not seen here.** If such a call has the same id, the
//! engine ends the run.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Map, Value};
use temporal_agents_core::wire::{FunctionCall, Item, ItemView, ModelCall, ModelResponse, canonical};

use super::{ModelDelta, ModelDeltas};

/// The ids of the calls of a conversation.
#[derive(Clone, Debug)]
pub(super) struct CallIds {
    /// The ids, in order. `None` if the provider keeps the conversation.
    taken: Option<Arc<BTreeSet<String>>>,
}

impl CallIds {
    /// Collects the ids of the calls in the input of a model call.
    pub(super) fn in_conversation(call: &ModelCall) -> Self {
        let is_kept_there = call.previous_response_id.is_some() || call.conversation_id.is_some();
        let ids = || call.input.iter().filter_map(call_id).map(str::to_owned).collect();
        Self { taken: (!is_kept_there).then(|| Arc::new(ids())) }
    }

    /// Returns a handle whose deltas have the ids of the answer.
    pub(super) fn rename_deltas(&self, deltas: ModelDeltas) -> ModelDeltas {
        let Some(taken) = self.taken.clone() else { return deltas };
        let wants_native = deltas.wants_native();
        let ids = Mutex::new(StreamedIds { new_ids: NewIds::new(taken), by_index: BTreeMap::new() });
        let renamed = ModelDeltas::new(move |delta| {
            let ModelDelta::ToolArguments { index, call_id: Some(id), name, delta } = delta else {
                return deltas.send(delta);
            };
            let call_id = ids.lock().unwrap_or_else(PoisonError::into_inner).rename(index, &id);
            deltas.send(ModelDelta::ToolArguments { index, call_id: Some(call_id), name, delta });
        });
        if wants_native { renamed.with_native() } else { renamed }
    }

    /// Returns the response with an id of its own for each call.
    pub(super) fn rename(&self, mut response: ModelResponse) -> ModelResponse {
        let Some(taken) = self.taken.clone() else { return response };
        let mut new_ids = NewIds::new(taken);
        let mut by_call: BTreeMap<(String, String), String> = BTreeMap::new();
        // The latest new id of each id: some servers answer with calls that they have made.
        let mut latest_by_id: BTreeMap<String, String> = BTreeMap::new();
        for (index, item) in response.output.iter_mut().enumerate() {
            let call = match item.view() {
                ItemView::FunctionCall(call) => call,
                ItemView::FunctionCallOutput { call_id, .. } => {
                    if let Some(new_id) = latest_by_id.get(call_id).filter(|new_id| *new_id != call_id) {
                        *item = item.with("call_id", new_id.as_str().into());
                    }
                    continue;
                }
                _ => continue,
            };
            let new_id = if call.call_id.is_empty() {
                new_ids.next(&format!("call_{index}"))
            } else {
                let same = (call.call_id.to_owned(), content(&call));
                by_call.entry(same).or_insert_with(|| new_ids.next(call.call_id)).clone()
            };
            latest_by_id.insert(call.call_id.to_owned(), new_id.clone());
            if new_id != call.call_id {
                *item = item.with("call_id", new_id.into());
            }
        }
        response
    }
}

/// The new ids of the calls in a stream.
struct StreamedIds {
    new_ids: NewIds,
    by_index: BTreeMap<u32, String>,
}

impl StreamedIds {
    fn rename(&mut self, index: u32, id: &str) -> String {
        self.by_index.entry(index).or_insert_with(|| self.new_ids.next(id)).clone()
    }
}

/// The ids that one answer gives its calls.
struct NewIds {
    /// The ids of earlier calls.
    taken: Arc<BTreeSet<String>>,
    given: BTreeSet<String>,
    /// The last number behind each id that is taken.
    numbers: BTreeMap<String, u64>,
}

impl NewIds {
    fn new(taken: Arc<BTreeSet<String>>) -> Self {
        Self { taken, given: BTreeSet::new(), numbers: BTreeMap::new() }
    }

    /// Returns the id if no call has it, and otherwise the id with the next number.
    fn next(&mut self, id: &str) -> String {
        let Self { taken, given, numbers } = self;
        let is_free = |id: &str| !taken.contains(id) && !given.contains(id);
        let mut new_id = id.to_owned();
        if !is_free(id) {
            let number = numbers.entry(id.to_owned()).or_insert_with(|| last_number(taken, id));
            while !is_free(&new_id) {
                *number += 1;
                new_id = format!("{id}-{number}");
            }
        }
        given.insert(new_id.clone());
        new_id
    }
}

/// Returns the last number behind an id among these ids; 1 if there is none.
fn last_number(taken: &BTreeSet<String>, id: &str) -> u64 {
    let prefix = format!("{id}-");
    let numbered = taken.range(prefix.clone()..).map_while(|other| other.strip_prefix(&*prefix));
    numbered.filter_map(|number| number.parse::<u32>().ok()).fold(1, |last, number| last.max(number.into()))
}

/// Returns the name and the arguments of a call, as one text.
fn content(call: &FunctionCall<'_>) -> String {
    let arguments = serde_json::from_str::<Value>(&call.arguments).unwrap_or_else(|_| (&*call.arguments).into());
    let members = [("name".to_owned(), call.name.into()), ("arguments".to_owned(), arguments)];
    let mut text = Vec::new();
    canonical::write(&Value::Object(Map::from_iter(members)), &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn call_id(item: &Item) -> Option<&str> {
    match item.view() {
        ItemView::FunctionCall(call) | ItemView::NativeCall { call, .. } => Some(call.call_id),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
