//! Guardrails of a single tool: one kind runs before its body, the other on its output.

use std::{fmt, sync::Arc};

use serde::Serialize;
use serde_json::Value;

use super::{context::CallInfo, run_context::RunContext};
use crate::wire::{ToolOutput, run_state::ToolGuardrailBehavior};

/// The result of a tool's guardrail.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolGuardrailOutput {
    /// The handling of the call: allowed, rejected, or the end of the run.
    pub behavior: ToolGuardrailBehavior,
    /// Information about the check; reported with the run's result.
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

type CheckCall = Arc<dyn Fn(&ToolGuardrailContext<'_>) -> ToolGuardrailOutput + Send + Sync>;
type CheckReturn = Arc<dyn Fn(&ToolGuardrailContext<'_>, &ToolOutput) -> ToolGuardrailOutput + Send + Sync>;

/// A check of the raw arguments before a tool's body runs.
///
/// # Determinism
/// The function runs in the workflow, and again on replay: no clock, no randomness, no I/O.
#[derive(Clone)]
pub struct ToolInputGuardrail {
    name: String,
    check: CheckCall,
}

impl ToolInputGuardrail {
    /// Creates a guardrail from this function.
    pub fn new(
        name: impl Into<String>,
        check: impl Fn(&ToolGuardrailContext<'_>) -> ToolGuardrailOutput + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), check: Arc::new(check) }
    }

    /// Returns the name under which the guardrail is reported.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks a call.
    pub fn check(&self, ctx: &ToolGuardrailContext<'_>) -> ToolGuardrailOutput {
        (self.check)(ctx)
    }
}

/// A check of what a tool returned.
///
/// # Determinism
/// The function runs in the workflow, and again on replay: no clock, no randomness, no I/O.
#[derive(Clone)]
pub struct ToolOutputGuardrail {
    name: String,
    check: CheckReturn,
}

impl ToolOutputGuardrail {
    /// Creates a guardrail from this function.
    pub fn new(
        name: impl Into<String>,
        check: impl Fn(&ToolGuardrailContext<'_>, &ToolOutput) -> ToolGuardrailOutput + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), check: Arc::new(check) }
    }

    /// Returns the name under which the guardrail is reported.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks an output.
    pub fn check(&self, ctx: &ToolGuardrailContext<'_>, output: &ToolOutput) -> ToolGuardrailOutput {
        (self.check)(ctx, output)
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
