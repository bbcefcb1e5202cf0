//! The gate of a run, as the run of an agent in a child workflow receives it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    absent::{self, is_default},
    toolset::GateMode,
};

/// The gate of a calling run, which the run of an agent in its child workflow also obeys.
///
/// JSON: `{"mode": "approve_unknown", "rules": [..], "privileged": ["dev_*"]}`. Members that are
/// empty are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PassedGate {
    /// Who decides about a call that no rule speaks of; absent = a person, about each call.
    #[serde(default)]
    pub mode: GateMode,
    /// The rules, as in [`Rule`](crate::gate::Rule), in their order. If the worker of the child
    /// workflow cannot use one of them, a person approves each call.
    #[serde(default, deserialize_with = "absent::list_or_null", skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Value>,
    /// Tools that a run with untrusted content may not call: names, or prefixes that end in `*`.
    #[serde(default, deserialize_with = "absent::list_or_null", skip_serializing_if = "Vec::is_empty")]
    pub privileged: Vec<String>,
    /// Name of the agent that judges calls. It judges in the child workflow if the gate there has
    /// a judge of that name; otherwise a person decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<String>,
    /// `true` if the built-in list of dangerous commands is off.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ignores_dangers: bool,
}
