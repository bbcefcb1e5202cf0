//! Guardrails: checks of the input of a run and of its final output.
//!
//! An input guardrail checks the input of the first agent, an output guardrail the final output of
//! the last one. A guardrail that trips ends the run. Pure guardrails run in the loop itself; a
//! guardrail that needs I/O runs as an activity; an agent can also be a guardrail.
//!
//! # Design
//! **A guardrail function returns `GuardrailOutput`, never a `bool`.** With a `bool` it would be
//! ambiguous if `no_homework` returns `true` when there is homework or when there is none. The
//! function states it with `GuardrailOutput::trip_if(..)`.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::def::AgentDef;
use crate::{
    tool::{BoxError, RunContext, ToolDef},
    wire::{Item, ItemView, ToolOutput},
};

/// The result of a guardrail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GuardrailOutput {
    /// `true` if the guardrail trips, which ends the run.
    pub tripwire_triggered: bool,
    /// Details of the result, as any JSON value; reported with it.
    #[serde(default)]
    pub output_info: Value,
}

impl GuardrailOutput {
    /// Returns a result that does not trip.
    pub fn pass() -> Self {
        Self::trip_if(false)
    }

    /// Returns a result that trips, which ends the run.
    pub fn trip() -> Self {
        Self::trip_if(true)
    }

    /// Returns a result that trips, which ends the run, if the argument is `true`.
    pub fn trip_if(tripwire_triggered: bool) -> Self {
        Self { tripwire_triggered, output_info: Value::Null }
    }

    /// Sets the details of the result; a value that cannot be serialized to JSON is dropped.
    #[must_use]
    pub fn info(mut self, info: impl Serialize) -> Self {
        self.output_info = serde_json::to_value(info).unwrap_or(Value::Null);
        self
    }
}

/// Converts `true` to a result that trips.
impl From<bool> for GuardrailOutput {
    fn from(tripped: bool) -> Self {
        Self::trip_if(tripped)
    }
}

/// The context of a guardrail call: the agent and the run context.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GuardrailContext<'a> {
    /// Name of the agent whose input or output is checked.
    pub agent: &'a str,
    /// The run context. In an activity it holds only the keys that the guardrail names.
    pub run: &'a RunContext,
}

impl<'a> GuardrailContext<'a> {
    /// Returns a context for this agent and run context; unit tests of guardrails may also
    /// construct one.
    pub fn new(agent: &'a str, run: &'a RunContext) -> Self {
        Self { agent, run }
    }
}

/// The input of a run, in the form that guardrails receive.
#[derive(Clone, Copy, Debug)]
pub struct GuardrailInput<'a>(pub &'a [Item]);

impl<'a> GuardrailInput<'a> {
    /// Returns the items of the input.
    pub fn items(&self) -> &'a [Item] {
        self.0
    }

    /// Returns all text: contents that are strings, and the texts of content parts, one per line.
    pub fn text(&self) -> String {
        let mut lines: Vec<&str> = Vec::new();
        for item in self.0 {
            let content = match item.view() {
                ItemView::Message { content, .. } => Some(content),
                _ => item.get("content"),
            };
            match content {
                Some(Value::String(text)) => lines.push(text),
                Some(Value::Array(parts)) => lines.extend(parts.iter().filter_map(|part| part["text"].as_str())),
                _ => {}
            }
        }
        lines.join("\n")
    }
}

/// A function that checks an input. An error ends the run with that error.
pub type CheckInput =
    Arc<dyn Fn(&GuardrailContext<'_>, &GuardrailInput<'_>) -> Result<GuardrailOutput, BoxError> + Send + Sync>;

/// A function that checks a final output: a string for plain text, otherwise the parsed value. An
/// error ends the run with that error.
pub type CheckOutput = Arc<dyn Fn(&GuardrailContext<'_>, &Value) -> Result<GuardrailOutput, BoxError> + Send + Sync>;

/// A function that converts the final output of an agent that acts as a guardrail to a result.
pub type Judge<O = GuardrailOutput> = Arc<dyn Fn(&Value) -> O + Send + Sync>;

/// The implementation of a guardrail with results of type `O`.
#[derive(Clone)]
#[non_exhaustive]
pub enum Check<F, O = GuardrailOutput> {
    /// A function that is called in the loop, at once.
    Pure(F),
    /// An activity: a tool that takes `{"agent": NAME, "input": [items]}` or
    /// `{"agent": NAME, "output": VALUE}` and returns an `O` as JSON. Guardrails of tools take
    /// `tool`, `arguments`, `call_id`, `agent` and, after the call, `output`.
    Activity(Box<ToolDef>),
    /// An agent, in a separate run.
    Agent {
        /// The agent that checks.
        agent: Arc<AgentDef>,
        /// Converts the agent's final output to a result.
        judge: Judge<O>,
    },
}

impl<F, O> Check<F, O> {
    /// Returns `true` for a function that is called in the loop.
    pub(crate) fn is_pure(&self) -> bool {
        matches!(self, Self::Pure(_))
    }

    /// Returns the agent that checks, if the guardrail is an agent.
    pub fn agent(&self) -> Option<&AgentDef> {
        match self {
            Self::Agent { agent, .. } => Some(agent),
            Self::Pure(_) | Self::Activity(_) => None,
        }
    }

    /// Returns the activity that checks, if the guardrail is an activity.
    pub fn activity(&self) -> Option<&ToolDef> {
        match self {
            Self::Activity(tool) => Some(tool),
            Self::Pure(_) | Self::Agent { .. } => None,
        }
    }
}

impl<F, O> fmt::Debug for Check<F, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pure(_) => f.write_str("Pure"),
            Self::Activity(tool) => f.debug_tuple("Activity").field(tool).finish(),
            Self::Agent { agent, .. } => f.debug_tuple("Agent").field(&agent.name).finish(),
        }
    }
}

/// A guardrail on the input of a run. It runs for the first agent, at its first turn.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use temporal_agents::agent::{GuardrailOutput, InputGuardrail};
///
/// let no_homework = InputGuardrail::new("no_homework", |_ctx, input| {
///     Ok(GuardrailOutput::trip_if(input.text().contains("homework")))
/// });
/// ```
///
/// # Determinism
/// A pure guardrail runs in the workflow, again on replay: no clock, no randomness, no I/O.
#[derive(Clone, Debug)]
pub struct InputGuardrail {
    name: String,
    check: Check<CheckInput>,
    runs_in_parallel: bool,
}

impl InputGuardrail {
    /// Returns a guardrail that calls this pure function.
    pub fn new(
        name: impl Into<String>,
        check: impl Fn(&GuardrailContext<'_>, &GuardrailInput<'_>) -> Result<GuardrailOutput, BoxError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self::with_check(name, Check::Pure(Arc::new(check)))
    }

    /// Returns a guardrail that runs this agent in a separate run with the same input; `judge`
    /// converts its final output to a result.
    pub fn by_agent(
        name: impl Into<String>,
        agent: impl Into<AgentDef>,
        judge: impl Fn(&Value) -> GuardrailOutput + Send + Sync + 'static,
    ) -> Self {
        Self::with_check(name, Check::Agent { agent: Arc::new(agent.into()), judge: Arc::new(judge) })
    }

    /// Returns a guardrail with this implementation.
    #[doc(hidden)]
    pub fn with_check(name: impl Into<String>, check: Check<CheckInput>) -> Self {
        Self { name: name.into(), check, runs_in_parallel: true }
    }

    /// Makes the run wait for the guardrail before its first turn. By default the guardrail runs
    /// beside the first turn.
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.runs_in_parallel = false;
        self
    }

    /// Returns `true` for a copy of the same guardrail.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
            && match (&self.check, &other.check) {
                (Check::Pure(check), Check::Pure(other)) => Arc::ptr_eq(check, other),
                (Check::Activity(tool), Check::Activity(other)) => tool.name() == other.name(),
                (Check::Agent { agent, .. }, Check::Agent { agent: other, .. }) => Arc::ptr_eq(agent, other),
                _ => false,
            }
    }

    /// Name under which the guardrail's results are reported.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The implementation of the guardrail.
    #[doc(hidden)]
    pub fn check(&self) -> &Check<CheckInput> {
        &self.check
    }

    /// Returns `true` if the guardrail runs beside the first turn, `false` if the run waits for it
    /// first.
    pub fn runs_in_parallel(&self) -> bool {
        self.runs_in_parallel
    }

    /// Returns the arguments of a guardrail's activity.
    pub fn activity_arguments(agent: &str, input: &[Item]) -> Map<String, Value> {
        let items = input.iter().map(Item::to_value).collect();
        Map::from_iter([("agent".to_owned(), agent.into()), ("input".to_owned(), Value::Array(items))])
    }
}

/// A guardrail on a final output.
///
/// # Determinism
/// A pure guardrail runs in the workflow, again on replay: no clock, no randomness, no I/O.
#[derive(Clone, Debug)]
pub struct OutputGuardrail {
    name: String,
    check: Check<CheckOutput>,
}

impl OutputGuardrail {
    /// Returns a guardrail that calls this pure function.
    pub fn new(
        name: impl Into<String>,
        check: impl Fn(&GuardrailContext<'_>, &Value) -> Result<GuardrailOutput, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self::with_check(name, Check::Pure(Arc::new(check)))
    }

    /// Returns a guardrail that runs this agent in a separate run whose input is the output as
    /// text; `judge` converts its final output to a result.
    pub fn by_agent(
        name: impl Into<String>,
        agent: impl Into<AgentDef>,
        judge: impl Fn(&Value) -> GuardrailOutput + Send + Sync + 'static,
    ) -> Self {
        Self::with_check(name, Check::Agent { agent: Arc::new(agent.into()), judge: Arc::new(judge) })
    }

    /// Returns a guardrail with this implementation.
    #[doc(hidden)]
    pub fn with_check(name: impl Into<String>, check: Check<CheckOutput>) -> Self {
        Self { name: name.into(), check }
    }

    /// Name under which the guardrail's results are reported.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The implementation of the guardrail.
    #[doc(hidden)]
    pub fn check(&self) -> &Check<CheckOutput> {
        &self.check
    }

    /// Returns the arguments of a guardrail's activity.
    pub fn activity_arguments(agent: &str, output: &Value) -> Map<String, Value> {
        Map::from_iter([("agent".to_owned(), agent.into()), ("output".to_owned(), output.clone())])
    }
}

/// Parses the output of a guardrail's activity.
///
/// # Errors
/// The output is not a result of this type as JSON.
pub fn parse_guardrail_output<O: DeserializeOwned>(output: &ToolOutput) -> Result<O, serde_json::Error> {
    serde_json::from_str(&output.to_text())
}
