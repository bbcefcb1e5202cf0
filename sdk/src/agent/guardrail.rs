//! Guardrails: checks of what a run is given and of what it answers.
//!
//! An input guardrail looks at the input of the first agent, an output guardrail at the final
//! output of the last one. One that trips ends the run. Pure ones run in the loop itself; one that
//! needs I/O is an activity; an agent can be one, too.
//!
//! # Design
//! **A guardrail function returns `GuardrailOutput`, never a `bool`.** Does `no_homework` return
//! `true` when there is homework, or when there is none? `GuardrailOutput::trip_if(..)` says so
//! where it is decided.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::def::AgentDef;
use crate::{
    tool::{Failure, RunContext, ToolDef},
    wire::{Item, ItemView, ToolOutput},
};

/// What a guardrail finds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuardrailOutput {
    /// Whether the run ends.
    pub tripwire_triggered: bool,
    /// What there is to say about it; reported with the result.
    #[serde(default)]
    pub output_info: Value,
}

impl GuardrailOutput {
    /// Nothing to object to.
    pub fn pass() -> Self {
        Self::trip_if(false)
    }

    /// The run ends.
    pub fn trip() -> Self {
        Self::trip_if(true)
    }

    /// The run ends if this is so.
    pub fn trip_if(tripwire_triggered: bool) -> Self {
        Self { tripwire_triggered, output_info: Value::Null }
    }

    /// Says something about it; what cannot be written as JSON is left out.
    #[must_use]
    pub fn info(mut self, info: impl Serialize) -> Self {
        self.output_info = serde_json::to_value(info).unwrap_or(Value::Null);
        self
    }
}

/// `true` trips.
impl From<bool> for GuardrailOutput {
    fn from(tripped: bool) -> Self {
        Self::trip_if(tripped)
    }
}

/// What a guardrail of a run knows.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GuardrailContext<'a> {
    /// The agent whose input or output it is.
    pub agent: &'a str,
    /// The run context.
    pub run: &'a RunContext,
}

impl<'a> GuardrailContext<'a> {
    /// A check for this agent with these run values; unit tests of guardrails make one, too.
    pub fn new(agent: &'a str, run: &'a RunContext) -> Self {
        Self { agent, run }
    }
}

/// The input of a run, as a guardrail sees it.
#[derive(Clone, Copy, Debug)]
pub struct GuardrailInput<'a>(pub &'a [Item]);

impl<'a> GuardrailInput<'a> {
    /// The items.
    pub fn items(&self) -> &'a [Item] {
        self.0
    }

    /// All text: contents that are strings, and the texts of content parts, one per line.
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

/// A check of an input. An error ends the run with it.
pub type CheckInput =
    Arc<dyn Fn(&GuardrailContext<'_>, &GuardrailInput<'_>) -> Result<GuardrailOutput, Failure> + Send + Sync>;

/// A check of a final output: a string for plain text, else the parsed value. An error ends the run
/// with it.
pub type CheckOutput = Arc<dyn Fn(&GuardrailContext<'_>, &Value) -> Result<GuardrailOutput, Failure> + Send + Sync>;

/// What an agent that judges has said, as a finding.
pub type Judge = Arc<dyn Fn(&Value) -> GuardrailOutput + Send + Sync>;

/// How a guardrail checks.
#[derive(Clone)]
#[non_exhaustive]
pub enum Check<F> {
    /// In the loop, at once.
    Pure(F),
    /// In an activity: a tool that takes `{"agent": NAME, "input": [items]}` or
    /// `{"agent": NAME, "output": VALUE}` and returns a [`GuardrailOutput`] as JSON.
    Activity(Box<ToolDef>),
    /// By asking an agent, in a run of its own.
    Agent {
        /// The agent.
        agent: Arc<AgentDef>,
        /// What its final output means.
        judge: Judge,
    },
}

impl<F> Check<F> {
    /// The agent that checks, where one does.
    pub fn agent(&self) -> Option<&AgentDef> {
        match self {
            Self::Agent { agent, .. } => Some(agent),
            Self::Pure(_) | Self::Activity(_) => None,
        }
    }

    /// The activity that checks, where one does.
    pub fn activity(&self) -> Option<&ToolDef> {
        match self {
            Self::Activity(tool) => Some(tool),
            Self::Pure(_) | Self::Agent { .. } => None,
        }
    }
}

impl<F> fmt::Debug for Check<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pure(_) => f.write_str("Pure"),
            Self::Activity(tool) => f.debug_tuple("Activity").field(tool).finish(),
            Self::Agent { agent, .. } => f.debug_tuple("Agent").field(&agent.name).finish(),
        }
    }
}

/// A check of the input of a run, made for its first agent at its first turn.
///
/// ```
/// use temporal_agents::agent::{GuardrailOutput, InputGuardrail};
///
/// let no_homework = InputGuardrail::new("no_homework", |_ctx, input| {
///     Ok(GuardrailOutput::trip_if(input.text().contains("homework")))
/// });
/// ```
///
/// # Determinism
/// A pure one runs in the workflow, again on replay: no clock, no randomness, no I/O.
#[derive(Clone, Debug)]
pub struct InputGuardrail {
    name: String,
    check: Check<CheckInput>,
    runs_in_parallel: bool,
}

impl InputGuardrail {
    /// A pure check.
    pub fn new(
        name: impl Into<String>,
        check: impl Fn(&GuardrailContext<'_>, &GuardrailInput<'_>) -> Result<GuardrailOutput, Failure>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self::with_check(name, Check::Pure(Arc::new(check)))
    }

    /// A check by an agent, in a run of its own with the same input; `judge` says what its final
    /// output means.
    pub fn by_agent(
        name: impl Into<String>,
        agent: impl Into<AgentDef>,
        judge: impl Fn(&Value) -> GuardrailOutput + Send + Sync + 'static,
    ) -> Self {
        Self::with_check(name, Check::Agent { agent: Arc::new(agent.into()), judge: Arc::new(judge) })
    }

    /// A check made this way.
    pub fn with_check(name: impl Into<String>, check: Check<CheckInput>) -> Self {
        Self { name: name.into(), check, runs_in_parallel: true }
    }

    /// Waits for it before anything else happens. By default it runs beside the first turn.
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.runs_in_parallel = false;
        self
    }

    /// The name it is reported under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it checks.
    pub fn check(&self) -> &Check<CheckInput> {
        &self.check
    }

    /// Whether it runs beside the first turn.
    pub fn runs_in_parallel(&self) -> bool {
        self.runs_in_parallel
    }

    /// The arguments of its activity.
    pub fn activity_arguments(agent: &str, input: &[Item]) -> Map<String, Value> {
        let items = input.iter().map(Item::to_value).collect();
        Map::from_iter([("agent".to_owned(), agent.into()), ("input".to_owned(), Value::Array(items))])
    }
}

/// A check of a final output.
///
/// # Determinism
/// A pure one runs in the workflow, again on replay: no clock, no randomness, no I/O.
#[derive(Clone, Debug)]
pub struct OutputGuardrail {
    name: String,
    check: Check<CheckOutput>,
}

impl OutputGuardrail {
    /// A pure check.
    pub fn new(
        name: impl Into<String>,
        check: impl Fn(&GuardrailContext<'_>, &Value) -> Result<GuardrailOutput, Failure> + Send + Sync + 'static,
    ) -> Self {
        Self::with_check(name, Check::Pure(Arc::new(check)))
    }

    /// A check by an agent, in a run of its own whose input is the output as text; `judge` says
    /// what its final output means.
    pub fn by_agent(
        name: impl Into<String>,
        agent: impl Into<AgentDef>,
        judge: impl Fn(&Value) -> GuardrailOutput + Send + Sync + 'static,
    ) -> Self {
        Self::with_check(name, Check::Agent { agent: Arc::new(agent.into()), judge: Arc::new(judge) })
    }

    /// A check made this way.
    pub fn with_check(name: impl Into<String>, check: Check<CheckOutput>) -> Self {
        Self { name: name.into(), check }
    }

    /// The name it is reported under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it checks.
    pub fn check(&self) -> &Check<CheckOutput> {
        &self.check
    }

    /// The arguments of its activity.
    pub fn activity_arguments(agent: &str, output: &Value) -> Map<String, Value> {
        Map::from_iter([("agent".to_owned(), agent.into()), ("output".to_owned(), output.clone())])
    }
}

/// Reads what the activity of a guardrail returned.
///
/// # Errors
/// What is wrong with it.
pub fn guardrail_answer(output: &ToolOutput) -> Result<GuardrailOutput, serde_json::Error> {
    serde_json::from_str(&output.to_text())
}
