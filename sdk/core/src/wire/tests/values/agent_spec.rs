//! Agents as data, and what loads them.

use serde_json::json;

use crate::wire::{
    AgentSpec, SpecRef, WIRE_VERSION,
    agent_spec::{LoadedSpec, SpecHandoff, SpecOutput, SpecTool},
    load_agent::{LoadAgentReply, LoadAgentRequest},
    settings::ModelSettings,
};

pub(in crate::wire::tests) fn agent_specs() -> Vec<(&'static str, AgentSpec)> {
    let everything = AgentSpec {
        description: Some("answers questions".to_owned()),
        model: Some("gpt-5".to_owned()),
        instructions: Some("Be brief.".to_owned()),
        settings: ModelSettings::builder().temperature(0.2).max_tokens(500).build(),
        tools: vec![
            SpecTool { name: "find_order".to_owned(), ..SpecTool::default() },
            SpecTool {
                name: "refund".to_owned(),
                needs_approval: Some(true),
                input_guardrails: vec!["small_amounts".to_owned()],
                output_guardrails: vec!["no_names".to_owned()],
            },
        ],
        hosted_tools: vec!["web_search".to_owned()],
        handoffs: vec![
            SpecHandoff { agent: "billing".to_owned(), ..SpecHandoff::default() },
            SpecHandoff {
                agent: "law".to_owned(),
                version: Some(3),
                tool_name: Some("to_lawyer".to_owned()),
                tool_description: Some("for threats".to_owned()),
            },
        ],
        input_guardrails: vec!["no_homework".to_owned()],
        output_guardrails: vec!["polite".to_owned()],
        output: Some(SpecOutput {
            name: "answer".to_owned(),
            schema: json!({"type": "object", "properties": {"text": {"type": "string"}}}).into(),
            lenient: true,
        }),
        ..AgentSpec::new("desk")
    };
    vec![("minimal", AgentSpec::new("desk")), ("everything", everything)]
}

pub(in crate::wire::tests) fn load_agent_requests() -> Vec<(&'static str, LoadAgentRequest)> {
    let newest = LoadAgentRequest { version: WIRE_VERSION, spec: SpecRef::newest("desk"), models_elsewhere: false };
    let full = LoadAgentRequest { spec: SpecRef::new("desk", 3), models_elsewhere: true, ..newest.clone() };
    vec![("newest", newest), ("full", full)]
}

pub(in crate::wire::tests) fn load_agent_replies() -> Vec<(&'static str, LoadAgentReply)> {
    let specs = loaded();
    let valid = LoadAgentReply { version: WIRE_VERSION, specs, issues: Vec::new() };
    let issues = vec!["agent \"desk\" hands off to \"law\", of which there is no spec".to_owned()];
    vec![("valid", valid.clone()), ("with_issues", LoadAgentReply { issues, ..valid })]
}

pub(in crate::wire::tests) fn loaded() -> Vec<LoadedSpec> {
    vec![LoadedSpec { version: 3, spec: AgentSpec::new("desk") }]
}
