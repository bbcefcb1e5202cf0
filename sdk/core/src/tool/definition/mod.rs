//! A tool as data: `#[tool]` expands to it, and an author can build it by hand.
//!
//! | file | contents |
//! |---|---|
//! | this file | the data, and the builder methods of authors |
//! | `limits.rs` | builder methods for outputs and parallel calls |
//! | `kinds.rs` | constructors for tools of each kind |
//! | `members.rs` | accessors |
//! | `issue.rs` | problems that a definition can have |

mod issue;
mod kinds;
mod limits;
mod members;

use schemars::JsonSchema;
use serde_json::{Map, Value};

pub use issue::ToolIssue;

use super::{
    approval::{ApprovalRule, NeedsApproval},
    argument::ToolArgument,
    binding::ToolBinding,
    enabled::Enabled,
    guardrail::{ToolInputGuardrail, ToolOutputGuardrail},
    name::is_function_name,
    native::NativeTool,
    on_error::OnToolError,
    options::ToolActivityOptions,
    oversized::OutputLimit,
    redaction::Redaction,
    run_context::RunContext,
    schema,
    side_by_side::SideBySide,
    state::StateRequirement,
};
use crate::wire::{GateMode, Schema, worker_env};

/// Most bytes of an output of a local activity, unless its tool sets another limit.
const LOCAL_BYTES: usize = 100_000;

/// A tool: name, description, schema, and a body that runs where the tool's [`ToolBinding`] says.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use temporal_agents::tool::ToolDef;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Terms {
///     a: i64,
///     b: i64,
/// }
///
/// let add = ToolDef::inline("add", "Adds two numbers.", |_ctx, Terms { a, b }| {
///     Ok((a + b).to_string().into())
/// });
/// assert_eq!(add.name(), "add");
/// ```
#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own, under its own name")]
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
    /// `true` if the author set the limit for outputs.
    has_explicit_limit: bool,
    redaction: Option<Redaction>,
    side_by_side: SideBySide,
    is_versioned: bool,
    is_bounded: bool,
    output_schema: Option<Schema>,
    /// The one who decides about calls, where that is stricter than the run's gate.
    gate_mode: Option<GateMode>,
    /// The tool of the provider whose calls this one makes.
    native: Option<NativeTool>,
    /// The author's name for the tool, if its calls have the name of a provider's tool: two tools
    /// of one kind are two activities.
    own_name: Option<String>,
    activity_prefix: &'static str,
    issues: Vec<ToolIssue>,
}

impl ToolDef {
    /// Creates a tool with a schema that is not derived from a Rust type. The schema is made strict
    /// where possible.
    #[doc(hidden)]
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
            // The issue is reported when the graph is checked; until then the schema is kept as it
            // is.
            Err(schema::NotStrict { path, reason }) => {
                issues.push(ToolIssue::NotStrict { path, reason });
                accepts.clone()
            }
        };
        Self { parameters, strict: true, issues, ..Self::unchecked(name, description.into(), accepts, binding) }
    }

    /// Creates a tool whose name is not checked and whose schema is sent as it is.
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
            has_explicit_limit: false,
            redaction: None,
            side_by_side: SideBySide::default(),
            is_versioned: false,
            is_bounded: false,
            output_schema: None,
            gate_mode: None,
            native: None,
            own_name: None,
            activity_prefix: "agents.tool",
            issues: Vec::new(),
        }
    }

    /// Sets who decides about calls, where that is stricter than the run's gate.
    #[must_use]
    pub(super) fn gated(mut self, mode: Option<GateMode>) -> Self {
        self.gate_mode = mode;
        self
    }

    /// Makes the calls of this tool of the provider.
    pub(super) fn set_native(&mut self, native: NativeTool) {
        self.own_name.get_or_insert_with(|| self.name.clone());
        native.name().clone_into(&mut self.name);
        // The model does not see name and schema of the author.
        self.issues.retain(|issue| !matches!(issue, ToolIssue::Name | ToolIssue::NotStrict { .. }));
        if !is_function_name(&self.name) {
            self.issues.push(ToolIssue::Name);
        }
        self.native = Some(native);
    }

    /// Adds problems of the definition.
    #[must_use]
    pub(super) fn with_issues(mut self, issues: Vec<ToolIssue>) -> Self {
        self.issues.extend(issues);
        self
    }

    /// Sends the schema as it is derived from the type, without strict mode: for free-form maps and
    /// values.
    #[must_use]
    pub fn lenient<A: JsonSchema>(mut self) -> Self {
        self.parameters = schema::schema_of::<A>().into();
        self.strict = false;
        self.issues.retain(|issue| !matches!(issue, ToolIssue::NotStrict { .. }));
        self
    }

    /// Sets timeouts, attempts and task queue of an activity tool; has no effect on other tools.
    #[must_use]
    pub fn options(mut self, new: ToolActivityOptions) -> Self {
        if let ToolBinding::Activity { options, .. } = &mut self.binding {
            self.issues
                .retain(|issue| !matches!(issue, ToolIssue::LocalWithTaskQueue { .. } | ToolIssue::LocalNotIdempotent));
            if let (true, Some(task_queue)) = (new.local, &new.task_queue) {
                self.issues.push(ToolIssue::LocalWithTaskQueue { task_queue: task_queue.clone() });
            }
            if new.local && !new.idempotent {
                self.issues.push(ToolIssue::LocalNotIdempotent);
            }
            *options = new;
        }
        self
    }

    /// Sets another name for the tool.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self.issues.retain(|issue| *issue != ToolIssue::Name);
        if !is_function_name(&self.name) {
            self.issues.push(ToolIssue::Name);
        }
        self
    }

    /// Adds a state that the body needs, so that a worker without it does not start.
    #[must_use]
    #[doc(hidden)]
    pub fn requires(mut self, requirement: Option<StateRequirement>) -> Self {
        self.requirements.extend(requirement);
        self
    }

    /// Adds keys of the run context that are sent to an activity tool.
    #[must_use]
    pub fn with_context(mut self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.context_keys.extend(keys.into_iter().map(Into::into));
        self
    }

    /// Sets a value for the tool that its model neither sees nor supplies:
    /// [`ToolContext::setting`](super::ToolContext::setting) reads it. For an activity tool the
    /// value may be, or contain, a `worker_env!` reference: the worker fills
    /// in the value for the call, and removes it from output and errors.
    ///
    /// ```
    /// # extern crate temporal_agents_core as temporal_agents;
    /// # use temporal_agents_macros::tool;
    /// use serde_json::json;
    /// use temporal_agents::{Agent, tool::{Tool, ToolContext, ToolError}, worker_env};
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
    /// Settings are in history with every call, so a secret must not be written into them directly.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let (name, value) = (name.into(), value.into());
        // Setting a name again replaces its value, and with it the problems of the earlier value.
        let of_it = |issue: &ToolIssue| match issue {
            ToolIssue::SecretInWorkflow { setting } | ToolIssue::UnusedSetting { setting } => *setting == name,
            _ => false,
        };
        self.issues.retain(|issue| !of_it(issue));
        match &self.binding {
            ToolBinding::Activity { .. } => {}
            ToolBinding::Inline(_) | ToolBinding::Workflow(_) if !worker_env::refers(&value) => {}
            ToolBinding::Inline(_) | ToolBinding::Workflow(_) => {
                self.issues.push(ToolIssue::SecretInWorkflow { setting: name.clone() });
            }
            _ => self.issues.push(ToolIssue::UnusedSetting { setting: name.clone() }),
        }
        self.settings.insert(name, value);
        self
    }

    /// Sends the tool's own schema as it is, without strict mode.
    #[must_use]
    pub fn not_strict(mut self) -> Self {
        self.parameters = self.accepts.clone();
        self.strict = false;
        self.issues.retain(|issue| !matches!(issue, ToolIssue::NotStrict { .. }));
        self
    }

    /// Sets the rule that decides which calls wait for a decision.
    #[must_use]
    pub fn approval(mut self, approval: NeedsApproval) -> Self {
        self.issues.retain(|issue| !matches!(issue, ToolIssue::ApprovalRule { .. }));
        self.approval = approval;
        self
    }

    /// Sets a rule over typed arguments that decides which calls wait for a decision; see
    /// [`Tool::needs_approval_for`](super::Tool::needs_approval_for).
    #[must_use]
    pub fn approval_for<A: ToolArgument>(self, asks: impl Fn(&RunContext, A) -> bool + Send + Sync + 'static) -> Self {
        let members = |schema: &Value| -> Vec<String> {
            let properties = schema.get("properties").and_then(Value::as_object);
            properties.into_iter().flat_map(Map::keys).cloned().collect()
        };
        let (mut reads, known) = (members(&schema::schema_of::<A>()), members(&self.accepts));
        // A type that names no member, or one that is not a parameter, is reported: a renamed
        // parameter must not turn the rule off.
        let reads_nothing = reads.is_empty();
        reads.retain(|member| !known.contains(member));
        let mut tool = self.approval(NeedsApproval::WhenArguments(ApprovalRule::new(asks)));
        if reads_nothing || !reads.is_empty() {
            tool.issues.push(ToolIssue::ApprovalRule { reads, known });
        }
        tool
    }

    /// Sets the rule that decides when the tool is offered.
    #[must_use]
    pub fn enabled(mut self, enabled: Enabled) -> Self {
        self.enabled = enabled;
        self
    }

    /// Adds a check that runs before the body.
    #[must_use]
    pub fn with_input_guardrail(mut self, guardrail: ToolInputGuardrail) -> Self {
        self.input_guardrails.push(guardrail);
        self
    }

    /// Adds a check of the output that the body returns.
    #[must_use]
    pub fn with_output_guardrail(mut self, guardrail: ToolOutputGuardrail) -> Self {
        self.output_guardrails.push(guardrail);
        self
    }

    /// Sets the handling of failed calls.
    #[must_use]
    pub fn with_on_error(mut self, on_error: OnToolError) -> Self {
        self.on_error = on_error;
        self
    }

    /// Marks the tool as one of several versions, which have the same name and different
    /// parameters. A call of it carries the digest of its schema, so that a worker runs this
    /// version's body. A worker that has only other versions refuses the call; the call is retried
    /// after 5 seconds, for up to 10 minutes, so that another worker can run it.
    ///
    /// Use it for the newer versions of a tool whose older version the agents of open runs still
    /// have, where the workflow itself chooses the agent:
    ///
    /// ```
    /// # extern crate temporal_agents_core as temporal_agents;
    /// # use temporal_agents_macros::tool;
    /// use temporal_agents::{Agent, tool::{Tool, ToolError}};
    ///
    /// /// Orders an article.
    /// #[tool]
    /// async fn order(article: String) -> Result<String, ToolError> {
    ///     Ok(format!("ordered {article}"))
    /// }
    ///
    /// /// Orders an article.
    /// #[tool(name = "order")]
    /// async fn order_with_details(article: String, details: String) -> Result<String, ToolError> {
    ///     Ok(format!("ordered {article}, {details}"))
    /// }
    ///
    /// fn desk() -> Agent {
    ///     Agent::new("desk").model("gpt-5").tool(order)
    /// }
    ///
    /// fn desk_v2() -> Agent {
    ///     Agent::new("desk").model("gpt-5").tool(order_with_details.versioned())
    /// }
    /// // In the workflow: let desk = if ctx.patched("details") { desk_v2() } else { desk() };
    /// // On the worker: AgentsPlugin::new(..).agents((desk, desk_v2))
    /// ```
    ///
    /// Leave the version that open runs started with unmarked: their calls carry no digest, and
    /// refer to the unmarked version. An `AgentSet` with versions marks the versions that differ by
    /// itself.
    #[must_use]
    pub fn versioned(mut self) -> Self {
        self.is_versioned = true;
        self
    }

    /// Turns the tool into the activity of a guardrail: the same body, named
    /// `agents.guardrail.<name>`, never offered to a model.
    #[must_use]
    pub fn for_guardrail(mut self) -> Self {
        self.activity_prefix = "agents.guardrail";
        self
    }
}
