//! Thoughts of a model, stored in a `reasoning` item so that they can be sent back to the adapter
//! that returned them.
//!
//! Google sends signatures only; others plain text. The text is the item's `summary`, for people and
//! traces. Data that only its adapter understands is opaque data in the item's [`PROVIDER_DATA`], in
//! the form that `provider/anthropic/thoughts.rs` also has:
//!
//! ```json
//! {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}],
//!  "provider_data": {"genai": {
//!    "adapter": "gemini",
//!    "thoughts": [{"signature": "EqoB.."}, {"summary": 0}]}}}
//! ```
//!
//! Data of one adapter is not sent to another: a signature is of no use there, and some adapters
//! refuse it.

use ::genai::chat::ContentPart;
use serde_json::{Map, Value, json};

use crate::provider::data::{GENAI, PROVIDER_DATA};
use temporal_agents_core::wire::Item;

/// Returns the item that holds these parts of a response: signatures, reasoning, and blocks that
/// the crate does not know.
pub(super) fn item(adapter: &str, parts: Vec<ContentPart>) -> Item {
    let mut summary = Vec::new();
    let mut thoughts = Vec::new();
    for part in parts {
        thoughts.push(match part {
            ContentPart::ThoughtSignature(signature) => json!({"signature": signature}),
            ContentPart::ReasoningContent(text) => {
                summary.push(json!({"type": "summary_text", "text": text}));
                json!({"summary": summary.len() - 1})
            }
            ContentPart::Custom(custom) => json!({"block": custom.data}),
            _ => continue,
        });
    }
    let data = json!({GENAI: {"adapter": adapter, "thoughts": thoughts}});
    let mut object = Map::new();
    object.insert("type".to_owned(), "reasoning".into());
    object.insert("summary".to_owned(), summary.into());
    object.insert(PROVIDER_DATA.to_owned(), data);
    Item::from(object)
}

/// Returns the parts that an item holds for this adapter; none if the item is that of another
/// adapter.
pub(super) fn parts(adapter: &str, item: &Item) -> Vec<ContentPart> {
    let data = item.get(PROVIDER_DATA).and_then(|data| data.get(GENAI));
    let Some(data) = data.filter(|data| data["adapter"] == adapter) else { return Vec::new() };
    let summary = item.get("summary").unwrap_or(&Value::Null);
    let thoughts = data["thoughts"].as_array().map(Vec::as_slice).unwrap_or_default();
    thoughts.iter().filter_map(|thought| part(thought, summary)).collect()
}

fn part(thought: &Value, summary: &Value) -> Option<ContentPart> {
    if let Some(signature) = thought["signature"].as_str() {
        return Some(ContentPart::ThoughtSignature(signature.to_owned()));
    }
    if let Some(index) = thought["summary"].as_u64() {
        let text = summary.get(usize::try_from(index).ok()?)?["text"].as_str()?;
        return Some(ContentPart::ReasoningContent(text.to_owned()));
    }
    thought.get("block").map(|block| ContentPart::from_custom(block.clone(), None))
}
