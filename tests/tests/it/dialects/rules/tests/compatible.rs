//! Cases of compatible servers.

use serde_json::{Value, json};

use super::{Case, chat, with};
use crate::dialects::rules::Api;

fn case(rule: &'static str, edits: &[(&str, Value)]) -> Case {
    Case::new(rule, Api::Compatible, with(chat::base(), edits), chat::base())
}

pub(super) fn cases() -> Vec<Case> {
    let arguments = "/messages/1/tool_calls/0/function/arguments";
    let messages = chat::base()["messages"].clone();
    let user = json!({"role": "user", "content": "Go on."});
    let after_tool = json!([messages[0], messages[1], messages[2], messages[3], user]);
    let reasoned = with(chat::base(), &[("/messages/1/reasoning_content", json!("It is a unit."))]);
    let disabled = ("/thinking", json!({"type": "disabled"}));
    vec![
        case("compatible/arguments-json-object", &[(arguments, json!(""))]),
        case("compatible/arguments-json-object", &[(arguments, json!("\"Beijing\""))]),
        case("compatible/arguments-json-object", &[(arguments, json!("{\"a\": 1"))]),
        case(
            "compatible/mistral-call-id",
            &[("/messages/1/tool_calls/0/id", json!("call_1")), ("/messages/3/tool_call_id", json!("call_1"))],
        )
        .model("mistralai/Mistral-Small-3.2"),
        case("compatible/mistral-user-after-tool", &[("/messages", after_tool)]).model("devstral-small"),
        Case::new("compatible/deepseek-reasoning", Api::Compatible, chat::base(), with(chat::base(), &[disabled]))
            .model("deepseek-v4"),
        Case::new(
            "compatible/deepseek-tool-choice",
            Api::Compatible,
            with(reasoned.clone(), &[("/tool_choice", json!("required"))]),
            with(reasoned, &[("/tool_choice", json!("auto"))]),
        )
        .model("deepseek-v4-pro"),
        case("openai/function-name-pattern", &[("/tools/0/function/name", json!("look.up"))]),
        case("chat/tool-calls-unanswered", &[("/messages", json!([messages[0], messages[1]]))]),
    ]
}
