//! Tools: a description for the model, and a body that runs where the tool's [`ToolBinding`] says.
//!
//! `#[tool]` turns a function into a [`Tool`]; a [`ToolDef`] is a tool built by hand. Nothing here
//! depends on the worker, so a crate of tools compiles without it.

pub mod approval;
pub mod argument;
pub mod binding;
mod bounds;
pub mod child_workflow;
mod context;
mod definition;
pub mod deltas;
mod enabled;
pub mod error;
mod failure;
mod from_outside;
mod guardrail;
mod hosted;
mod idempotency;
pub mod mcp;
pub mod name;
mod native;
#[cfg(feature = "nexus")]
mod nexus_operation;
pub mod on_error;
mod options;
pub mod output;
mod oversized;
mod redaction;
mod remote_activity;
pub mod remote_toolset;
pub mod run_context;
pub mod schema;
mod side_by_side;
pub mod state;
pub mod trace_context;
pub mod workflow_context;
mod workflow_error;

use serde_json::{Map, Value};

pub use approval::NeedsApproval;
pub use approval::{ApprovalPredicate, ApprovalRule};
pub use argument::ToolArgument;
pub use binding::{ActivityBody, InlineBody, ToolBinding, WorkflowBody};
pub use bounds::bounded;
pub use bounds::{checked as checked_bounds, text_of as json_text, value_of, with_bounds};
pub use child_workflow::{ChildId, ChildWorkflow, ComputeId, ParentClosePolicy};
pub use context::Heartbeat;
pub use context::{CallInfo, SettingError, ToolContext};
pub use definition::{ToolDef, ToolIssue};
pub use deltas::DeltaTransport;
pub use deltas::ToolDelta;
pub use enabled::Enabled;
pub use error::{BoxError, IntoToolError, ToolError};
pub use failure::PriorArguments;
pub use failure::{ToolFailure, ToolFailureKind};
pub use guardrail::{ToolGuardrailContext, ToolGuardrailOutput, ToolInputGuardrail, ToolOutputGuardrail};
pub use hosted::{
    CodeInterpreter, FileSearch, HostedMcp, HostedTool, ImageGeneration, RequireApproval, UserLocation, WebSearch,
};
pub use idempotency::idempotency_key;
pub use mcp::{McpBinding, McpToolFilter};
pub use mcp::{McpRefresh, McpServer, McpSessionOptions, McpSessionRecovery};
pub use native::NativeTool;
#[cfg(feature = "nexus")]
pub use nexus_operation::{NexusCancellation, NexusOperation};
pub use on_error::{DescribeFailure, DescribeFailureByKind, OUTCOME_UNKNOWN, OnToolError, TOOL_FAILED};
pub use options::ToolActivityOptions;
pub use output::{ResultKind, ValueKind, text_of};
pub use oversized::OversizedOutput;
pub use oversized::{MAX_FAILURE_BYTES, truncated};
pub use oversized::{OutputTooLarge, beginning};
pub use redaction::Redaction;
pub use remote_activity::RemoteActivity;
pub use remote_toolset::RemoteBinding;
pub use remote_toolset::RemoteToolset;
pub use run_context::merge_patch_between;
pub use run_context::named_keys;
pub use run_context::{ContextError, RunContext};
pub use schema::Issue;
pub use state::{FromToolContext, State};
pub use state::{StateMap, StateRequirement};
pub use workflow_context::WorkflowEffects;
pub use workflow_context::WorkflowToolContext;
pub use workflow_error::WorkflowToolError;

/// A tool that a model can call.
///
/// `#[tool]` implements this trait for a unit struct named like the function, so that
/// `.tool(get_weather)` reads well. A [`ToolDef`] is also a tool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "write `#[tool]` above the function, or build a `ToolDef` by hand"
)]
pub trait Tool {
    /// Returns the definition of the tool: description, schema, body, options.
    fn definition(&self) -> ToolDef;

    /// Makes every call of the tool wait for a decision before it runs.
    fn needs_approval(&self) -> ToolDef
    where
        Self: Sized,
    {
        self.definition().approval(NeedsApproval::Always)
    }

    /// Makes a call wait for a decision if this function of run context, arguments and call id
    /// returns `true`.
    ///
    /// # Determinism
    /// The function runs in the workflow, and again on replay.
    fn needs_approval_when(
        &self,
        predicate: impl Fn(&RunContext, &Map<String, Value>, &str) -> bool + Send + Sync + 'static,
    ) -> ToolDef
    where
        Self: Sized,
    {
        self.definition().approval(NeedsApproval::When(std::sync::Arc::new(predicate)))
    }

    /// Makes a call wait for a decision if this function of run context and typed arguments returns
    /// `true`.
    ///
    /// The rule fails closed: a call whose arguments are not of the type `A` waits, and so does one
    /// for which the function panics. A type with a member that is not a parameter of the tool is
    /// an error before any model call, so that renaming a parameter does not turn the rule off.
    /// Where the rule belongs to the tool itself, `#[tool(needs_approval = euros > 50)]` states it
    /// in one place.
    ///
    /// ```
    /// # extern crate temporal_agents_core as temporal_agents;
    /// # use temporal_agents_macros::tool;
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use temporal_agents::{Agent, Tool, tool};
    ///
    /// /// Pays money back.
    /// ///
    /// /// # Arguments
    /// /// * `invoice` - number of the invoice
    /// /// * `euros` - the amount
    /// #[tool]
    /// async fn refund(invoice: String, euros: u32) -> String {
    ///     format!("{euros} euros for {invoice}")
    /// }
    ///
    /// /// The part of the arguments that the rule reads.
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Amount {
    ///     euros: u32,
    /// }
    ///
    /// let clerk = Agent::new("clerk")
    ///     .tool(refund.needs_approval_for(|_run, Amount { euros }| euros > 50));
    /// # let _ = clerk;
    /// ```
    ///
    /// # Determinism
    /// The function runs in the workflow, and again on replay.
    fn needs_approval_for<A: ToolArgument>(
        &self,
        asks: impl Fn(&RunContext, A) -> bool + Send + Sync + 'static,
    ) -> ToolDef
    where
        Self: Sized,
    {
        self.definition().approval_for(asks)
    }

    /// Offers the tool only while this function of run context and agent name returns `true`;
    /// called at every turn.
    ///
    /// # Determinism
    /// The function runs in the workflow, and again on replay.
    fn enabled_when(&self, predicate: impl Fn(&RunContext, &str) -> bool + Send + Sync + 'static) -> ToolDef
    where
        Self: Sized,
    {
        self.definition().enabled(Enabled::when(move |run, agent, _turn| predicate(run, agent)))
    }

    /// Adds a setting for the tool; see [`ToolDef::setting`].
    fn setting(&self, name: impl Into<String>, value: impl Into<Value>) -> ToolDef
    where
        Self: Sized,
    {
        self.definition().setting(name, value)
    }

    /// Adds a check that runs before the body.
    fn input_guardrail(&self, guardrail: ToolInputGuardrail) -> ToolDef
    where
        Self: Sized,
    {
        self.definition().with_input_guardrail(guardrail)
    }

    /// Adds a check of the output that the body returns.
    fn output_guardrail(&self, guardrail: ToolOutputGuardrail) -> ToolDef
    where
        Self: Sized,
    {
        self.definition().with_output_guardrail(guardrail)
    }

    /// Makes the calls of a tool that the provider defines, whose name the tool then has: of a
    /// shell, for example. See [`NativeTool`].
    fn native(&self, native: NativeTool) -> ToolDef
    where
        Self: Sized,
    {
        self.definition().in_place_of(native)
    }

    /// Limits the number of calls of the tool that run at the same time; see
    /// [`ToolDef::max_parallel`].
    fn max_parallel(&self, calls: usize) -> ToolDef
    where
        Self: Sized,
    {
        self.definition().max_parallel(calls)
    }

    /// Runs the calls of the tool one after another.
    fn serial(&self) -> ToolDef
    where
        Self: Sized,
    {
        self.definition().serial()
    }

    /// Runs the calls of the tool, and those of other tools of this class, one after another; see
    /// [`ToolDef::exclusive`].
    fn exclusive(&self, class: impl Into<String>) -> ToolDef
    where
        Self: Sized,
    {
        self.definition().exclusive(class)
    }

    /// Sets the handling of outputs that are too large.
    fn oversized_output(&self, oversized: OversizedOutput) -> ToolDef
    where
        Self: Sized,
    {
        self.definition().oversized_output(oversized)
    }

    /// Declares that each output is a part of a whole, or all of it; see [`ToolDef::bounded`].
    fn bounded(&self) -> ToolDef
    where
        Self: Sized,
    {
        self.definition().bounded()
    }

    /// Removes from everything the tool returns what must not be recorded; see [`ToolDef::redact`].
    fn redact(&self, redact: impl Fn(&str) -> String + Send + Sync + 'static) -> ToolDef
    where
        Self: Sized,
    {
        self.definition().redact(redact)
    }

    /// Marks the tool as one of several versions; see [`ToolDef::versioned`].
    fn versioned(&self) -> ToolDef
    where
        Self: Sized,
    {
        self.definition().versioned()
    }

    /// Sets the handling of failed calls.
    fn on_error(&self, on_error: OnToolError) -> ToolDef
    where
        Self: Sized,
    {
        self.definition().with_on_error(on_error)
    }
}

impl Tool for ToolDef {
    fn definition(&self) -> ToolDef {
        self.clone()
    }
}
