//! Random agents: tools, handoffs between any of them, and for each some agents of its own that are its tools.

use serde_json::{Map, Value, json};

use super::choices::Choices;

/// The agents as a scenario has them, and what a script must know of them.
pub(super) struct Cast {
    /// By key.
    pub(super) agents: Map<String, Value>,
    pub(super) roles: Vec<Role>,
    /// Whether a tool may end the run. What its siblings have done by then is up to chance, so they have none.
    pub(super) has_fatal_tools: bool,
}

/// What the model of an agent can ask for.
pub(super) struct Role {
    pub(super) key: String,
    pub(super) functions: Vec<String>,
    pub(super) agent_tools: Vec<String>,
    pub(super) handoffs: Vec<String>,
    pub(super) is_structured: bool,
}

/// Agents `a0`, `a1`, ..; the tools of `a0` that are agents are `a0x0`, `a0x1`.
pub(super) fn cast(choices: &mut Choices) -> Cast {
    let count = 1 + choices.below(4);
    let keys: Vec<String> = (0..count).map(|place| format!("a{place}")).collect();
    let mut cast = Cast { agents: Map::new(), roles: Vec::new(), has_fatal_tools: choices.one_in(4) };
    for key in &keys {
        let nested: Vec<String> = choices.up_to(2, |_, place| format!("{key}x{place}"));
        for key in &nested {
            add(&mut cast, choices, key, &[], &[]);
        }
        add(&mut cast, choices, key, &nested, &keys);
    }
    cast
}

fn add(cast: &mut Cast, choices: &mut Choices, key: &str, nested: &[String], others: &[String]) {
    let tools: Vec<Value> = (0..=choices.below(3))
        .map(|place| function(choices, &format!("{key}_t{place}"), cast.has_fatal_tools))
        .collect();
    let handoffs: Vec<&String> = others.iter().filter(|other| *other != key && !choices.one_in(3)).collect();
    let is_structured = choices.one_in(5);
    cast.roles.push(Role {
        key: key.to_owned(),
        functions: tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect(),
        agent_tools: nested.iter().map(|agent| format!("ask_{agent}")).collect(),
        handoffs: handoffs.iter().map(|agent| format!("transfer_to_{agent}")).collect(),
        is_structured,
    });
    let mut agent = json!({
        "name": key,
        "instructions": choices.of(&[json!("Be brief."), json!({"template": "{agent_name} sees {context.n}"}), Value::Null]),
        "model_settings": choices.of(&[json!({}), json!({"temperature": 0.5}), json!({"tool_choice": "required"})]),
        "tools": tools,
        "agent_tools": nested.iter().map(|agent| agent_tool(choices, agent)).collect::<Value>(),
        "handoffs": handoffs.into_iter().map(|agent| handoff(choices, agent)).collect::<Value>(),
        "tool_use_behavior": choices.of(&[
            json!("run_llm_again"),
            json!("run_llm_again"),
            json!("run_llm_again"),
            json!("stop_on_first_tool"),
            json!({"stop_at_tool_names": [format!("{key}_t0")]}),
            json!({"custom": {"final_when_tool": format!("{key}_t0"), "final_output": "made of {output}"}}),
        ]),
        "reset_tool_choice": !choices.one_in(4),
        "input_guardrails": choices.up_to(2, |choices, place| json!({
            "name": format!("{key}_in{place}"),
            "trips_if_input_contains": if choices.one_in(25) { "Weather" } else { "never" },
            "run_in_parallel": !choices.one_in(2),
            "output_info": {"place": place},
        })),
        "output_guardrails": choices.up_to(2, |choices, place| json!({
            "name": format!("{key}_out{place}"),
            "trips_if_output_contains": choices.of(&["never", "never", "never", "Done"]),
        })),
    });
    if is_structured {
        agent["output_schema"] = json!({"name": "Answer", "schema": answer_schema()});
    }
    if choices.one_in(4) {
        agent["hosted_tools"] = json!([{"type": "web_search"}]);
    }
    cast.agents.insert(key.to_owned(), agent);
}

fn answer_schema() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
}

fn function(choices: &mut Choices, name: &str, may_be_fatal: bool) -> Value {
    let mut tool = json!({
        "name": name,
        "description": "A tool.",
        "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        "behavior": behavior(choices),
        "failure_error_function": if may_be_fatal && choices.one_in(2) {
            json!("none")
        } else {
            choices.of(&[
                json!("default"), json!("explicit_default"), json!({"template": "because {error}"}),
                json!({"returns": "sorry"}),
            ])
        },
        "needs_approval": choices.of(&[
            json!(false), json!(false), json!(false), json!(true), json!({"arg": "n", "equals": 1}),
        ]),
    });
    let reject = json!({"reject_content": "not this"});
    let behaviors = [json!("allow"), reject.clone(), reject, json!("allow"), json!("raise_exception")];
    for side in ["input_guardrails", "output_guardrails"] {
        tool[side] = choices
            .up_to(2, |choices, place| {
                json!({
                    "name": format!("{name}_{side}_{place}"),
                    "when_contains": choices.of(&["nothing", "2", "1", "sunny"]),
                    "behavior": choices.of(&behaviors),
                })
            })
            .into();
    }
    if choices.one_in(5) {
        tool["is_enabled"] = json!({"context_key": "open"});
    }
    tool
}

fn behavior(choices: &mut Choices) -> Value {
    let plain = [
        json!({"returns": "sunny"}),
        json!({"echo": true}),
        json!({"returns_json": {"celsius": 12.5, "sky": "клар"}}),
        json!({"returns_context": "n"}),
        json!({"returns": "counted", "set_context": {"n": 2, "open": false}}),
        json!({"returns_content": [{"type": "text", "text": "a picture"}, {"type": "image", "image_url": "data:,"}]}),
        json!({"raises": "it broke"}),
    ];
    if choices.one_in(5) { json!({"sequence": [choices.of(&plain), choices.of(&plain)]}) } else { choices.of(&plain) }
}

fn agent_tool(choices: &mut Choices, agent: &str) -> Value {
    let mut tool = json!({"agent": agent, "tool_name": format!("ask_{agent}"), "tool_description": "Asks."});
    if choices.one_in(4) {
        tool["max_turns"] = 1.into();
    }
    if choices.one_in(4) {
        tool["needs_approval"] = true.into();
    }
    if choices.one_in(4) {
        tool["output_extractor"] = json!({"template": "{item_count} items, then {final_output}"});
    }
    tool
}

fn handoff(choices: &mut Choices, agent: &str) -> Value {
    let mut handoff = json!({"agent": agent});
    match choices.below(8) {
        0..=3 => return agent.into(),
        4 => {
            let filters =
                ["remove_all_tools", "drop_history", "hide_new_items", "keep_messages", "nest_handoff_history"];
            handoff["input_filter"] = choices.of(&filters).into();
        }
        5 => handoff["nest_handoff_history"] = true.into(),
        6 => {
            let schema = json!({"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]});
            handoff["input_schema"] = schema;
        }
        _ => handoff["is_enabled"] = json!({"context_key": "open"}),
    }
    handoff
}
