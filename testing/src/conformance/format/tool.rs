//! A function tool, and the behaviour of its calls.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use temporal_agents::RunContext;

use super::ToolGuardrail;

/// A function tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FunctionTool {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) parameters: Option<Value>,
    pub(crate) strict: Option<bool>,
    pub(crate) behavior: Behavior,
    pub(crate) is_enabled: Option<Enabled>,
    pub(crate) failure_error_function: Option<FailureFunction>,
    pub(crate) needs_approval: Option<NeedsApproval>,
    pub(crate) input_guardrails: Option<Vec<ToolGuardrail>>,
    pub(crate) output_guardrails: Option<Vec<ToolGuardrail>>,
}

/// The behaviour of a call. One of the members specifies the result; `set_context` and `delay_ms`
/// apply in addition.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Behavior {
    pub(crate) raises: Option<String>,
    pub(crate) returns: Option<String>,
    /// Null is also a value here.
    #[serde(default, deserialize_with = "present")]
    pub(crate) returns_json: Option<Value>,
    pub(crate) echo: Option<bool>,
    pub(crate) returns_content: Option<Vec<Map<String, Value>>>,
    pub(crate) returns_context: Option<String>,
    pub(crate) repeat: Option<Repeat>,
    pub(crate) sequence: Option<Vec<Behavior>>,
    pub(crate) set_context: Option<Map<String, Value>>,
    pub(crate) delay_ms: Option<u64>,
}

/// A string, repeated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Repeat {
    pub(crate) text: String,
    pub(crate) times: usize,
}

/// The rule that enables a tool or a handoff.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Enabled {
    Always(bool),
    While(Condition),
}

/// Enables something while a key of the run context has this value; `true` by default.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Condition {
    pub(crate) context_key: String,
    pub(crate) equals: Option<Value>,
}

/// The result of a failed call.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FailureFunction {
    Default,
    ExplicitDefault,
    None,
    Returns(String),
    Template(String),
}

/// The rule by which a call needs approval.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum NeedsApproval {
    Always(bool),
    When {
        arg: String,
        #[serde(default)]
        equals: Value,
    },
}

impl Behavior {
    /// Returns the behaviour of the n-th call, counted from 0.
    pub(crate) fn at(&self, call: usize) -> Self {
        let Some(sequence) = &self.sequence else { return self.clone() };
        let Some(step) = sequence.get(call).or_else(|| sequence.last()) else { return self.clone() };
        let mut step = step.clone();
        step.set_context = step.set_context.or_else(|| self.set_context.clone());
        step.delay_ms = step.delay_ms.or(self.delay_ms);
        step
    }

    /// Iterates over this behaviour and those of its sequence.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.sequence.iter().flatten())
    }
}

impl Enabled {
    /// Returns `true` if the rule enables the tool or handoff in this run context.
    pub(crate) fn holds(&self, run: &RunContext) -> bool {
        match self {
            Self::Always(enabled) => *enabled,
            Self::While(Condition { context_key, equals }) => {
                let wanted = equals.as_ref().unwrap_or(&Value::Bool(true));
                run.values().get(context_key).is_some_and(|found| is_same(found, wanted))
            }
        }
    }
}

/// Returns `true` if two JSON values are equal; compares numbers by value.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (one, other) => one == other,
    }
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
