//! Constructors for tools of each kind.

use std::sync::Arc;

use futures::future::{BoxFuture, LocalBoxFuture};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::ToolDef;
#[cfg(feature = "nexus")]
use crate::tool::nexus_operation::NexusOperation;
use crate::{
    tool::{
        binding::{ActivityBody, ToolBinding, WorkflowBody},
        child_workflow::ChildWorkflow,
        context::ToolContext,
        error::ToolError,
        options::ToolActivityOptions,
        remote_activity::RemoteActivity,
        schema,
        workflow_context::WorkflowToolContext,
    },
    wire::ToolOutput,
};

impl ToolDef {
    /// Replaces the body, or the place where it runs; everything else is unchanged. For tests that
    /// observe or replace a body.
    #[doc(hidden)]
    #[must_use]
    pub fn with_binding(mut self, binding: ToolBinding) -> Self {
        // Settings and the rule for large outputs are applied again, since their problems depend on
        // the binding.
        self.issues.retain(|issue| !issue.is_of_binding());
        self.binding = binding;
        let (settings, above) = (std::mem::take(&mut self.settings), self.output_limit.above);
        let tool = match &self.binding {
            ToolBinding::Activity { options, .. } => {
                let options = options.clone();
                self.options(options)
            }
            _ => self,
        };
        settings.into_iter().fold(tool, |tool, (name, value)| tool.setting(name, value)).oversized_output(above)
    }

    /// Creates a pure tool that runs in the workflow.
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
        let binding = ToolBinding::Inline(Arc::new(move |ctx, arguments| {
            let arguments = read(&ctx.info().tool, arguments)?;
            body(ctx, arguments)
        }));
        Self::new(name, description, schema::schema_of::<A>(), binding)
    }

    /// Creates a tool that runs in an activity.
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
        let body: ActivityBody =
            Arc::new(move |ctx: &mut ToolContext, arguments| match read(&ctx.info().tool, arguments) {
                Ok(arguments) => body(ctx, arguments),
                Err(error) => Box::pin(std::future::ready(Err(error))),
            });
        let binding = ToolBinding::Activity { body, options: ToolActivityOptions::default() };
        Self::new(name, description, schema::schema_of::<A>(), binding)
    }

    /// Creates a tool that runs on the caller's side: in a browser, in an editor, at a person's
    /// desk. A call of it pauses the run, durably, as an interruption of [kind
    /// `Output`](crate::wire::run_state::InterruptionKind::Output), until the caller supplies the
    /// output: by the update `agent_supply_output` (`AgentHandle::supply_output`), or on a paused
    /// run's [state](crate::wire::RunState::supply_output). The arguments are checked before the
    /// run pauses, the output by the tool's output guardrails. A call that needs approval is
    /// approved first.
    ///
    /// ```
    /// # extern crate temporal_agents_core as temporal_agents;
    /// use serde_json::json;
    /// use temporal_agents::{Agent, tool::ToolDef};
    ///
    /// let schema = json!({
    ///     "type": "object",
    ///     "properties": {"title": {"type": "string"}},
    ///     "required": ["title"],
    /// });
    /// let pick_file = ToolDef::client("pick_file", "Lets the user pick a file.", schema);
    /// let editor = Agent::new("editor").model("gpt-5").tool(pick_file);
    /// ```
    pub fn client(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self::new(name, description, parameters, ToolBinding::Client)
    }

    /// Creates a [`client`](Self::client) tool with the argument schema of a Rust type.
    pub fn client_of<A: JsonSchema>(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self::client(name, description, schema::schema_of::<A>())
    }

    /// Creates a tool that runs in the workflow and may wait there: for timers, activities and
    /// child workflows. `#[tool(workflow)]` creates one from a function.
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
        let body: WorkflowBody =
            Arc::new(move |ctx: &mut WorkflowToolContext, arguments| match read(&ctx.info().tool, arguments) {
                Ok(arguments) => body(ctx, arguments),
                Err(error) => Box::pin(std::future::ready(Err(error))),
            });
        Self::new(name, description, schema::schema_of::<A>(), ToolBinding::Workflow(body))
    }

    /// Turns an existing activity, which may be of another language's worker, into a tool.
    /// `parameters` is the JSON schema of its only argument, an object. If the result is a string,
    /// the model gets that string; otherwise it gets the compact JSON.
    ///
    /// A result may have [data](crate::wire::SideData) that no model receives, as the member
    /// `temporal-agents/side-data` of an object. The model then gets the other members, or only the
    /// value of `output` if there is no other.
    ///
    /// Failures of the activity are hidden from the model like the failures of other tools, with
    /// one exception: an application failure of type `ToolError` whose first detail is a string
    /// sends that string to the model.
    ///
    /// ```
    /// # extern crate temporal_agents_core as temporal_agents;
    /// use serde_json::json;
    /// use temporal_agents::{ToolDef, tool::RemoteActivity};
    ///
    /// let schema = json!({
    ///     "type": "object",
    ///     "properties": {"order": {"type": "string"}},
    ///     "required": ["order"],
    /// });
    /// let refund = RemoteActivity::named("issue_refund").task_queue("python").idempotent(false);
    /// let refund = ToolDef::remote_activity(
    ///     "issue_refund",
    ///     "Gives the money for an order back.",
    ///     schema,
    ///     refund,
    /// );
    /// ```
    pub fn remote_activity(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
        activity: RemoteActivity,
    ) -> Self {
        Self::new(name, description, parameters, ToolBinding::RemoteActivity(activity))
    }

    /// Turns a workflow into a tool: each call is a child workflow. Argument, result and failures
    /// are handled as in [`remote_activity`](Self::remote_activity).
    pub fn child_workflow(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
        child: ChildWorkflow,
    ) -> Self {
        Self::new(name, description, parameters, ToolBinding::ChildWorkflow(child))
    }

    /// Turns a Nexus operation into a tool (feature `nexus`); its handler can be in any language
    /// and namespace. Argument and result are handled as in
    /// [`remote_activity`](Self::remote_activity), and so are failures: the model gets only the
    /// message of an application failure of type `ToolError`.
    ///
    /// The worker looks up an endpoint before the first call. An endpoint that the server does not
    /// have is a failure of kind [`NotRegistered`](crate::tool::ToolFailureKind::NotRegistered).
    ///
    /// ```
    /// # extern crate temporal_agents_core as temporal_agents;
    /// use serde_json::json;
    /// use temporal_agents::{ToolDef, tool::NexusOperation};
    ///
    /// let schema =
    ///     json!({"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]});
    /// let quote = NexusOperation::named("freight-endpoint", "Freight", "quote");
    /// let quote = ToolDef::nexus_operation(
    ///     "freight_quote",
    ///     "What it costs to send a pallet.",
    ///     schema,
    ///     quote,
    /// );
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
}

/// Deserializes the arguments of a call for its body.
///
/// # Errors
/// A failure of kind [`Arguments`](crate::tool::ToolFailureKind::Arguments) with the part that
/// serde refuses.
fn read<A: DeserializeOwned>(tool: &str, arguments: Map<String, Value>) -> Result<A, ToolError> {
    schema::deserialize(&Value::Object(arguments)).map_err(|refused| ToolError::of_arguments(tool, *refused))
}
