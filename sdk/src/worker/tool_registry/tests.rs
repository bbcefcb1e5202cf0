use serde_json::json;
use temporal_agents_core::tool::{ToolBinding, ToolIssue};

use super::*;

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "only the schema is looked at")]
struct Place {
    /// Which city.
    city: String,
    days: Option<u8>,
}

fn weather(name: &str) -> ToolDef {
    ToolDef::inline::<Place>(name, "Current weather.", |_ctx, _place| Ok("12 degrees".into()))
}

fn free(name: &str) -> ToolDef {
    let parameters = json!({"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"]});
    ToolDef::new(name, "", parameters, ToolBinding::Client).not_strict()
}

fn two() -> ToolRegistry {
    ToolRegistry::default().register(weather("weather")).unwrap().register(free("note")).unwrap()
}

#[test]
fn tools_stand_in_the_order_of_their_registration() {
    let registry = two().register_all([weather("b"), weather("a")]).unwrap();
    assert_eq!(registry.names().collect::<Vec<_>>(), ["weather", "note", "b", "a"]);
    let named = |tools: Vec<ToolDef>| tools.iter().map(|tool| tool.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(named(registry.tools()), ["weather", "note", "b", "a"]);
    assert_eq!((registry.len(), registry.is_empty(), ToolRegistry::default().is_empty()), (4, false, true));
    assert_eq!(registry.get("a").map(ToolDef::name), Some("a"));
    assert!(registry.get("c").is_none());
}

#[test]
fn a_second_tool_of_a_name_is_refused_and_changes_nothing() {
    let mut registry = two();
    let error = registry.add_all([weather("b"), weather("note")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a tool \"note\" is already registered; rename one of the two with .named(..) or #[tool(name = ..)], or set \
         McpServer::prefix on its MCP server"
    );
    assert_eq!(registry.names().collect::<Vec<_>>(), ["weather", "note"]);
    let error = ToolRegistry::default().register_all([weather("b"), weather("b")]).unwrap_err();
    assert!(matches!(error, RegisterError::Duplicate { tool } if tool == "b"));
}

#[test]
fn a_tool_with_a_wrong_definition_is_refused() {
    let error = two().register(weather("two words")).unwrap_err();
    assert!(matches!(&error, RegisterError::Invalid { issues, .. } if *issues == [ToolIssue::Name]), "{error}");
    assert_eq!(
        error.to_string(),
        "tool \"two words\": the name must be 1 to 64 ASCII letters, digits, '_' and '-', or models refuse every request"
    );
}

#[test]
fn chat_completions_get_functions() {
    insta::assert_json_snapshot!(two().to_openai());
}

#[test]
fn responses_get_flat_functions() {
    insta::assert_json_snapshot!(two().to_openai_responses());
}

#[test]
fn anthropic_gets_the_schema_of_the_author() {
    insta::assert_json_snapshot!(two().to_anthropic());
}
