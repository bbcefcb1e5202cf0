//! Failures of tools as data: what kind, what the model is told, what is recorded, on the dev server and without it.

mod ends;
mod keys;
mod kinds;
pub(crate) mod later_keywords;
mod long;
mod repeated;
mod secrets;
mod told_arguments;
mod values;
mod words;

use prost::Message;
use temporal_agents_testing::history::{self, History};

/// Whether a history holds this text: in its own fields, or in the bytes of a payload.
fn holds(history: &History, text: &str) -> bool {
    let bytes = history.encode_to_vec();
    bytes.windows(text.len()).any(|window| window == text.as_bytes()) || history::to_json(history).contains(text)
}
