//! A handoff to another agent.

use serde::Deserialize;
use serde_json::Value;

use super::Enabled;

/// A handoff: the key of an agent, alone or with options.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Handoff {
    Plain(String),
    With(Box<HandoffOptions>),
}

/// A handoff with its options.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HandoffOptions {
    pub(crate) agent: String,
    pub(crate) tool_name: Option<String>,
    pub(crate) tool_description: Option<String>,
    pub(crate) input_schema: Option<Value>,
    pub(crate) on_handoff_raises: Option<String>,
    pub(crate) input_filter: Option<HandoffFilter>,
    pub(crate) nest_handoff_history: Option<bool>,
    pub(crate) is_enabled: Option<Enabled>,
}

/// A change to the input that the next agent sees.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HandoffFilter {
    RemoveAllTools,
    DropHistory,
    HideNewItems,
    KeepMessages,
    NestHandoffHistory,
}
