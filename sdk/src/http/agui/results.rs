//! The results of calls that the frontend makes, among the messages of a request.
//!
//! # Design
//! **The id of a call finds its result, not the place.** Frontends put a result behind the message
//! of its call, behind all calls of a response, or at the end, and repeat the messages of earlier
//! runs. So the calls that wait are looked for among all results; results of other calls are not
//! looked at.
//!
//! **The last result of a call counts.** A frontend appends to its messages: what it adds later
//! replaces a placeholder, or the answer of a person who has thought again.
//!
//! **A call that is made again has no result yet.** Some models number the calls of each response
//! anew. A result before the latest message of its call belongs to an earlier call.

use std::collections::BTreeMap;

use super::message::AguiMessage;
use crate::events::{call_id_of, without_number};

/// The calls of the messages, by their ids in the stream.
struct ShownCalls<'m>(BTreeMap<&'m str, ShownCall>);

#[derive(Default)]
struct ShownCall {
    /// Number of the messages so far that make it.
    count: usize,
    result: Option<String>,
}

/// The ids under which a stream may show the call of a question.
struct ShownIds<'q> {
    question: &'q str,
    call_id: String,
    is_nested: bool,
}

/// Returns the results of these questions in the messages, each with the id of its question.
pub(super) fn find_results<'q>(messages: &[AguiMessage], questions: &[&'q str]) -> Vec<(&'q str, String)> {
    let mut calls = ShownCalls::read(messages);
    let shown: Vec<ShownIds<'_>> = questions.iter().map(|question| ShownIds::new(question)).collect();
    let mut found: Vec<Option<ShownCall>> = questions.iter().map(|_| None).collect();
    // Where several runs use an id, the mapper has made another one of it, which is looked for first.
    for is_shown_as in [ShownIds::is_question, ShownIds::is_made_distinct, ShownIds::is_call_id] {
        for (shown, found) in shown.iter().zip(&mut found) {
            if found.is_none() {
                *found = calls.take(|id| is_shown_as(shown, id));
            }
        }
    }
    questions.iter().zip(found).filter_map(|(question, call)| Some((*question, call?.result?))).collect()
}

impl<'m> ShownCalls<'m> {
    fn read(messages: &'m [AguiMessage]) -> Self {
        let mut calls: BTreeMap<&str, ShownCall> = BTreeMap::new();
        for message in messages {
            for call in &message.tool_calls {
                let shown = calls.entry(&call.id).or_default();
                shown.count += 1;
                if shown.count > 1 {
                    shown.result = None;
                }
            }
            if let Some(call_id) = message.answered_call() {
                calls.entry(call_id).or_default().result = Some(message.text().unwrap_or_default());
            }
        }
        Self(calls)
    }

    /// Takes the first call with a matching id, so that no other question gets it.
    fn take(&mut self, is_meant: impl Fn(&str) -> bool) -> Option<ShownCall> {
        let id = self.0.keys().copied().find(|id| is_meant(id))?;
        self.0.remove(id)
    }
}

impl<'q> ShownIds<'q> {
    fn new(question: &'q str) -> Self {
        Self { question, call_id: call_id_of(question), is_nested: question.contains('/') }
    }

    fn is_question(&self, id: &str) -> bool {
        let is_path = || self.is_nested && id == without_number(self.question);
        id != self.call_id && (id == self.question || is_path())
    }

    /// Returns `true` for an id with the path of a nested run, or with a number.
    fn is_made_distinct(&self, id: &str) -> bool {
        let own = without_number(id);
        if self.is_nested {
            own.strip_suffix(&*self.call_id).is_some_and(|path| path.ends_with('/'))
        } else {
            own != id && own == self.call_id
        }
    }

    fn is_call_id(&self, id: &str) -> bool {
        id == self.call_id
    }
}

#[cfg(test)]
mod tests;
