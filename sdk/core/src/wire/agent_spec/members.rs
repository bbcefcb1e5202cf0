//! The members of a spec that are objects, two of which may be written as a string.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::Value;

use crate::wire::{absent::is_default, schema::Schema};

/// A tool of a spec. JSON shape: `"refund"`, or
/// `{"name": "refund", "needs_approval": true, "input_guardrails": ["small_amounts"]}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
#[non_exhaustive]
pub struct SpecTool {
    /// Name of the tool.
    pub name: String,
    /// `true` if every call waits for a decision; absent = the rule of the tool. `false` is refused
    /// for a tool that has a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_approval: Option<bool>,
    /// Guardrails on the tool's arguments, in addition to its own, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_guardrails: Vec<String>,
    /// Guardrails on the tool's output, in addition to its own, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_guardrails: Vec<String>,
}

/// A handoff of a spec. JSON shape: `"billing"`, or `{"agent": "billing", "version": 3}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct SpecHandoff {
    /// Name of the spec of the agent.
    pub agent: String,
    /// Version of that spec; absent = the newest when the run loads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Name of the function; absent = `transfer_to_` and the agent's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// Description for the model; absent = a sentence with the agent's name and description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_description: Option<String>,
}

/// The shape of a spec's final output. JSON shape: `{"schema": {"type": "object", ..}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SpecOutput {
    /// Name of the schema at the provider; absent = `final_output`.
    #[serde(default = "default_name", skip_serializing_if = "is_default_name")]
    pub name: String,
    /// JSON schema of the output.
    pub schema: Schema,
    /// `true` if the schema goes to the model without strict mode.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lenient: bool,
}

impl SpecTool {
    /// Creates a tool with the rules that it has on the worker.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    fn has_only_a_name(&self) -> bool {
        let Self { name, needs_approval: _, input_guardrails: _, output_guardrails: _ } = self;
        *self == Self { name: name.clone(), ..Self::default() }
    }
}

impl SpecHandoff {
    /// Creates a handoff to the newest version of a spec.
    pub fn new(agent: impl Into<String>) -> Self {
        Self { agent: agent.into(), ..Self::default() }
    }

    fn has_only_an_agent(&self) -> bool {
        let Self { agent, version: _, tool_name: _, tool_description: _ } = self;
        *self == Self { agent: agent.clone(), ..Self::default() }
    }
}

impl SpecOutput {
    /// Creates an output with this JSON schema, in strict mode.
    pub fn new(schema: Schema) -> Self {
        Self { name: default_name(), schema, lenient: false }
    }
}

fn default_name() -> String {
    "final_output".to_owned()
}

fn is_default_name(name: &str) -> bool {
    name == "final_output"
}

impl Serialize for SpecTool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.has_only_a_name() { self.name.serialize(serializer) } else { Self::serialize(self, serializer) }
    }
}

impl<'de> Deserialize<'de> for SpecTool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(name) => Ok(Self::new(name)),
            object => Self::deserialize(object).map_err(D::Error::custom),
        }
    }
}

impl Serialize for SpecHandoff {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.has_only_an_agent() { self.agent.serialize(serializer) } else { Self::serialize(self, serializer) }
    }
}

impl<'de> Deserialize<'de> for SpecHandoff {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(agent) => Ok(Self::new(agent)),
            object => Self::deserialize(object).map_err(D::Error::custom),
        }
    }
}
