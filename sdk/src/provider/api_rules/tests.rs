use serde_json::{Value, json};
use temporal_agents_core::wire::{Definitions, Item, ModelCall, ToolSpec};

use super::{ANTHROPIC, ApiRules, CHAT_COMPLETIONS, ChangeLog, GEMINI, RESPONSES, RequestTarget, prepare};

fn prepared(rules: &ApiRules, model: &str, definitions: Definitions, items: Value) -> ModelCall {
    let target = RequestTarget { model, provider: "openai", is_default_provider: true, keeps_empty_reasoning: false };
    let items: Vec<Item> = serde_json::from_value(items).expect("items are objects");
    prepare(rules, &target, ModelCall::new("agent", "m", definitions, items), &ChangeLog::default())
}

fn with_tools(count: usize) -> Definitions {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
        "additionalProperties": false});
    let tool = |place| ToolSpec::Function {
        name: format!("tool_{place}"),
        description: String::new(),
        parameters: parameters.clone().into(),
        strict: true,
    };
    Definitions { tools: (0..count).map(tool).collect(), ..Definitions::default() }
}

fn strict_tools(call: &ModelCall) -> usize {
    let is_strict = |tool: &&ToolSpec| matches!(tool, ToolSpec::Function { strict: true, .. });
    call.definitions.tools.iter().filter(is_strict).count()
}

#[test]
fn the_first_tools_within_the_limits_are_strict() {
    let hi = json!([{"role": "user", "content": "hi"}]);
    let strict = |rules| strict_tools(&prepared(rules, "m", with_tools(25), hi.clone()));
    assert_eq!([strict(&ANTHROPIC), strict(&RESPONSES), strict(&GEMINI)], [20, 25, 0]);
}

#[test]
fn an_output_type_without_a_strict_form_is_described_to_claude() {
    let open = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let output = json!({"name": "final_output", "schema": open, "strict": false});
    let definitions = Definitions {
        instructions: Some("Be brief.".to_owned()),
        output: serde_json::from_value(output).expect("an output"),
        ..Definitions::default()
    };
    let call = prepared(&ANTHROPIC, "claude-sonnet-4-6", definitions, json!([{"role": "user", "content": "hi"}]));
    let expected = "Be brief.\n\nAnswer only with a JSON value, without Markdown, that conforms to this JSON schema:\n\
                    {\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}";
    assert_eq!(call.definitions.instructions.as_deref(), Some(expected));
    assert_eq!(call.definitions.output, None);
}

fn settings_for(rules: &ApiRules, model: &str, settings: Value) -> Value {
    let definitions = Definitions { settings: serde_json::from_value(settings).expect("settings"), ..with_tools(1) };
    let call = prepared(rules, model, definitions, json!([{"role": "user", "content": "hi"}]));
    serde_json::to_value(call.definitions.settings).expect("settings are JSON")
}

#[test]
fn settings_that_a_model_refuses_are_left_out() {
    let given = || json!({"temperature": 0.2, "top_p": 0.9, "reasoning": {"effort": "low"}});
    let cases = [
        (&RESPONSES, "gpt-4.1", json!({"temperature": 0.2, "top_p": 0.9})),
        (&RESPONSES, "gpt-5-mini", json!({"reasoning": {"effort": "low"}})),
        (&CHAT_COMPLETIONS, "gpt-5.4", json!({"temperature": 0.2, "top_p": 0.9})),
        (&CHAT_COMPLETIONS, "gpt-5.6", json!({"temperature": 0.2, "top_p": 0.9, "reasoning": {"effort": "none"}})),
        (&CHAT_COMPLETIONS, "some-model", given()),
        (&ANTHROPIC, "claude-opus-4-7", json!({"reasoning": {"effort": "low"}})),
        (&ANTHROPIC, "claude-sonnet-4-5", json!({"top_p": 0.9, "reasoning": {"effort": "low"}})),
        (&ANTHROPIC, "claude-3-5-haiku-latest", json!({"top_p": 0.9, "reasoning": {"effort": "low"}})),
    ];
    for (rules, model, expected) in cases {
        assert_eq!(settings_for(rules, model, given()), expected, "{model}");
    }
}

#[test]
fn reasoning_that_is_not_stored_is_requested_encrypted() {
    let include = |model| settings_for(&RESPONSES, model, json!({"store": false}))["response_include"].clone();
    assert_eq!(include("gpt-5-mini"), json!(["reasoning.encrypted_content"]));
    assert_eq!(include("gpt-4.1"), Value::Null);
    assert_eq!(include("some-model"), Value::Null);
}
