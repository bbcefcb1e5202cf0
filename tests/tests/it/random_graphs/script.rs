//! A random script: for each agent a queue of responses, most of them sensible for it.

use serde_json::{Map, Value, json};

use super::{
    agents::{Cast, Role},
    choices::Choices,
};

/// A queue of responses for each agent.
pub(super) fn script(choices: &mut Choices, cast: &Cast) -> Map<String, Value> {
    let mut ids = 0;
    let mut queue = |role: &Role| -> Value {
        let mut responses = choices.up_to(5, |choices, _| {
            if cast.has_fatal_tools { one_call(choices, role, &mut ids) } else { response(choices, role, &mut ids) }
        });
        responses.push(response_of(&[answer(choices, role, &mut ids)], ids));
        responses.into()
    };
    cast.roles.iter().map(|role| (role.key.clone(), queue(role))).collect()
}

fn one_call(choices: &mut Choices, role: &Role, ids: &mut usize) -> Value {
    let call = match choices.below(4) {
        0 if !role.agent_tools.is_empty() => ask(&choices.of(&role.agent_tools), ids),
        1 if !role.handoffs.is_empty() => function_call(&choices.of(&role.handoffs), "{}", ids),
        _ => call(choices, role, ids),
    };
    response_of(&[call], *ids)
}

fn response(choices: &mut Choices, role: &Role, ids: &mut usize) -> Value {
    if choices.one_in(60) {
        return json!({"raises": "the provider is down"});
    }
    let mut output = choices.up_to(3, |choices, _| call(choices, role, ids));
    if choices.one_in(3) {
        output.extend(role.agent_tools.iter().map(|tool| ask(tool, ids)));
    }
    if choices.one_in(3) && !role.handoffs.is_empty() {
        let arguments = choices.of(&["{}", r#"{"why": "it is late"}"#, "no json"]);
        output.push(function_call(&choices.of(&role.handoffs), arguments, ids));
    }
    if choices.one_in(4) {
        *ids += 1;
        output.insert(0, json!({"type": "reasoning", "id": format!("rs_{ids}"), "summary": []}));
    }
    if choices.one_in(8) {
        *ids += 1;
        output.push(json!({"type": "web_search_call", "id": format!("ws_{ids}"), "status": "completed"}));
    }
    if output.is_empty() || choices.one_in(8) {
        output.push(answer(choices, role, ids));
    }
    if choices.one_in(12)
        && let Some(first) = output.first().cloned()
    {
        output.push(first);
    }
    response_of(&output, *ids)
}

fn response_of(output: &[Value], ids: usize) -> Value {
    let usage = json!({"input_tokens": 10 + ids, "output_tokens": output.len(), "cached_tokens": ids % 3});
    json!({"output": output, "usage": usage, "response_id": format!("resp_{ids}")})
}

fn call(choices: &mut Choices, role: &Role, ids: &mut usize) -> Value {
    let name = if choices.one_in(25) { "unknown_tool".to_owned() } else { choices.of(&role.functions) };
    let arguments = ["{\"n\": 0}", "{\"n\": 1}", "{\"n\": 2}", "{\"n\": \"two\"}", "{}", "[1]", "no json"];
    let arguments = if choices.one_in(8) { choices.of(&arguments) } else { choices.of(&arguments[..3]) };
    function_call(&name, arguments, ids)
}

fn ask(agent_tool: &str, ids: &mut usize) -> Value {
    function_call(agent_tool, "{\"input\": \"go on\"}", ids)
}

fn function_call(name: &str, arguments: &str, ids: &mut usize) -> Value {
    *ids += 1;
    json!({
        "type": "function_call", "id": format!("fc_{ids}"), "call_id": format!("call_{ids}"),
        "name": name, "arguments": arguments, "status": "completed",
    })
}

fn answer(choices: &mut Choices, role: &Role, ids: &mut usize) -> Value {
    *ids += 1;
    let part = match choices.below(30) {
        29 => json!({"type": "refusal", "refusal": "I will not"}),
        28 => json!({"type": "output_text", "text": ""}),
        27 => json!({"type": "output_text", "text": "{\"m\": 1}"}),
        _ if role.is_structured => json!({"type": "output_text", "text": format!("{{\"n\": {ids}}}")}),
        _ => json!({"type": "output_text", "text": choices.of(&["All is well.", "Done, at last.", "It is sunny."])}),
    };
    json!({"type": "message", "id": format!("msg_{ids}"), "role": "assistant", "status": "completed", "content": [part]})
}
