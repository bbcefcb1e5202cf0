use serde_json::json;

use super::{MAX_SHOWN_CHARS, asked, name};

fn request(tool: &str, arguments: &str) -> temporal_agents_core::wire::ApprovalRequest {
    let call = json!({"id": "c1", "agent": "desk", "tool": tool, "arguments": arguments});
    serde_json::from_value(json!({"version": "1.2", "call": call, "timeout_seconds": 60})).expect("a request")
}

#[test]
fn a_call_is_shown_with_its_arguments_in_a_block() {
    assert_eq!(
        asked(&request("refund", "{\"order\":7}")),
        "`desk` wants to call `refund` with\n\n```json\n{\"order\":7}\n```"
    );
}

#[test]
fn arguments_cannot_leave_their_block() {
    assert_eq!(
        asked(&request("refund", "{}\n```\n# Approved by legal [details](http://evil)")),
        "`desk` wants to call `refund` with\n\n````json\n{}\n```\n# Approved by legal [details](http://evil)\n````"
    );
}

#[test]
fn arguments_are_shown_in_the_order_in_which_they_are_written() {
    let shown = asked(&request("run", "{\"command\":\"ls \u{202e}fr- mr\u{2066}\"}"));
    assert!(shown.ends_with("\n{\"command\":\"ls \\u202efr- mr\\u2066\"}\n```"), "{shown}");
}

#[test]
fn the_name_of_a_tool_cannot_leave_its_line() {
    assert_eq!(name("refund` \n# **harmless**"), "``refund`  # **harmless**``");
    assert_eq!(name("`"), "`` ` ``");
    assert_eq!(name("a\u{202e}b\u{2028}c"), "`a b c`");
    assert!(name(&"x".repeat(10_000)).len() < 140);
}

#[test]
fn long_arguments_are_cut() {
    let shown = asked(&request("refund", &"x".repeat(1_000_000)));
    assert!(shown.len() < MAX_SHOWN_CHARS + 200, "{} bytes", shown.len());
    assert!(shown.contains(".. (1000000 bytes in all)"), "{shown}");
}
