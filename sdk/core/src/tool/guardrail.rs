//! Guardrails of tools: one kind runs before the body of a call, the other on its output.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Tool, context::CallInfo, run_context::RunContext};
use crate::{
    agent::{AgentDef, Check},
    wire::{ToolOutput, run_state::ToolGuardrailBehavior},
};

/// The result of a tool's guardrail.
///
/// JSON: `{"behavior": {"type": "allow"}, "output_info": VALUE}`; the other behaviors are
/// `{"type": "reject_content", "message": TEXT}` and `{"type": "raise_exception"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolGuardrailOutput {
    /// The handling of the call: allowed, rejected, or the end of the run.
    pub behavior: ToolGuardrailBehavior,
    /// Information about the check; reported with the run's result.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub output_info: Value,
}

impl ToolGuardrailOutput {
    /// The call continues.
    pub fn allow() -> Self {
        Self { behavior: ToolGuardrailBehavior::Allow, output_info: Value::Null }
    }

    /// The model gets this message instead of the output; from an input guardrail, the body does
    /// not run.
    pub fn reject_content(message: impl Into<String>) -> Self {
        Self { behavior: ToolGuardrailBehavior::RejectContent { message: message.into() }, output_info: Value::Null }
    }

    /// The run ends with an error.
    pub fn raise_exception() -> Self {
        Self { behavior: ToolGuardrailBehavior::RaiseException, output_info: Value::Null }
    }

    /// Attaches information about the check; a value that cannot be written as JSON is left out.
    #[must_use]
    pub fn info(mut self, info: impl Serialize) -> Self {
        self.output_info = serde_json::to_value(info).unwrap_or(Value::Null);
        self
    }
}

/// The input of a tool's guardrail.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolGuardrailContext<'a> {
    /// The call that is checked.
    pub call: &'a CallInfo,
    /// The arguments as the model wrote them: a JSON string, not yet checked.
    pub arguments: &'a str,
    /// The run context of the call.
    pub run: &'a RunContext,
}

impl<'a> ToolGuardrailContext<'a> {
    /// Creates the input for a check of this call. Unit tests of guardrails also create one.
    pub fn new(call: &'a CallInfo, arguments: &'a str, run: &'a RunContext) -> Self {
        Self { call, arguments, run }
    }
}

/// A function that checks a call.
pub(crate) type CheckCall = Arc<dyn Fn(&ToolGuardrailContext<'_>) -> ToolGuardrailOutput + Send + Sync>;

/// A function that checks what a tool returned.
pub(crate) type CheckReturn = Arc<dyn Fn(&ToolGuardrailContext<'_>, &ToolOutput) -> ToolGuardrailOutput + Send + Sync>;

/// A check of the raw arguments before a tool's body runs.
///
/// # Determinism
/// A function runs in the workflow, and again on replay: no clock, no randomness, no I/O.
#[derive(Clone)]
pub struct ToolInputGuardrail {
    name: String,
    check: Check<CheckCall, ToolGuardrailOutput>,
}

impl ToolInputGuardrail {
    /// Creates a guardrail from this pure function.
    pub fn new(
        name: impl Into<String>,
        check: impl Fn(&ToolGuardrailContext<'_>) -> ToolGuardrailOutput + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), check: Check::Pure(Arc::new(check)) }
    }

    /// Creates a guardrail that is an activity, with the name and the options of this tool.
    ///
    /// The tool returns a [`ToolGuardrailOutput`]. It takes any of these arguments, all strings:
    /// `tool`, `arguments` (JSON), `call_id` and `agent`. With another argument, or with more than 2 MB
    /// of arguments, the run fails.
    ///
    /// ```
    /// # extern crate temporal_agents_core as temporal_agents;
    /// # use temporal_agents_macros::tool;
    /// use temporal_agents::{
    ///     tool,
    ///     tool::{ToolGuardrailOutput, ToolInputGuardrail},
    /// };
    ///
    /// /// Asks the policy service.
    /// #[tool(start_to_close = "5s")]
    /// async fn policy(tool: String, arguments: String) -> ToolGuardrailOutput {
    ///     let _ = (tool, arguments); // Call the service here.
    ///     ToolGuardrailOutput::allow()
    /// }
    ///
    /// let guardrail = ToolInputGuardrail::by_tool(policy);
    /// ```
    ///
    /// # Retries
    /// Temporal retries the activity by the tool's options. If it still fails, the run fails, and the
    /// call is not made.
    pub fn by_tool(tool: impl Tool) -> Self {
        let tool = tool.definition().for_guardrail();
        Self { name: tool.name().to_owned(), check: Check::Activity(Box::new(tool)) }
    }

    /// Creates a guardrail that runs this agent in a run of its own; `judge` converts its final output
    /// to a result.
    ///
    /// The agent receives a user message with `{"tool": NAME, "arguments": TEXT}`, and runs at most 10
    /// turns. The run's guardrails for tools do not check its calls.
    pub fn by_agent(
        name: impl Into<String>,
        agent: impl Into<AgentDef>,
        judge: impl Fn(&Value) -> ToolGuardrailOutput + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), check: Check::Agent { agent: Arc::new(agent.into()), judge: Arc::new(judge) } }
    }

    /// Returns the name under which the guardrail is reported.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the implementation of the guardrail.
    #[doc(hidden)]
    pub fn check(&self) -> &Check<CheckCall, ToolGuardrailOutput> {
        &self.check
    }
}

/// A check of what a tool returned.
///
/// # Determinism
/// A function runs in the workflow, and again on replay: no clock, no randomness, no I/O.
#[derive(Clone)]
pub struct ToolOutputGuardrail {
    name: String,
    check: Check<CheckReturn, ToolGuardrailOutput>,
}

impl ToolOutputGuardrail {
    /// Creates a guardrail from this pure function.
    pub fn new(
        name: impl Into<String>,
        check: impl Fn(&ToolGuardrailContext<'_>, &ToolOutput) -> ToolGuardrailOutput + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), check: Check::Pure(Arc::new(check)) }
    }

    /// Creates a guardrail that is an activity, like [`ToolInputGuardrail::by_tool`]. The tool may also
    /// take `output`: the text of the output.
    ///
    /// # Retries
    /// Temporal retries the activity by the tool's options. If it still fails, the run fails, and no model
    /// receives the output.
    pub fn by_tool(tool: impl Tool) -> Self {
        let tool = tool.definition().for_guardrail();
        Self { name: tool.name().to_owned(), check: Check::Activity(Box::new(tool)) }
    }

    /// Creates a guardrail that runs this agent in a run of its own, like
    /// [`ToolInputGuardrail::by_agent`]. Its message also has the text of the output, as `output`.
    pub fn by_agent(
        name: impl Into<String>,
        agent: impl Into<AgentDef>,
        judge: impl Fn(&Value) -> ToolGuardrailOutput + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), check: Check::Agent { agent: Arc::new(agent.into()), judge: Arc::new(judge) } }
    }

    /// Returns the name under which the guardrail is reported.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the implementation of the guardrail.
    #[doc(hidden)]
    pub fn check(&self) -> &Check<CheckReturn, ToolGuardrailOutput> {
        &self.check
    }
}

impl fmt::Debug for ToolInputGuardrail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolInputGuardrail").field(&self.name).finish()
    }
}

impl fmt::Debug for ToolOutputGuardrail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolOutputGuardrail").field(&self.name).finish()
    }
}
