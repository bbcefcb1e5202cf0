//! A function tool, and what a call of it does.

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

/// What a call does. One of the members says what it comes to; `set_context` and `delay_ms` come on top.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Behavior {
    pub(crate) raises: Option<String>,
    pub(crate) returns: Option<String>,
    /// Null is a value here, too.
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

/// A text, many times.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Repeat {
    pub(crate) text: String,
    pub(crate) times: usize,
}

/// Whether something is offered.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Enabled {
    Always(bool),
    While(Condition),
}

/// Something is offered while a key of the run context has this value; true where none is given.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Condition {
    pub(crate) context_key: String,
    pub(crate) equals: Option<Value>,
}

/// What a failed call comes to.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FailureFunction {
    Default,
    ExplicitDefault,
    None,
    Returns(String),
    Template(String),
}

/// Whether a person decides.
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
    /// What the n-th call does, counted from 0.
    pub(crate) fn at(&self, call: usize) -> Self {
        let Some(sequence) = &self.sequence else { return self.clone() };
        let Some(step) = sequence.get(call).or_else(|| sequence.last()) else { return self.clone() };
        let mut step = step.clone();
        step.set_context = step.set_context.or_else(|| self.set_context.clone());
        step.delay_ms = step.delay_ms.or(self.delay_ms);
        step
    }

    /// This behaviour and those of its sequence.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.sequence.iter().flatten())
    }
}

impl Enabled {
    /// Whether it is offered now.
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

/// Whether two JSON values are the same; numbers by their value.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (one, other) => one == other,
    }
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
