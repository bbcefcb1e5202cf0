//! Blocks of a message that are neither text nor calls, stored in a `reasoning` item so that they
//! can be sent back to the server that returned them.
//!
//! Anthropic signs its thinking and requires it back, unchanged and in its place, with the tool
//! results. The text is the item's `summary`, for people and traces. What only the server
//! understands is opaque data in the item's [`PROVIDER_DATA`]:
//!
//! ```json
//! {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}],
//!  "provider_data": {"genai": {
//!    "adapter": "anthropic",
//!    "thoughts": [{"signature": "EqoB.."}, {"summary": 0}, {"block": {"type": "redacted_thinking", "data": ".."}}]}}}
//! ```
//!
//! A signature belongs to the text after it. Data of one adapter is not sent to another: a signature
//! is of no use there. The key is `genai` because the crate genai made these calls when older
//! conversations were stored.

use serde_json::{Map, Value, json};
use temporal_agents_core::wire::Item;

use crate::provider::data::{GENAI, PROVIDER_DATA};

/// Returns the item that holds these blocks.
pub(super) fn item(adapter: &str, blocks: Vec<Map<String, Value>>) -> Item {
    let mut summary = Vec::new();
    let mut thoughts = Vec::new();
    for block in blocks {
        let text = block.get("thinking").and_then(Value::as_str).filter(|_| is_kind(&block, "thinking"));
        let index = summary.len();
        if let Some(text) = text {
            summary.push(json!({"type": "summary_text", "text": text}));
        }
        match (text, block.get("signature").and_then(Value::as_str)) {
            (Some(_), Some(signature)) if block.len() == 3 => {
                thoughts.push(json!({"signature": signature}));
                thoughts.push(json!({"summary": index}));
            }
            _ => thoughts.push(json!({"block": block})),
        }
    }
    Item::from(Map::from_iter([
        ("type".to_owned(), "reasoning".into()),
        ("summary".to_owned(), summary.into()),
        (PROVIDER_DATA.to_owned(), json!({GENAI: {"adapter": adapter, "thoughts": thoughts}})),
    ]))
}

/// Returns the blocks that an item holds for this adapter. Another adapter's item has none. Thinking without a signature is left out, because the API refuses it.
pub(super) fn blocks(adapter: &str, item: &Item) -> Vec<Value> {
    let data = item.get(PROVIDER_DATA).and_then(|data| data.get(GENAI));
    let Some(data) = data.filter(|data| data["adapter"] == adapter) else { return Vec::new() };
    let summary = item.get("summary").unwrap_or(&Value::Null);
    let text = |thought: &Value| {
        let index = usize::try_from(thought["summary"].as_u64()?).ok()?;
        summary.get(index)?["text"].as_str()
    };
    let mut blocks = Vec::new();
    let mut thoughts = data["thoughts"].as_array().into_iter().flatten().peekable();
    while let Some(thought) = thoughts.next() {
        if let Some(block) = thought.get("block") {
            let has_signature = block["signature"].as_str().is_some_and(|signature| !signature.is_empty());
            // Servers other than Anthropic's do not sign.
            if adapter != "anthropic" || block["type"] != "thinking" || has_signature {
                blocks.push(block.clone());
            }
        } else if let Some(signature) = thought["signature"].as_str()
            && let Some(thinking) = thoughts.peek().and_then(|next| text(next))
        {
            blocks.push(json!({"type": "thinking", "thinking": thinking, "signature": signature}));
        }
    }
    blocks
}

fn is_kind(block: &Map<String, Value>, kind: &str) -> bool {
    block.get("type").is_some_and(|name| name == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_as_they_were() {
        let blocks = json!([
            {"type": "thinking", "thinking": "hm", "signature": "s1"},
            {"type": "thinking", "thinking": "", "signature": "s2"},
            {"type": "redacted_thinking", "data": "Em8="},
            {"type": "thinking", "thinking": "so", "signature": "s3", "more": 1},
            {"type": "thinking", "thinking": "unsigned"},
            {"type": "hologram", "beam": {"a": 1}},
        ]);
        let as_maps: Vec<Map<String, Value>> = serde_json::from_value(blocks.clone()).expect("objects");
        let item = item("anthropic", as_maps);
        let mut signed = blocks.as_array().expect("blocks").clone();
        signed.remove(4);
        assert_eq!(super::blocks("anthropic", &item), signed);
        let texts: Vec<&str> = item
            .get("summary")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|s| s["text"].as_str())
            .collect();
        assert_eq!(texts, ["hm", "", "so", "unsigned"]);
        assert_eq!(super::blocks("minimax", &item), Vec::<Value>::new());
    }

    #[test]
    fn text_without_its_signature_is_left_out() {
        let item: Item = serde_json::from_value(json!({
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "provider_data": {"genai": {"adapter": "anthropic", "thoughts": [{"summary": 0}, {"signature": "s"}]}},
        }))
        .expect("an item");
        assert_eq!(blocks("anthropic", &item), Vec::<Value>::new());
    }
}
