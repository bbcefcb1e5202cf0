//! A random scenario: agents, a script, and the runs with what holds for them.

use serde_json::{Map, Value, json};

use super::{agents::cast, choices::Choices, script::script};

/// A scenario of this name, in the format of the conformance suite, made of these choices.
pub(super) fn scenario(name: &str, bytes: Vec<u8>) -> Value {
    let mut choices = Choices::new(bytes);
    let cast = cast(&mut choices);
    let responses = script(&mut choices, &cast);
    let mut scenario = json!({
        "format": 1,
        "name": name,
        "agents": cast.agents,
        "start_agent": "a0",
        "input": choices.of(&[json!("Weather, please."), json!([{"role": "user", "content": "And the Weather?"}])]),
        "context": {"n": 1, "open": true},
        "max_turns": choices.of(&[json!(10), json!(3), json!("unlimited")]),
        "run_config": run_config(&mut choices),
        "error_handlers": error_handlers(&mut choices),
        "model_responses": responses,
        "approvals": choices.up_to(3, round),
        // With agents as tools two runs may be at work at once, and hooks of both come as they come.
        "record_hooks": cast.roles.iter().all(|role| role.agent_tools.is_empty()),
    });
    if choices.one_in(3) {
        scenario["session"] = json!({"initial_items": choices.up_to(2, |_, place| {
            json!({"role": "user", "content": format!("Before: {place}.")})
        })});
    }
    if choices.one_in(8) {
        scenario["run"] = choices.of(&[
            json!({"auto_previous_response_id": true}),
            json!({"conversation_id": "conv_1"}),
            json!({"previous_response_id": "resp_0"}),
        ]);
        without_what_servers_exclude(&mut scenario);
    }
    if choices.one_in(3) {
        let agent = choices.of(&[json!(null), json!("last"), json!("a0")]);
        scenario["follow_ups"] = json!([{"input": "Go on.", "agent": agent}]);
    }
    scenario
}

/// The reference refuses sessions and output guardrails beside server-side state.
fn without_what_servers_exclude(scenario: &mut Value) {
    scenario["session"].take();
    scenario["run_config"]["output_guardrails"].take();
    for agent in scenario["agents"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        agent["output_guardrails"].take();
    }
}

fn round(choices: &mut Choices, _place: usize) -> Vec<Value> {
    (0..4)
        .map(|_| {
            choices.of(&[
                json!({"decision": "approve"}),
                json!({"decision": "reject"}),
                json!({"decision": "reject", "message": "not today"}),
                json!({"decision": "approve", "always": true}),
                json!({"decision": "skip"}),
            ])
        })
        .collect()
}

fn run_config(choices: &mut Choices) -> Value {
    let options = [
        ("model_settings", json!({"temperature": 0.1, "max_tokens": 50})),
        ("nest_handoff_history", json!(true)),
        ("handoff_input_filter", json!("remove_all_tools")),
        ("input_guardrails", json!([{"name": "run_in", "trips_if_input_contains": "never"}])),
        ("output_guardrails", json!([{"name": "run_out", "trips_if_output_contains": "sunny"}])),
        ("call_model_input_filter", json!({"keep_last": 3, "instructions_suffix": " Now."})),
        ("tool_error_formatter", json!({"template": "{kind} of {tool_name}: {default_message}"})),
        ("reasoning_item_id_policy", json!("omit")),
        ("tool_not_found_behavior", json!("return_error_to_model")),
        ("max_function_tool_concurrency", json!(1)),
        ("pre_approval_tool_input_guardrails", json!(true)),
    ];
    let chosen = options.into_iter().filter(|_| choices.one_in(6));
    chosen.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into()
}

fn error_handlers(choices: &mut Choices) -> Value {
    let handler = json!({"final_output": "handled {error} after {history_len} in {last_agent}"});
    let kinds = ["max_turns", "model_refusal", "invalid_final_output"];
    let chosen = kinds.into_iter().filter(|_| choices.one_in(5));
    chosen.map(|kind| (kind.to_owned(), handler.clone())).collect::<Map<_, _>>().into()
}
