//! Tool calls: requests and replies.

use serde_json::{Map, json};

use crate::wire::{
    Bounds, McpQuestion, ServerData, SideData, ToolOutput, ToolReply, ToolRequest, WIRE_VERSION, digest::Digest,
    worker_env,
};

use super::object;

pub(in crate::wire::tests) fn tool_request_full() -> ToolRequest {
    ToolRequest { context: object(json!({"customer": {"id": 7}})), ..tool_request_minimal() }
}

pub(in crate::wire::tests) fn tool_request_minimal() -> ToolRequest {
    ToolRequest {
        version: WIRE_VERSION,
        tool: "get_weather".to_owned(),
        agent: "weather desk".to_owned(),
        turn: 1,
        call_id: "call_1".to_owned(),
        arguments: object(json!({"units": null, "city": "Oslo"})),
        context: Map::new(),
        settings: Map::new(),
        idempotency_key: None,
        mcp: None,
        remote: None,
        schema: None,
        session_id: None,
        parent_call: None,
    }
}

pub(in crate::wire::tests) fn tool_request_version() -> ToolRequest {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    ToolRequest { schema: Some(Digest::of_value(&schema)), ..tool_request_keyed() }
}

pub(in crate::wire::tests) fn tool_request_keyed() -> ToolRequest {
    ToolRequest { idempotency_key: Some("X-msHvbBsvCjqPS3".to_owned()), ..tool_request_full() }
}

pub(in crate::wire::tests) fn tool_request_inside() -> ToolRequest {
    let (session_id, parent_call) = (Some("chat 7".to_owned()), Some("q_XAF0Z9tz0nyCWh".to_owned()));
    ToolRequest { session_id, parent_call, ..tool_request_keyed() }
}

pub(in crate::wire::tests) fn tool_request_set() -> ToolRequest {
    let settings = object(json!({"region": "eu", "token": worker_env("CRM_TOKEN")}));
    ToolRequest { settings, ..tool_request_keyed() }
}

pub(in crate::wire::tests) fn tool_reply_text() -> ToolReply {
    ToolReply {
        version: WIRE_VERSION,
        output: ToolOutput::Text("12 degrees, dry".to_owned()),
        context_patch: None,
        side_data: None,
        question: None,
    }
}

pub(in crate::wire::tests) fn tool_reply_question() -> ToolReply {
    let schema = json!({"type": "object", "properties": {"quantity": {"type": "integer"}}});
    let question = McpQuestion { message: "How many?".to_owned(), schema };
    ToolReply { output: String::new().into(), question: Some(question), ..tool_reply_text() }
}

pub(in crate::wire::tests) fn side_data() -> SideData {
    let server_data = vec![
        ServerData::timeline("map", json!({"url": "https://maps.test/oslo"})),
        ServerData::evidence("station", json!("Blindern")),
        ServerData::internal("cache", json!({"hit": false})),
    ];
    let bounds = Some(Bounds::part(20).of(1312).next_cursor("c2").refinement_hint("name a district"));
    SideData { server_data, bounds }
}

pub(in crate::wire::tests) fn tool_reply_side_data() -> ToolReply {
    ToolReply { side_data: Some(side_data().into()), ..tool_reply_text() }
}

pub(in crate::wire::tests) fn tool_reply_content() -> ToolReply {
    ToolReply {
        version: WIRE_VERSION,
        output: ToolOutput::Content(vec![
            json!({"type": "input_text", "text": "The map:"}),
            json!({"type": "input_image", "image_url": "https://example.com/map.png", "detail": "low"}),
        ]),
        context_patch: Some(json!({"city": "Oslo", "stale": null})),
        side_data: None,
        question: None,
    }
}
