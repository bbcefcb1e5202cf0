//! What an agent is to a model: settings, tools, handoffs, output.

use serde_json::json;

use crate::wire::{
    Definitions, HandoffSpec, ModelRetryBackoff, ModelRetrySettings, ModelSettings, OutputSpec, Prompt, ToolChoice,
    ToolSpec,
};

use super::object;

fn settings() -> ModelSettings {
    let backoff = ModelRetryBackoff::builder().initial_delay(0.25).max_delay(2.0).multiplier(2.0).build();
    ModelSettings::builder()
        .temperature(0.7)
        .top_p(1.0)
        .frequency_penalty(-0.5)
        .presence_penalty(0.5)
        .tool_choice(ToolChoice::Mcp { server_label: "docs".to_owned(), name: "find".to_owned() })
        .parallel_tool_calls(false)
        .truncation("auto")
        .max_tokens(4096)
        .reasoning(json!({"effort": "low", "summary": "auto"}))
        .verbosity("low")
        .metadata(object(json!({"team": "support"})))
        .store(false)
        .prompt_cache_retention("24h")
        .include_usage(true)
        .response_include(vec!["reasoning.encrypted_content".to_owned()])
        .top_logprobs(5)
        .extra_query(object(json!({"api-version": "preview"})))
        .extra_body(object(json!({"service_tier": "flex"})))
        .extra_headers(object(json!({"x-trace": "1"})))
        .extra_args(object(json!({"seed": 7})))
        .retry(ModelRetrySettings::builder().max_retries(3).backoff(backoff).build())
        .context_management(json!([{"type": "compaction", "compact_threshold": 100_000}]))
        .prompt_cache_options(json!({"key": "support"}))
        .preserve_raw_usage(true)
        .timeout(30.0)
        .build()
}

pub(in crate::wire::tests) fn definitions() -> Definitions {
    Definitions {
        instructions: Some("You know the weather.".to_owned()),
        prompt: Some(Prompt {
            id: "pmpt_1".to_owned(),
            version: Some("2".to_owned()),
            variables: Some(object(json!({"tone": "dry"}))),
        }),
        tools: vec![
            ToolSpec::Function {
                name: "get_weather".to_owned(),
                description: "Current weather for one city.".to_owned(),
                parameters: json!({
                    "type": "object",
                    "properties": {"units": {"type": "string"}, "city": {"type": "string"}},
                    "required": ["units", "city"],
                    "additionalProperties": false
                })
                .into(),
                strict: true,
            },
            ToolSpec::Hosted {
                name: "web_search".to_owned(),
                config: object(json!({"type": "web_search", "search_context_size": "low"})),
            },
            ToolSpec::Hosted {
                name: "hosted_mcp".to_owned(),
                config: object(json!({"type": "mcp", "server_label": "docs", "require_approval": "always"})),
            },
        ],
        handoffs: vec![HandoffSpec {
            tool_name: "transfer_to_refunds".to_owned(),
            tool_description: "Handoff to the refunds agent to handle the request. ".to_owned(),
            input_json_schema:
                json!({"additionalProperties": false, "type": "object", "properties": {}, "required": []}).into(),
            strict: true,
            agent_name: "refunds".to_owned(),
        }],
        output: Some(OutputSpec {
            name: "final_output".to_owned(),
            schema: json!({
                "type": "object",
                "properties": {"rains": {"type": "boolean"}},
                "required": ["rains"],
                "additionalProperties": false
            })
            .into(),
            strict: true,
        }),
        settings: settings(),
    }
}
