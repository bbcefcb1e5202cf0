//! Removes the values of worker variables from the parts of an answer.
//!
//! A value may be split over parts. So of a call that has received values, each part is held back
//! until what follows cannot complete one: the readers of such a call lag behind. The rest that is
//! held back at the end of the answer is not sent; the response has it.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use super::deltas::{ModelDelta, ModelDeltas};
use crate::secret::worker_env::Given;

/// Returns a receiver that passes the parts of an answer on without the values of this call.
pub(super) fn held_back(deltas: ModelDeltas, given: Given) -> ModelDeltas {
    if given.is_empty() {
        return deltas;
    }
    let held = Mutex::new(HeldBack::new(given));
    ModelDeltas::new(move |delta| {
        let settled = held.lock().unwrap_or_else(PoisonError::into_inner).pass(delta);
        if let Some(delta) = settled {
            deltas.send(delta);
        }
    })
}

/// The parts of one answer, of which the ends are held back.
struct HeldBack {
    given: Given,
    /// The rest of each text, by kind and position of its item.
    rests: BTreeMap<(u8, u32), String>,
}

impl HeldBack {
    fn new(given: Given) -> Self {
        Self { given, rests: BTreeMap::new() }
    }

    /// Returns the part that can be passed on; `None` if nothing can.
    fn pass(&mut self, mut part: ModelDelta) -> Option<ModelDelta> {
        let (kind, index, text) = match &mut part {
            ModelDelta::Text { index, delta } => (0, *index, delta),
            ModelDelta::Refusal { index, delta } => (1, *index, delta),
            ModelDelta::Reasoning { index, delta } => (2, *index, delta),
            ModelDelta::ToolArguments { index, delta, .. } => (3, *index, delta),
            // An event of the provider holds parts of its own.
            ModelDelta::Native(_) => return None,
        };
        *text = self.settled((kind, index), text)?;
        Some(part)
    }

    /// Adds to the rest of a text; returns the part of it that can be passed on.
    fn settled(&mut self, of: (u8, u32), delta: &str) -> Option<String> {
        let rest = self.rests.entry(of).or_default();
        rest.push_str(delta);
        let end = self.given.settled(rest);
        let settled: String = rest.drain(..end).collect();
        (!settled.is_empty()).then(|| self.given.text(&settled))
    }
}

#[cfg(test)]
mod tests;
