//! What MCP servers are asked, and answer.

use serde_json::{Map, json};

use crate::wire::{
    McpAnswer, McpQuestion, ToolRequest, WIRE_VERSION,
    mcp_call::{McpOperation, McpReply, McpRequest, McpSetUp, McpTarget},
    worker_env,
};

use super::{object, tool_request_minimal};

fn request(operation: McpOperation) -> McpRequest {
    McpRequest { version: WIRE_VERSION, operation, argument: None, session: None }
}

pub(in crate::wire::tests) fn mcp_requests() -> Vec<(&'static str, McpRequest)> {
    let (name, arguments) = ("greeting".to_owned(), object(json!({"name": "Ada"})));
    let uri = "rules://house".to_owned();
    let login = object(json!({"password": worker_env("SHOP_PASSWORD")}));
    let set_up = vec![
        McpSetUp { tool: "login".to_owned(), arguments: login },
        McpSetUp { tool: "open_cart".to_owned(), arguments: Map::new() },
    ];
    vec![
        ("list_tools", request(McpOperation::ListTools)),
        ("with_argument", McpRequest { argument: Some(json!({"tenant": "acme"})), ..request(McpOperation::ListTools) }),
        ("list_prompts", request(McpOperation::ListPrompts)),
        ("get_prompt", request(McpOperation::GetPrompt { name, arguments })),
        ("list_resources", request(McpOperation::ListResources)),
        ("list_resource_templates", request(McpOperation::ListResourceTemplates)),
        ("read_resource", request(McpOperation::ReadResource { uri })),
        ("open_session", request(McpOperation::OpenSession { set_up, idle_seconds: 3600, asks_people: false })),
        ("close_session", McpRequest { session: Some("s1".to_owned()), ..request(McpOperation::CloseSession) }),
    ]
}

pub(in crate::wire::tests) fn mcp_reply() -> McpReply {
    let tool = json!({
        "name": "read",
        "description": "Reads a file.",
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
        "annotations": {"readOnlyHint": true},
    });
    McpReply { version: WIRE_VERSION, result: json!({"tools": [tool]}) }
}

pub(in crate::wire::tests) fn mcp_reply_left_out() -> McpReply {
    let left_out = json!({"name": "search", "reason": "its schema has 70018 bytes"});
    McpReply { version: WIRE_VERSION, result: json!({"tools": [], "leftOut": [left_out]}) }
}

pub(in crate::wire::tests) fn mcp_tool_requests() -> Vec<(&'static str, ToolRequest)> {
    let minimal = McpTarget {
        server: "files".to_owned(),
        tool: "read".to_owned(),
        argument: None,
        session: None,
        meta: Map::new(),
        structured_content: false,
        answers: None,
        once: false,
    };
    let full = McpTarget {
        argument: Some(json!({"tenant": "acme"})),
        meta: object(json!({"trace": "t1"})),
        structured_content: true,
        once: true,
        ..minimal.clone()
    };
    let request = |target| ToolRequest { mcp: Some(target), ..tool_request_minimal() };
    let question = McpQuestion { message: "How many?".to_owned(), schema: json!({"type": "object"}) };
    let answer = McpAnswer { question, content: Some(object(json!({"quantity": 2}))) };
    let answered = McpTarget { answers: Some(vec![answer]), ..minimal.clone() };
    let in_session = McpTarget { session: Some("s1".to_owned()), ..full.clone() };
    vec![
        ("mcp_minimal", request(minimal)),
        ("mcp_full", request(full)),
        ("mcp_session", request(in_session)),
        ("mcp_answers", request(answered)),
    ]
}
