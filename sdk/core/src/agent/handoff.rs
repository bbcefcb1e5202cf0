//! Handoffs: functions that the model calls to pass the conversation to another agent.

use std::{
    fmt,
    sync::{Arc, LazyLock},
};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{def::AgentDef, handoff_filter::HandoffInputFilter, instructions::AgentInfo};
use crate::{
    tool::{
        BoxError, Enabled, RunContext,
        name::to_function_name,
        schema::{self, NotStrict, Validate},
    },
    wire::{HandoffSpec, Schema, arguments::read_arguments},
};

/// A handoff to another agent, with its options. `.handoff(agent)` makes one with the defaults.
#[derive(Clone)]
pub struct Handoff {
    target: HandoffTarget,
    tool_name: Option<String>,
    tool_description: Option<String>,
    input: Option<HandoffInput>,
    taken: Option<OnHandoff>,
    filter: Option<HandoffInputFilter>,
    nests_history: Option<bool>,
    enabled: Enabled,
}

/// An argument of [`Agent::handoff`](super::Agent::handoff): an agent, or a [`Handoff`].
///
/// Not for manual implementation: every type that converts into a [`Handoff`] implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an agent nor a handoff",
    label = "not a handoff",
    note = "pass the agent, `.handoff(billing())`, or the name of one that is elsewhere in the graph, \
            `.handoff(Handoff::to(\"billing\"))`"
)]
pub trait IntoHandoff {
    /// Returns the handoff.
    fn into_handoff(self) -> Handoff;
}

#[diagnostic::do_not_recommend]
impl<T: Into<Handoff>> IntoHandoff for T {
    fn into_handoff(self) -> Handoff {
        self.into()
    }
}

/// The agent that a handoff leads to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HandoffTarget {
    /// An agent that the handoff adds to the graph.
    Agent(Arc<AgentDef>),
    /// The name of an agent that another part of the graph adds; for cycles.
    Name(String),
}

/// A function that is called with the model's arguments when a handoff is taken.
///
/// # Errors
/// A [`HandoffError`] ends the run.
pub type OnHandoff = Arc<dyn Fn(&mut RunContext, &str) -> Result<(), HandoffError> + Send + Sync>;

/// The reason for which a handoff could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandoffError {
    /// The model's arguments are not of the input type.
    #[error("{0}")]
    InvalidInput(String),
    /// The author's function returned an error.
    #[error("{0}")]
    Refused(BoxError),
}

#[derive(Clone)]
struct HandoffInput {
    schema: Schema,
    /// The schema that the author supplied, if the schema is not that of a type.
    accepts: Option<Value>,
    issue: Option<NotStrict>,
    take: OnHandoff,
}

impl Handoff {
    pub(super) fn new(target: HandoffTarget) -> Self {
        Self {
            target,
            tool_name: None,
            tool_description: None,
            input: None,
            taken: None,
            filter: None,
            nests_history: None,
            enabled: Enabled::default(),
        }
    }

    /// Returns a handoff to the agent with this name, which another handoff of the graph adds (or
    /// which starts the run).
    pub fn to(name: impl Into<String>) -> Self {
        Self::new(HandoffTarget::Name(name.into()))
    }

    /// Returns a handoff to this agent.
    pub fn to_agent(agent: impl Into<AgentDef>) -> Self {
        Self::new(HandoffTarget::Agent(Arc::new(agent.into())))
    }

    /// Sets the name of the function. Default: `transfer_to_` and the agent's name.
    #[must_use]
    pub fn tool_name(mut self, name: impl Into<String>) -> Self {
        self.tool_name = Some(name.into());
        self
    }

    /// Sets the description for the model. Default: a sentence with the agent's name and handoff
    /// description.
    #[must_use]
    pub fn tool_description(mut self, description: impl Into<String>) -> Self {
        self.tool_description = Some(description.into());
        self
    }

    /// Requests arguments of type `I` from the model, and calls the function with them when the
    /// handoff is taken.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay.
    #[must_use]
    pub fn on_handoff<I: DeserializeOwned + JsonSchema>(
        mut self,
        function: impl Fn(&mut RunContext, I) -> Result<(), BoxError> + Send + Sync + 'static,
    ) -> Self {
        let of_type = schema::schema_of::<I>();
        let (schema, issue) = match schema::strict(of_type.clone()) {
            Ok(strict) => (strict, None),
            Err(issue) => (of_type.clone(), Some(issue)),
        };
        let take: OnHandoff = Arc::new(move |context: &mut RunContext, arguments: &str| {
            let input = read_input(arguments).map_err(HandoffError::InvalidInput)?;
            let input = schema::with_integers(&of_type, input);
            let input = schema::deserialize(&input).map_err(|error| HandoffError::InvalidInput(error.to_string()))?;
            function(context, input).map_err(HandoffError::Refused)
        });
        self.input = Some(HandoffInput { schema: schema.into(), accepts: None, issue, take });
        self
    }

    /// Calls the function when the handoff is taken; the handoff has no arguments.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay.
    #[must_use]
    pub fn on_taken(
        mut self,
        function: impl Fn(&mut RunContext) -> Result<(), BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.taken =
            Some(Arc::new(move |context: &mut RunContext, _: &str| function(context).map_err(HandoffError::Refused)));
        self
    }

    /// Requests a value of this schema from the model, and calls the function with it when the
    /// handoff is taken. The schema is made strict if possible; the value is validated against the
    /// schema first.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay.
    #[must_use]
    pub fn on_handoff_with_schema(
        mut self,
        accepts: Value,
        function: impl Fn(&mut RunContext, Value) -> Result<(), BoxError> + Send + Sync + 'static,
    ) -> Self {
        let (schema, issue) = match schema::strict(accepts.clone()) {
            Ok(strict) => (strict, None),
            Err(issue) => (accepts.clone(), Some(issue)),
        };
        let of_author = accepts.clone();
        let take: OnHandoff = Arc::new(move |context: &mut RunContext, arguments: &str| {
            let input = read_input(arguments).map_err(HandoffError::InvalidInput)?;
            function(context, schema::with_integers(&of_author, input)).map_err(HandoffError::Refused)
        });
        self.input = Some(HandoffInput { schema: schema.into(), accepts: Some(accepts), issue, take });
        self
    }

    /// Sets the filter of the conversation that the next agent receives.
    #[must_use]
    pub fn input_filter(mut self, filter: HandoffInputFilter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Enables or disables a summary message in place of the conversation so far, for the next
    /// agent. Default: the setting of the run.
    #[must_use]
    pub fn nest_history(mut self, nests: bool) -> Self {
        self.nests_history = Some(nests);
        self
    }

    /// Offers the handoff only in turns for which this function returns `true`; it is called at
    /// every turn.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay.
    #[must_use]
    pub fn enabled_when(mut self, enabled: impl Fn(&RunContext, &AgentInfo) -> bool + Send + Sync + 'static) -> Self {
        self.enabled = Enabled::when(move |run, agent, turn| enabled(run, &AgentInfo::new(agent, turn)));
        self
    }

    /// The rule by which the handoff is offered.
    pub fn enabled(&self) -> &Enabled {
        &self.enabled
    }

    /// The filter of this handoff, if one was set.
    pub fn filter(&self) -> Option<&HandoffInputFilter> {
        self.filter.as_ref()
    }

    /// The setting of [`nest_history`](Self::nest_history), if one was set.
    pub fn nests_history(&self) -> Option<bool> {
        self.nests_history
    }

    /// The agent that the handoff leads to.
    pub(crate) fn target(&self) -> &HandoffTarget {
        &self.target
    }

    /// The function that is called when the handoff is taken, if one was set.
    pub(crate) fn callback(&self) -> Option<&OnHandoff> {
        self.input.as_ref().map(|input| &input.take).or(self.taken.as_ref())
    }

    /// Validates arguments against the schema that the author supplied, if there is one.
    ///
    /// # Errors
    /// The issues, as a sentence fragment.
    pub(crate) fn check_input(&self, validate: Validate, arguments: &str) -> Result<(), String> {
        let Some(accepts) = self.input.as_ref().and_then(|input| input.accepts.as_ref()) else { return Ok(()) };
        let input = read_input(arguments)?;
        validate(accepts, &input)
            .map_err(|issues| issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    }

    /// The reason for which the input schema does not fit OpenAI strict mode, if it does not.
    pub(crate) fn issue(&self) -> Option<&NotStrict> {
        self.input.as_ref().and_then(|input| input.issue.as_ref())
    }

    /// Returns the name of the function.
    pub fn name(&self) -> String {
        self.tool_name
            .clone()
            .unwrap_or_else(|| to_function_name(&format!("transfer_to_{}", to_tool_name(self.target.name()))))
    }

    /// Returns the handoff in the form for the model. `target` is the agent that it leads to.
    pub fn spec(&self, target: &AgentDef) -> HandoffSpec {
        let tool_description = self.tool_description.clone().unwrap_or_else(|| {
            // The trailing space of an absent description is that of the reference implementation.
            format!(
                "Handoff to the {} agent to handle the request. {}",
                target.name,
                target.handoff_description.as_deref().unwrap_or_default()
            )
        });
        let input_json_schema = self.input.as_ref().map_or_else(
            || {
                static NOTHING: LazyLock<Schema> = LazyLock::new(|| {
                    json!({"additionalProperties": false, "type": "object", "properties": {}, "required": []}).into()
                });
                NOTHING.clone()
            },
            |input| input.schema.clone(),
        );
        HandoffSpec {
            tool_name: self.name(),
            tool_description,
            input_json_schema,
            strict: true,
            agent_name: target.name.clone(),
        }
    }
}

/// Reads the arguments of a handoff: an object, or what else the model wrote.
///
/// # Errors
/// The reason why the text is not JSON.
fn read_input(arguments: &str) -> Result<Value, String> {
    match read_arguments(arguments) {
        Ok(members) => Ok(members.into()),
        Err(_) => serde_json::from_str(arguments).map_err(|error| error.to_string()),
    }
}

impl HandoffTarget {
    /// Name of the agent.
    pub fn name(&self) -> &str {
        match self {
            Self::Agent(agent) => &agent.name,
            Self::Name(name) => name,
        }
    }
}

impl fmt::Debug for Handoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handoff")
            .field("name", &self.name())
            .field("target", &self.target.name())
            .finish_non_exhaustive()
    }
}

/// Returns the function name for an agent's name: ASCII letters in lower case, and `_` for every
/// character other than ASCII letters, digits and `_`.
pub fn to_tool_name(agent: &str) -> String {
    agent.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '_' }).collect()
}
