//! A tool as data: what `#[tool]` expands to, and what one builds by hand.

use std::sync::Arc;

use futures::future::{BoxFuture, LocalBoxFuture};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

#[cfg(feature = "nexus")]
use super::nexus_operation::NexusOperation;
use super::{
    approval::NeedsApproval,
    binding::{ActivityBody, ToolBinding, WorkflowBody},
    child_workflow::ChildWorkflow,
    context::ToolContext,
    enabled::Enabled,
    error::ToolError,
    guardrail::{ToolInputGuardrail, ToolOutputGuardrail},
    on_error::OnToolError,
    options::ToolActivityOptions,
    oversized::{OutputLimit, OversizedOutput},
    redaction::Redaction,
    remote_activity::RemoteActivity,
    schema,
    side_by_side::SideBySide,
    state::StateRequirement,
    workflow_context::WorkflowToolContext,
};
use crate::wire::{Schema, ToolOutput, ToolSpec, worker_env};

/// Most bytes of an output of a local activity, unless its tool says more.
const LOCAL_BYTES: usize = 100_000;

/// A tool: name, description, schema, and a body that runs where its [`ToolBinding`] says.
///
/// ```
/// use temporal_agents::tool::ToolDef;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Terms {
///     a: i64,
///     b: i64,
/// }
///
/// let add = ToolDef::inline("add", "Adds two numbers.", |_ctx, Terms { a, b }| Ok((a + b).to_string().into()));
/// assert_eq!(add.name(), "add");
/// ```
#[derive(Clone, Debug)]
pub struct ToolDef {
    name: String,
    description: String,
    parameters: Schema,
    accepts: Schema,
    strict: bool,
    binding: ToolBinding,
    requirements: Vec<StateRequirement>,
    context_keys: Vec<String>,
    settings: Map<String, Value>,
    enabled: Enabled,
    approval: NeedsApproval,
    input_guardrails: Vec<ToolInputGuardrail>,
    output_guardrails: Vec<ToolOutputGuardrail>,
    on_error: OnToolError,
    output_limit: OutputLimit,
    /// Whether somebody has said how large an output may be.
    has_own_limit: bool,
    redaction: Option<Redaction>,
    side_by_side: SideBySide,
    activity_prefix: &'static str,
    issues: Vec<ToolIssue>,
}

/// Something wrong with a tool's definition, reported when its graph is checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolIssue {
    /// No model takes such a name.
    #[error("the name must be 1 to 64 characters without white space; most models take letters, digits, '_' and '-'")]
    Name,
    /// It is to spill its output, and runs where nothing can be written.
    #[error(
        "it is no activity of this library, which alone can spill an output; make it one, or take OversizedOutput::Truncate"
    )]
    SpillsInWorkflow,
    /// A setting refers to a secret, and the tool runs where none is.
    #[error(
        "its setting {setting:?} refers to an environment variable, and it runs in the workflow, where none may be read; \
         make it an activity"
    )]
    SecretInWorkflow {
        /// The setting.
        setting: String,
    },
    /// A setting that nobody reads.
    #[error("it has the setting {setting:?}, and its body is not here to read it; drop the setting")]
    UnreadSetting {
        /// The setting.
        setting: String,
    },
    /// The schema does not fit OpenAI strict mode.
    #[error("the argument schema cannot be strict at {path:?}: {reason}")]
    NotStrict {
        /// Where in the schema.
        path: String,
        /// Why, and what to write instead.
        reason: String,
    },
    /// A local activity runs where the workflow runs.
    #[error("it is a local activity and has task queue {task_queue:?}; drop one of the two")]
    LocalElsewhere {
        /// The task queue.
        task_queue: String,
    },
    /// A local activity is recorded only with its workflow task, and runs again when that is lost.
    #[error(
        "it is a local activity and not idempotent: when its workflow task is lost it runs again, whatever its attempts; make it an \
         activity, or say idempotent = true"
    )]
    LocalOnce,
}

impl ToolDef {
    /// A pure tool that runs in the workflow.
    ///
    /// # Determinism
    /// The body runs again on replay: no clock, no randomness, no I/O.
    pub fn inline<A>(
        name: impl Into<String>,
        description: impl Into<String>,
        body: impl Fn(&mut ToolContext, A) -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema,
    {
        let binding = ToolBinding::Inline(Arc::new(move |ctx, arguments| body(ctx, read(arguments)?)));
        Self::new(name, description, schema::schema_of::<A>(), binding)
    }

    /// A tool that runs in an activity.
    pub fn activity<A>(
        name: impl Into<String>,
        description: impl Into<String>,
        body: impl for<'a> Fn(&'a mut ToolContext, A) -> BoxFuture<'a, Result<ToolOutput, ToolError>>
        + Send
        + Sync
        + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema,
    {
        let body: ActivityBody = Arc::new(move |ctx: &mut ToolContext, arguments| match read(arguments) {
            Ok(arguments) => body(ctx, arguments),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        });
        let binding = ToolBinding::Activity { body, options: ToolActivityOptions::default() };
        Self::new(name, description, schema::schema_of::<A>(), binding)
    }

    /// A tool that runs at the caller's: in a browser, in an editor, on somebody's desk. A call of it pauses the run, durably, as an
    /// interruption of [kind `Output`](crate::wire::run_state::InterruptionKind::Output), until somebody supplies the output: by the
    /// update `agent_supply_output` (`AgentHandle::supply_output`), or on a paused run's
    /// [state](crate::wire::RunState::supply_output). Arguments are checked before anybody is asked, the output by the tool's
    /// output guardrails. One that needs approval is approved first.
    ///
    /// ```
    /// use serde_json::json;
    /// use temporal_agents::{Agent, tool::ToolDef};
    ///
    /// let schema = json!({"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]});
    /// let pick_file = ToolDef::client("pick_file", "Lets the user pick a file.", schema);
    /// let editor = Agent::new("editor").model("gpt-5").tool(pick_file);
    /// ```
    pub fn client(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self::new(name, description, parameters, ToolBinding::Client)
    }

    /// The same with the arguments of a Rust type.
    pub fn client_of<A: JsonSchema>(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self::client(name, description, schema::schema_of::<A>())
    }

    /// A tool that runs in the workflow and may wait there: for timers, activities and child workflows. `#[tool(workflow)]` makes the same of a
    /// function.
    ///
    /// # Determinism
    /// The body runs again on replay: see [`WorkflowToolContext`].
    pub fn workflow<A>(
        name: impl Into<String>,
        description: impl Into<String>,
        body: impl for<'a> Fn(&'a mut WorkflowToolContext, A) -> LocalBoxFuture<'a, Result<ToolOutput, ToolError>>
        + Send
        + Sync
        + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema,
    {
        let body: WorkflowBody = Arc::new(move |ctx: &mut WorkflowToolContext, arguments| match read(arguments) {
            Ok(arguments) => body(ctx, arguments),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        });
        Self::new(name, description, schema::schema_of::<A>(), ToolBinding::Workflow(body))
    }

    /// An activity that exists already, also one of another language's worker, as a tool. `parameters` is the JSON schema of its only
    /// argument, an object. A result that is a text is what the model gets; of any other the model gets the compact JSON.
    ///
    /// What it fails with is hidden from the model like the failures of other tools, with one exception: an application failure of type
    /// `ToolError` whose first detail is a text tells the model that text.
    ///
    /// ```
    /// use serde_json::json;
    /// use temporal_agents::{ToolDef, tool::RemoteActivity};
    ///
    /// let schema = json!({"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]});
    /// let refund = RemoteActivity::named("issue_refund").task_queue("python").idempotent(false);
    /// let refund = ToolDef::remote_activity("issue_refund", "Gives the money for an order back.", schema, refund);
    /// ```
    pub fn remote_activity(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
        activity: RemoteActivity,
    ) -> Self {
        Self::new(name, description, parameters, ToolBinding::RemoteActivity(activity))
    }

    /// A workflow as a tool: each call is a child workflow. Argument, result and failures are those of a
    /// [`remote_activity`](Self::remote_activity).
    pub fn child_workflow(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
        child: ChildWorkflow,
    ) -> Self {
        Self::new(name, description, parameters, ToolBinding::ChildWorkflow(child))
    }

    /// A Nexus operation as a tool (feature `nexus`), in whatever language and namespace its handler is. Argument and result are those of a
    /// [`remote_activity`](Self::remote_activity), and so are the failures: the model is told those that an application failure of type
    /// `ToolError` words, and no other.
    ///
    /// Before the first call at an endpoint the worker looks it up. One that the server does not have is a failure of kind
    /// [`NotRegistered`](super::ToolFailureKind::NotRegistered).
    ///
    /// ```
    /// use serde_json::json;
    /// use temporal_agents::{ToolDef, tool::NexusOperation};
    ///
    /// let schema = json!({"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]});
    /// let quote = NexusOperation::named("freight-endpoint", "Freight", "quote");
    /// let quote = ToolDef::nexus_operation("freight_quote", "What it costs to send a pallet.", schema, quote);
    /// ```
    #[cfg(feature = "nexus")]
    pub fn nexus_operation(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
        operation: NexusOperation,
    ) -> Self {
        Self::new(name, description, parameters, ToolBinding::Nexus(operation))
    }

    /// A tool with a schema that is not a Rust type's. The schema is made strict where it can be.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
        binding: ToolBinding,
    ) -> Self {
        let name = name.into();
        let mut issues = Vec::new();
        if !is_function_name(&name) {
            issues.push(ToolIssue::Name);
        }
        let accepts = Schema::from(parameters.clone());
        let parameters = match schema::strict(parameters) {
            Ok(strict) => Schema::from(strict),
            Err(schema::NotStrict { path, reason }) => {
                issues.push(ToolIssue::NotStrict { path, reason });
                accepts.clone()
            }
        };
        Self { parameters, strict: true, issues, ..Self::unchecked(name, description.into(), accepts, binding) }
    }

    /// A tool whose name is fine and whose schema is sent as it is.
    pub(super) fn unchecked(name: String, description: String, accepts: Schema, binding: ToolBinding) -> Self {
        Self {
            name,
            description,
            parameters: accepts.clone(),
            accepts,
            strict: false,
            binding,
            requirements: Vec::new(),
            context_keys: Vec::new(),
            settings: Map::new(),
            enabled: Enabled::default(),
            approval: NeedsApproval::default(),
            input_guardrails: Vec::new(),
            output_guardrails: Vec::new(),
            on_error: OnToolError::default(),
            output_limit: OutputLimit::default(),
            has_own_limit: false,
            redaction: None,
            side_by_side: SideBySide::default(),
            activity_prefix: "agents.tool",
            issues: Vec::new(),
        }
    }

    /// Sends the schema as the type gives it, without strict mode: for free-form maps and values.
    #[must_use]
    pub fn lenient<A: JsonSchema>(mut self) -> Self {
        self.parameters = schema::schema_of::<A>().into();
        self.strict = false;
        self.issues.retain(|issue| !matches!(issue, ToolIssue::NotStrict { .. }));
        self
    }

    /// Sets timeouts, attempts and task queue of an activity tool; an inline tool has none.
    #[must_use]
    pub fn options(mut self, new: ToolActivityOptions) -> Self {
        if let ToolBinding::Activity { options, .. } = &mut self.binding {
            self.issues.retain(|issue| !matches!(issue, ToolIssue::LocalElsewhere { .. } | ToolIssue::LocalOnce));
            if let (true, Some(task_queue)) = (new.local, &new.task_queue) {
                self.issues.push(ToolIssue::LocalElsewhere { task_queue: task_queue.clone() });
            }
            if new.local && !new.idempotent {
                self.issues.push(ToolIssue::LocalOnce);
            }
            *options = new;
        }
        self
    }

    /// Gives the tool another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self.issues.retain(|issue| *issue != ToolIssue::Name);
        if !is_function_name(&self.name) {
            self.issues.push(ToolIssue::Name);
        }
        self
    }

    /// Says which state the body needs, so that a worker without it does not start.
    #[must_use]
    pub fn requires(mut self, requirement: Option<StateRequirement>) -> Self {
        self.requirements.extend(requirement);
        self
    }

    /// Names the keys of the run context that an activity tool gets.
    #[must_use]
    pub fn with_context(mut self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.context_keys.extend(keys.into_iter().map(Into::into));
        self
    }

    /// Sets something for the tool that its model neither sees nor gives: [`ToolContext::setting`] reads it. For an activity tool it may be, or
    /// hold, a [`worker_env!`](crate::worker_env) reference: the worker puts the value in for the call, and takes it out of output and errors.
    ///
    /// ```
    /// use serde_json::json;
    /// use temporal_agents::{Agent, tool::{Tool, ToolContext, ToolError}, worker_env};
    /// # use temporal_agents::tool;
    ///
    /// /// Finds a customer.
    /// #[tool]
    /// async fn find_customer(ctx: &ToolContext, name: String) -> Result<String, ToolError> {
    ///     let (region, token): (String, String) = (ctx.setting("region")?, ctx.setting("token")?);
    ///     Ok(format!("{name} in {region}, found with {} characters", token.len()))
    /// }
    ///
    /// let find = find_customer.setting("region", "eu").setting("token", worker_env!("CRM_TOKEN"));
    /// let desk: Agent = Agent::new("desk").model("gpt-5").tool(find);
    /// # let _ = json!(desk.name());
    /// ```
    ///
    /// Settings are in history with every call, so a secret itself has no place in them.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let (name, value) = (name.into(), value.into());
        let of_it = |issue: &ToolIssue| match issue {
            ToolIssue::SecretInWorkflow { setting } | ToolIssue::UnreadSetting { setting } => *setting == name,
            _ => false,
        };
        self.issues.retain(|issue| !of_it(issue));
        match &self.binding {
            ToolBinding::Activity { .. } => {}
            ToolBinding::Inline(_) | ToolBinding::Workflow(_) if !worker_env::refers(&value) => {}
            ToolBinding::Inline(_) | ToolBinding::Workflow(_) => {
                self.issues.push(ToolIssue::SecretInWorkflow { setting: name.clone() });
            }
            _ => self.issues.push(ToolIssue::UnreadSetting { setting: name.clone() }),
        }
        self.settings.insert(name, value);
        self
    }

    /// Sends this schema as it is, without strict mode.
    #[must_use]
    pub fn not_strict(mut self) -> Self {
        self.parameters = self.accepts.clone();
        self.strict = false;
        self.issues.retain(|issue| !matches!(issue, ToolIssue::NotStrict { .. }));
        self
    }

    /// Says which calls wait for a decision.
    #[must_use]
    pub fn approval(mut self, approval: NeedsApproval) -> Self {
        self.approval = approval;
        self
    }

    /// Says when the tool is offered.
    #[must_use]
    pub fn enabled(mut self, enabled: Enabled) -> Self {
        self.enabled = enabled;
        self
    }

    /// Adds a check before the body runs.
    #[must_use]
    pub fn with_input_guardrail(mut self, guardrail: ToolInputGuardrail) -> Self {
        self.input_guardrails.push(guardrail);
        self
    }

    /// Adds a check of what the body returns.
    #[must_use]
    pub fn with_output_guardrail(mut self, guardrail: ToolOutputGuardrail) -> Self {
        self.output_guardrails.push(guardrail);
        self
    }

    /// Says what a failed call comes to.
    #[must_use]
    pub fn with_on_error(mut self, on_error: OnToolError) -> Self {
        self.on_error = on_error;
        self
    }

    /// Says what becomes of an output that is larger than [`max_output_bytes`](Self::max_output_bytes). Default: the model is told.
    #[must_use]
    pub fn oversized_output(mut self, oversized: OversizedOutput) -> Self {
        self.output_limit.above = oversized;
        self.issues.retain(|issue| *issue != ToolIssue::SpillsInWorkflow);
        let has_a_store = matches!(self.binding, ToolBinding::Activity { .. } | ToolBinding::Mcp(_));
        if oversized == OversizedOutput::Spill && !has_a_store {
            self.issues.push(ToolIssue::SpillsInWorkflow);
        }
        self
    }

    /// Most bytes of JSON that one output may have. Default 2,000,000, just below what the server takes; 100,000 for a tool that is a local
    /// activity. Local calls run side by side as long as what they may return is at most 1,000,000 bytes together.
    ///
    /// More only behind a codec that makes payloads smaller: what is measured is the JSON before it.
    #[must_use]
    pub fn max_output_bytes(mut self, bytes: usize) -> Self {
        self.output_limit.bytes = bytes;
        self.has_own_limit = true;
        self
    }

    /// Takes out of everything the tool returns what must not be recorded: out of outputs, error messages, panics, and changes to the run
    /// context. It is called where the body runs, for each text, before anything reaches history, logs, guardrails or the model.
    ///
    /// # Determinism
    /// For an inline tool it runs in the workflow, again on replay.
    #[must_use]
    pub fn redact(mut self, redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.redaction = Some(Redaction::new(redact));
        self
    }

    /// Most calls of this tool in one response that run at the same time, at least one; the others wait, in call order. Default: all.
    #[must_use]
    pub fn max_parallel(mut self, calls: usize) -> Self {
        self.side_by_side.most = Some(calls);
        self
    }

    /// Runs the calls of this tool in one response one after another, in call order.
    #[must_use]
    pub fn serial(self) -> Self {
        self.max_parallel(1)
    }

    /// Runs the calls of all tools of this class in one response one after another, in call order: for tools that write to the same thing.
    #[must_use]
    pub fn exclusive(mut self, class: impl Into<String>) -> Self {
        self.side_by_side.class = Some(class.into());
        self
    }

    /// The same body as the activity of a guardrail: named `agents.guardrail.<name>`, never offered to a model.
    #[must_use]
    pub fn for_guardrail(mut self) -> Self {
        self.activity_prefix = "agents.guardrail";
        self
    }

    /// Which calls wait for a decision.
    pub fn approval_rule(&self) -> &NeedsApproval {
        &self.approval
    }

    /// When the tool is offered.
    pub fn enabled_rule(&self) -> &Enabled {
        &self.enabled
    }

    /// The checks before the body runs.
    pub fn input_guardrails(&self) -> &[ToolInputGuardrail] {
        &self.input_guardrails
    }

    /// The checks of what the body returns.
    pub fn output_guardrails(&self) -> &[ToolOutputGuardrail] {
        &self.output_guardrails
    }

    /// What a failed call comes to.
    pub fn on_error_rule(&self) -> &OnToolError {
        &self.on_error
    }

    /// The limit of its outputs.
    pub(crate) fn output_limit(&self) -> OutputLimit {
        match &self.binding {
            ToolBinding::Activity { options, .. } if options.local && !self.has_own_limit => {
                OutputLimit { bytes: LOCAL_BYTES, ..self.output_limit }
            }
            _ => self.output_limit,
        }
    }

    /// What is taken out of everything it returns.
    pub(crate) fn redaction(&self) -> Option<&Redaction> {
        self.redaction.as_ref()
    }

    /// Which calls run at the same time.
    pub(crate) fn side_by_side(&self) -> &SideBySide {
        &self.side_by_side
    }

    /// The name the model calls.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the tool does, for the model.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The JSON schema of the arguments.
    pub fn parameters(&self) -> &Value {
        &self.parameters
    }

    /// The schema that arguments are checked against: the type's own, before it was made strict for the model.
    pub fn accepts(&self) -> &Value {
        &self.accepts
    }

    /// Where the body runs.
    pub fn binding(&self) -> &ToolBinding {
        &self.binding
    }

    /// The states the body needs.
    pub fn requirements(&self) -> &[StateRequirement] {
        &self.requirements
    }

    /// The keys of the run context that the body needs, where it runs in an activity.
    pub fn context_keys(&self) -> &[String] {
        &self.context_keys
    }

    /// What was set for the body, with references in place of secrets.
    pub fn settings(&self) -> &Map<String, Value> {
        &self.settings
    }

    /// What is wrong with the definition.
    pub fn issues(&self) -> &[ToolIssue] {
        &self.issues
    }

    /// The type of the activity that runs the tool.
    pub fn activity_type(&self) -> String {
        match &self.binding {
            ToolBinding::Mcp(binding) => binding.activity_type(),
            _ => format!("{}.{}", self.activity_prefix, self.name),
        }
    }

    /// The tool as the model sees it.
    pub fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: self.name.clone(),
            description: self.description.clone(),
            parameters: self.parameters.clone(),
            strict: self.strict,
        }
    }
}

fn read<A: DeserializeOwned>(arguments: Map<String, Value>) -> Result<A, ToolError> {
    Ok(serde_json::from_value(Value::Object(arguments))?)
}

fn is_function_name(name: &str) -> bool {
    (1..=64).contains(&name.chars().count()) && !name.chars().any(|c| c.is_whitespace() || c.is_control())
}
