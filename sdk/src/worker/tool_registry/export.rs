//! The definitions in the form of each provider, in the order of registration.

use serde_json::Value;
use temporal_agents_core::{tool::ToolDef, wire::ToolSpec};

use super::ToolRegistry;
use crate::provider::function_shape;

impl ToolRegistry {
    /// Returns the `tools` of a request to OpenAI's Chat Completions API: `{"type": "function",
    /// "function": {"name", "description", "parameters", "strict"?}}`.
    ///
    /// They are the functions that `provider::OpenAi` sends for an agent with these tools.
    /// `parameters` are strict if the definition is (optional arguments are then required and may
    /// be null), so that the model cannot write arguments that do not fit: `"strict": true` marks
    /// them. A tool that is not strict (`not_strict`, `lenient`, those of MCP servers) has no
    /// `strict` member.
    pub fn to_openai(&self) -> Vec<Value> {
        self.functions(function_shape::chat_completions)
    }

    /// Returns the `tools` of a request to OpenAI's Responses API: `{"type": "function", "name",
    /// "description", "parameters", "strict"}`. As [`to_openai`](Self::to_openai), except that
    /// `strict` is always present, because its default is true in this API.
    pub fn to_openai_responses(&self) -> Vec<Value> {
        self.functions(function_shape::responses)
    }

    /// Returns the `tools` of a request to Anthropic's Messages API: `{"name", "description",
    /// "input_schema"}`. The schema is the author's own, against which arguments are checked
    /// ([`ToolDef::accepts`]): optional arguments may be left out.
    pub fn to_anthropic(&self) -> Vec<Value> {
        let of = |tool: &ToolDef| {
            // An author may write `{}` or `true`, but this API requires an object.
            let is_object = tool.accepts()["type"] == "object";
            let schema = if is_object { tool.accepts() } else { tool.parameters() };
            function_shape::anthropic(tool.name(), tool.description(), schema)
        };
        self.iter().map(of).collect()
    }

    fn functions(&self, shape: fn(&str, &str, &Value, bool) -> Value) -> Vec<Value> {
        let specs = self.iter().map(ToolDef::spec);
        let functions = specs.filter_map(|spec| match spec {
            ToolSpec::Function { name, description, parameters, strict } => {
                Some(shape(&name, &description, &parameters, strict))
            }
            ToolSpec::Hosted { .. } => None,
        });
        functions.collect()
    }
}
