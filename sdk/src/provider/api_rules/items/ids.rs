//! The ids of calls, in the form of an API.
//!
//! One server writes an id and another reads it. An id that does not fit is replaced by its digest,
//! so each request has the same id, and so do a call and its output.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt::Write,
};

use sha2::{Digest, Sha256};
use temporal_agents_core::wire::Item;

use super::super::{
    families::{CallIdForm, ModelFamily},
    rules::{ApiRules, IdRules},
};

/// Longest id that OpenAI's models are known to accept in Chat Completions, in bytes.
const MAX_SHORT_ID_LEN: usize = 40;

/// Returns the items with ids that the API accepts.
pub(super) fn rewrite(rules: &ApiRules, family: &ModelFamily, items: Vec<Item>) -> Vec<Item> {
    let form = IdForm { rules: rules.ids, family: family.call_id_form };
    // The ids of calls that have no output so far, and how often each id occurred.
    let mut open: BTreeMap<(String, &str), VecDeque<String>> = BTreeMap::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let rewritten = items.into_iter().map(|item| {
        let Some(id) = item.call_id().map(str::to_owned) else { return item };
        let new = if let Some(output) = item.output_kind() {
            let count = counts.entry(id.clone()).or_default();
            let new = form.id(&id, *count);
            *count += 1;
            open.entry((id.clone(), output)).or_default().push_back(new.clone());
            new
        } else {
            let output = item.as_output_kind().unwrap_or_default();
            let answered = open.get_mut(&(id.clone(), output)).and_then(VecDeque::pop_front);
            answered.unwrap_or_else(|| form.id(&id, 0))
        };
        if new == id { item } else { item.with("call_id", new.into()) }
    });
    rewritten.collect()
}

/// The form of the ids of an API and a model.
struct IdForm {
    rules: IdRules,
    family: CallIdForm,
}

impl IdForm {
    /// Returns the id for the `count`-th call with this id, counted from 0.
    fn id(&self, id: &str, count: usize) -> String {
        if count == 0 && self.accepts(id) {
            return id.to_owned();
        }
        let mut digits = String::new();
        for byte in Sha256::new().chain_update(id).chain_update(count.to_be_bytes()).finalize().iter().take(12) {
            let _ = write!(digits, "{byte:02x}");
        }
        match self.family {
            CallIdForm::NineAlphanumeric => digits[..9].to_owned(),
            CallIdForm::Any | CallIdForm::Short => format!("call_{digits}"),
        }
    }

    fn accepts(&self, id: &str) -> bool {
        let fits = match self.family {
            CallIdForm::Any => true,
            CallIdForm::Short => id.len() <= MAX_SHORT_ID_LEN,
            CallIdForm::NineAlphanumeric => id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()),
        };
        let is_narrow = || id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        fits && !id.is_empty()
            && self.rules.max_len.is_none_or(|most| id.chars().count() <= most)
            && (!self.rules.is_narrow || is_narrow())
    }
}
