//! The forms of a streamed request that servers accept, by model, remembered so that a refused one
//! is sent once.
//!
//! A form is remembered as long as the provider lives: if a server begins to support streams, one
//! is requested after the next start of the worker.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::answer::Answer;

/// The maximum number of entries. The names of models come from requests, so their number has no
/// limit of its own.
const MOST_ENTRIES: usize = 1000;

/// The form in which an answer is requested; each is for servers that refuse the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestForm {
    /// A stream, with options.
    Stream,
    /// A stream without `stream_options`.
    WithoutOptions,
    /// A whole answer.
    Whole,
}

/// The refusals so far. Clones of a provider share them.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    known: BTreeMap<String, RequestForm>,
    /// The models and reasons of the warnings so far.
    warned: BTreeSet<(String, &'static str)>,
}

impl Refusals {
    /// Returns the form of request that the server of this model is known to accept, if it refused
    /// another one.
    pub(crate) fn known(&self, model: &str) -> Option<RequestForm> {
        self.entries().known.get(model).copied()
    }

    /// Remembers the form of request for this model, and logs it.
    pub(crate) fn remember(&self, model: &str, form: RequestForm) {
        let reason = match form {
            RequestForm::Stream => return,
            RequestForm::WithoutOptions => "the server refuses `stream_options`",
            RequestForm::Whole => "the server does not stream, or its streams have no usage",
        };
        {
            let mut entries = self.entries();
            if entries.known.len() < MOST_ENTRIES {
                entries.known.insert(model.to_owned(), form);
            }
        }
        self.warn(model, reason);
    }

    /// Logs the reason that calls of this model are not streamed as usual, once for each reason.
    pub(crate) fn warn(&self, model: &str, reason: &'static str) {
        let is_new = {
            let mut entries = self.entries();
            entries.warned.len() < MOST_ENTRIES && entries.warned.insert((model.to_owned(), reason))
        };
        if is_new {
            tracing::warn!(model, reason, "answers of this model are not streamed as usual");
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the form of the next request, if an answer refuses the parameters of a stream by name:
/// the options first, if the request has them, then the stream.
pub(crate) fn next(answer: &Answer, has_options: bool) -> Option<RequestForm> {
    if !matches!(answer.status.as_u16(), 400 | 422) {
        return None;
    }
    let text = String::from_utf8_lossy(&answer.body);
    if has_options && names(&text, "stream_options") {
        Some(RequestForm::WithoutOptions)
    } else {
        names(&text, "stream").then_some(RequestForm::Whole)
    }
}

/// Returns `true` if a word of the text is this name.
fn names(text: &str, name: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).any(|word| word == name)
}

#[cfg(test)]
mod tests;
