//! A tool as data: what `#[tool]` expands to, and what one builds by hand.
//!
//! | file | what it has |
//! |---|---|
//! | here | the data, and what an author says of it |
//! | `kinds.rs` | tools of each kind by hand |
//! | `members.rs` | what others ask it |
//! | `issue.rs` | what may be wrong with it |

mod issue;
mod kinds;
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
    on_error::OnToolError,
    options::ToolActivityOptions,
    oversized::{OutputLimit, OversizedOutput},
    redaction::Redaction,
    run_context::RunContext,
    schema,
    side_by_side::SideBySide,
    state::StateRequirement,
};
use crate::wire::{Schema, worker_env};

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
    is_versioned: bool,
    activity_prefix: &'static str,
    issues: Vec<ToolIssue>,
}

impl ToolDef {
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
            is_versioned: false,
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

    /// Sets something for the tool that its model neither sees nor gives: [`ToolContext::setting`](super::ToolContext::setting) reads it. For an
    /// activity tool it may be, or hold, a [`worker_env!`](crate::worker_env) reference: the worker puts the value in for the call, and takes it out
    /// of output and errors.
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
        self.issues.retain(|issue| !matches!(issue, ToolIssue::ApprovalRule { .. }));
        self.approval = approval;
        self
    }

    /// Says which calls wait for a decision by a rule over typed arguments; see [`Tool::needs_approval_for`](super::Tool::needs_approval_for).
    #[must_use]
    pub fn approval_for<A: ToolArgument>(self, asks: impl Fn(&RunContext, A) -> bool + Send + Sync + 'static) -> Self {
        let members = |schema: &Value| -> Vec<String> {
            let properties = schema.get("properties").and_then(Value::as_object);
            properties.into_iter().flat_map(Map::keys).cloned().collect()
        };
        let (mut reads, known) = (members(&schema::schema_of::<A>()), members(&self.accepts));
        let reads_nothing = reads.is_empty();
        reads.retain(|member| !known.contains(member));
        let mut tool = self.approval(NeedsApproval::WhenArguments(ApprovalRule::new(asks)));
        if reads_nothing || !reads.is_empty() {
            tool.issues.push(ToolIssue::ApprovalRule { reads, known });
        }
        tool
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

    /// Marks the tool as one of several versions, which have the same name and other parameters. A call of it carries the digest of its schema, so
    /// that a worker runs this version's body. A worker that has other versions alone refuses the call; it is attempted again after 5
    /// seconds, for up to 10 minutes, so that another worker takes it.
    ///
    /// For the newer versions of a tool that agents of open runs still have in an older one, where the workflow itself chooses the agent:
    ///
    /// ```
    /// use temporal_agents::{Agent, tool::{Tool, ToolError}};
    /// # use temporal_agents::tool;
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
    /// // On the worker: AgentsPlugin::new().agents((desk, desk_v2))
    /// ```
    ///
    /// Leave the version that open runs began with unmarked: their calls carry no digest, and mean it. An `AgentSet` with versions marks what
    /// differs by itself.
    #[must_use]
    pub fn versioned(mut self) -> Self {
        self.is_versioned = true;
        self
    }

    /// The same body as the activity of a guardrail: named `agents.guardrail.<name>`, never offered to a model.
    #[must_use]
    pub fn for_guardrail(mut self) -> Self {
        self.activity_prefix = "agents.guardrail";
        self
    }
}

fn is_function_name(name: &str) -> bool {
    (1..=64).contains(&name.chars().count()) && !name.chars().any(|c| c.is_whitespace() || c.is_control())
}
