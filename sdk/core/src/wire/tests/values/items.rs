//! Conversation items.

use serde_json::{Value, json};

use crate::wire::Item;

pub(in crate::wire::tests) fn item(json: Value) -> Item {
    Item::try_from(json).expect("an object")
}

/// Items of every kind the loop knows, and of one it does not.
pub(in crate::wire::tests) fn items() -> Vec<Item> {
    vec![
        Item::user("Is it raining in Oslo?"),
        item(json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA=="})),
        item(json!({
            "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_weather",
            "arguments": "{\"city\": \"Oslo\"}", "status": "completed"
        })),
        Item::function_call_output("call_1", "12 degrees, dry".into()),
        item(json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}})),
        item(json!({"type": "hologram", "zeta": [1, 2.5, null], "alpha": {"b": true, "a": "é"}})),
        item(json!({
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{
                "type": "output_text", "text": "No.", "annotations": [],
                "logprobs": [{"token": "No", "logprob": -12.783_279_292_603_929}]
            }]
        })),
    ]
}
