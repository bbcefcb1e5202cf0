//! What a response asked for.

use serde_json::json;

use crate::wire::{
    McpAnswer, McpApproval, McpQuestion, NativeKind, ToolOutput,
    run_state::{CallProgress, McpAnswerer, Phase, PlannedCall, PlannedHandoff, RoundCall, ToolRound, ToolUse},
    tests::values::item,
};

use super::state;

/// One call, and nothing else.
pub(super) fn small_round() -> ToolRound {
    ToolRound {
        calls: vec![known(planned("get_weather", "call_1"), CallProgress::Due)],
        mcp_approvals: Vec::new(),
        handoffs: Vec::new(),
        tool_use: ToolUse::RunLlmAgain,
        guards_output: false,
        resumed: false,
    }
}

/// A call in every state of progress, questions of hosted MCP servers, a handoff that waits.
pub(super) fn round() -> ToolRound {
    let waiting =
        ToolRound { calls: vec![known(planned("sign", "call_31"), CallProgress::NeedsApproval)], ..small_round() };
    let clerk = state(Phase::Interrupted { round: Box::new(waiting) });
    let paused = CallProgress::Paused { run: Box::new(clerk), since_earlier: true };
    ToolRound {
        calls: vec![
            known(planned("get_weather", "call_1"), CallProgress::Done { output: "12 degrees, dry".into() }),
            known(
                PlannedCall { variant: 1, ..planned("draw", "call_2") },
                CallProgress::Done { output: ToolOutput::Content(vec![json!({"type": "input_text", "text": "."})]) },
            ),
            known(planned("clerk", "call_3"), paused),
            known(planned("issue_refund", "call_4"), CallProgress::NeedsApproval),
            RoundCall { is_known: false, ..known(planned("nonsense", "call_5"), CallProgress::Due) },
        ],
        mcp_approvals: vec![
            question("mcpr_1", McpAnswerer::Function, true),
            question("mcpr_2", McpAnswerer::Person, false),
        ],
        handoffs: vec![handoff("call_6")],
        tool_use: ToolUse::StopAtTools { tools: vec!["issue_refund".to_owned()] },
        guards_output: true,
        resumed: true,
    }
}

/// A call that is made elsewhere.
pub(super) fn waiting_for_output() -> ToolRound {
    ToolRound { calls: vec![known(planned("pick_file", "call_1"), CallProgress::NeedsOutput)], ..small_round() }
}

/// A call of a tool that the provider defines.
pub(super) fn native_round() -> ToolRound {
    let arguments = r#"{"commands":["ls"]}"#.to_owned();
    let call = PlannedCall { native: Some(NativeKind::Shell), arguments, ..planned("shell", "call_1") };
    ToolRound { calls: vec![known(call, CallProgress::Due)], ..small_round() }
}

/// A call whose MCP server asks its second question.
pub(super) fn waiting_for_input() -> ToolRound {
    let asks = |message: &str| McpQuestion { message: message.to_owned(), schema: json!({"type": "object"}) };
    let answers = vec![
        McpAnswer { question: asks("How many?"), content: json!({"quantity": 2}).as_object().cloned() },
        McpAnswer { question: asks("Which colour?"), content: None },
    ];
    let call = known(planned("order", "call_1"), CallProgress::NeedsInput { question: asks("Sure?") });
    ToolRound { calls: vec![RoundCall { answers, ..call }], ..small_round() }
}

pub(super) fn handoff(call_id: &str) -> PlannedHandoff {
    PlannedHandoff {
        tool_name: "transfer_to_refunds".to_owned(),
        variant: 0,
        target: "refunds".to_owned(),
        call_id: call_id.to_owned(),
        arguments: "{}".to_owned(),
    }
}

fn planned(tool: &str, call_id: &str) -> PlannedCall {
    PlannedCall {
        tool: tool.to_owned(),
        variant: 0,
        call_id: call_id.to_owned(),
        arguments: "{\"city\": \"Oslo\"}".to_owned(),
        native: None,
    }
}

fn known(call: PlannedCall, progress: CallProgress) -> RoundCall {
    RoundCall { call, is_known: true, progress, answers: Vec::new(), asks_each: false }
}

fn question(id: &str, by: McpAnswerer, answered: bool) -> McpApproval {
    McpApproval {
        request_id: id.to_owned(),
        server_label: "docs".to_owned(),
        tool: "delete".to_owned(),
        request: item(json!({
            "type": "mcp_approval_request", "id": id, "server_label": "docs", "name": "delete", "arguments": "{}"
        })),
        by,
        answered,
    }
}
