//! The responses of the model and the results of the tool: a function of the conversation alone, in
//! the shapes of the Responses API.

use serde_json::{Value, json};

use super::{burst::Burst, spec::Spec};

/// Name of the tool.
pub const TOOL: &str = "lookup";
/// Call id of the handoff, whose output is not a result of the tool.
pub const HANDOFF_CALL: &str = "call_handoff";

/// The answer after a burst.
pub const BURST_ANSWER: &str = "done";

/// Returns ASCII text of exactly `size` bytes that begins with `tag`.
pub fn filler(tag: &str, size: usize) -> String {
    let unit = format!("{tag} lorem ipsum dolor sit amet ");
    let mut text = unit.repeat(size / unit.len() + 1);
    text.truncate(size);
    text
}

/// Returns `true` if an output is the result of a call of the tool.
pub fn is_tool_result(kind: Option<&str>, call_id: Option<&str>) -> bool {
    kind == Some("function_call_output") && call_id != Some(HANDOFF_CALL)
}

/// Returns the call of a handoff.
pub fn handoff(name: &str) -> Vec<Value> {
    vec![function_call("handoff", name, "{}")]
}

/// Returns the response once the tool has returned `done` times: a text and, as long as turns are
/// left, a call of the tool.
pub fn answer(spec: &Spec, done: u32) -> Vec<Value> {
    let text = filler(&format!("turn-{done}"), spec.text_bytes);
    let mut output = vec![json!({
        "type": "message", "id": format!("msg_{done:04}"), "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })];
    if done < spec.turns {
        let arguments = json!({"q": format!("turn-{done}"), "n": spec.tool_bytes}).to_string();
        output.push(function_call(&format!("{done:04}"), TOOL, &arguments));
    }
    output
}

/// Returns all calls of a burst, or the answer once they are made.
pub fn burst(burst: &Burst, is_done: bool) -> Vec<Value> {
    if is_done {
        return vec![json!({
            "type": "message", "id": "msg_0001", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": BURST_ANSWER, "annotations": []}],
        })];
    }
    let call = |number: u32| {
        let arguments = json!({"q": format!("call-{number}"), "n": burst.result_bytes}).to_string();
        function_call(&format!("{number:04}"), TOOL, &arguments)
    };
    (0..burst.calls).map(call).collect()
}

/// Returns the id of the response once the tool has returned `done` times.
pub fn response_id(done: u32) -> String {
    format!("resp_{done:04}")
}

fn function_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({
        "type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{id}"), "name": name,
        "arguments": arguments, "status": "completed",
    })
}
